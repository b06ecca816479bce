//! The kinds of objects that the operators own, and the set of them that exists for one cluster.

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::StatefulSet,
        core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service},
        networking::v1::NetworkPolicy,
        policy::v1::PodDisruptionBudget,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde_json::Value;

macro_rules! objects {
    ($($variant:ident),+ $(,)?) => {
        /// An object that an operator applies.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Object { $($variant(Box<$variant>)),+ }

        /// The kind of an [`Object`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum Kind { $($variant),+ }

        impl Kind {
            /// The kind as Kubernetes writes it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),+ }
            }
            /// apiVersion as Kubernetes writes it.
            pub fn api_version(self) -> &'static str {
                match self { $(Self::$variant => <$variant as k8s_openapi::Resource>::API_VERSION),+ }
            }
        }

        impl Object {
            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$variant(_) => Kind::$variant),+ }
            }
            /// Its metadata.
            pub fn metadata(&self) -> &ObjectMeta {
                match self { $(Self::$variant(object) => &object.metadata),+ }
            }
            /// Its metadata, to be changed.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self { $(Self::$variant(object) => &mut object.metadata),+ }
            }
            /// The object as JSON, with `apiVersion` and `kind`.
            pub fn to_json(&self) -> Value {
                match self { $(Self::$variant(object) => serde_json::to_value(object).unwrap_or(Value::Null)),+ }
            }
        }

        $(impl From<$variant> for Object {
            fn from(object: $variant) -> Self { Self::$variant(Box::new(object)) }
        })+
    };
}

objects!(Service, ConfigMap, Secret, NetworkPolicy, PodDisruptionBudget, PersistentVolumeClaim, StatefulSet);

impl Object {
    /// Its name; empty only if a builder forgot it.
    pub fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }
}

/// One existing object, named so that nothing else can be hit by accident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: String,
    /// uid, sent as a precondition.
    pub uid: String,
}

impl ObjectRef {
    /// Names an existing object; `None` if it was not read from a server (no uid).
    pub fn of(object: &Object) -> Option<Self> {
        let metadata = object.metadata();
        Some(Self { kind: object.kind(), name: metadata.name.clone()?, uid: metadata.uid.clone()? })
    }
}

impl ObjectRef {
    /// Names an object that the resource with this uid owns; `None` if it does not.
    pub fn owned(kind: Kind, metadata: &ObjectMeta, owner: &str) -> Option<Self> {
        metadata.owner_references.iter().flatten().find(|reference| reference.uid == owner)?;
        Some(Self { kind, name: metadata.name.clone()?, uid: metadata.uid.clone()? })
    }
}

/// What exists in the namespace with the labels of one cluster, whoever owns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Children {
    /// StatefulSets.
    pub stateful_sets: Vec<StatefulSet>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// PersistentVolumeClaims.
    pub claims: Vec<PersistentVolumeClaim>,
    /// ConfigMaps.
    pub config_maps: Vec<ConfigMap>,
    /// Services.
    pub services: Vec<Service>,
    /// PodDisruptionBudgets.
    pub disruption_budgets: Vec<PodDisruptionBudget>,
    /// NetworkPolicies.
    pub network_policies: Vec<NetworkPolicy>,
    /// What people ask of the cluster with resources of their own, the oldest first.
    pub companions: Vec<Companion>,
}

/// A resource that asks something of one cluster, which it names in `spec.cluster`: to rebalance it, or to back it up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Companion {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Generation of its specification.
    pub generation: Option<i64>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its specification.
    pub spec: Value,
    /// Its status; null if it has none.
    pub status: Value,
}

/// Finds an object by name.
pub fn by_name<'a, K>(objects: &'a [K], name: &str) -> Option<&'a K>
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta>,
{
    objects.iter().find(|object| object.metadata().name.as_deref() == Some(name))
}

impl Children {
    /// The existing object of this kind and name, as JSON.
    pub fn live(&self, kind: Kind, name: &str) -> Option<Value> {
        fn json<K>(objects: &[K], name: &str) -> Option<Value>
        where
            K: k8s_openapi::Metadata<Ty = ObjectMeta> + serde::Serialize,
        {
            by_name(objects, name).and_then(|object| serde_json::to_value(object).ok())
        }
        match kind {
            Kind::StatefulSet => json(&self.stateful_sets, name),
            Kind::PersistentVolumeClaim => json(&self.claims, name),
            Kind::ConfigMap => json(&self.config_maps, name),
            Kind::Service => json(&self.services, name),
            Kind::PodDisruptionBudget => json(&self.disruption_budgets, name),
            Kind::NetworkPolicy => json(&self.network_policies, name),
            Kind::Secret => None,
        }
    }
}
