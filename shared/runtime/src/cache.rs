//! The caches of one operator: its resources, and the seven kinds of objects that belong to them.

use std::sync::Arc;

use ballast_core::{
    label,
    object::{Children, Companion, Object},
};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use kube::{
    ResourceExt,
    core::{DeserializeGuard, DynamicObject},
};
use serde::{Serialize, de::DeserializeOwned};
use tracing::warn;

use crate::{
    companion::{self, CompanionKind},
    operator::ResourceKey,
    packed::{Keep, Packed, digest},
    pending::pending,
    store::Store,
};

/// What the watches have seen.
#[derive(Debug)]
pub struct Caches<R> {
    /// The resources themselves; one that does not parse is kept with its metadata.
    pub resources: Arc<Store<DeserializeGuard<R>>>,
    /// StatefulSets.
    pub stateful_sets: Arc<Store<StatefulSet>>,
    /// Pods.
    pub pods: Arc<Store<Pod>>,
    /// PersistentVolumeClaims.
    pub claims: Arc<Store<PersistentVolumeClaim>>,
    /// ConfigMaps.
    pub config_maps: Arc<Store<ConfigMap>>,
    /// Services.
    pub services: Arc<Store<Service>>,
    /// PodDisruptionBudgets.
    pub disruption_budgets: Arc<Store<PodDisruptionBudget>>,
    /// NetworkPolicies.
    pub network_policies: Arc<Store<NetworkPolicy>>,
    /// Companions, each kind on its own.
    pub companions: Vec<(CompanionKind, Arc<Store<DynamicObject>>)>,
}

impl<R: kube::Resource<DynamicType = ()>> Default for Caches<R> {
    fn default() -> Self {
        Self {
            resources: Arc::new(Store::new(by_name)),
            stateful_sets: Arc::new(Store::new(by_instance)),
            pods: Arc::new(Store::new(by_instance)),
            claims: Arc::new(Store::new(by_instance)),
            config_maps: Arc::new(Store::new(by_instance)),
            services: Arc::new(Store::new(by_instance)),
            disruption_budgets: Arc::new(Store::new(by_instance)),
            network_policies: Arc::new(Store::new(by_instance)),
            companions: vec![],
        }
    }
}

impl<R: kube::Resource<DynamicType = ()>> Caches<R> {
    /// With room for companions of these kinds.
    pub fn with_companions(kinds: Vec<CompanionKind>) -> Self {
        let companions =
            kinds.into_iter().map(|kind| (kind, Arc::new(Store::new(companion::cluster)))).collect();
        Self { companions, ..Self::default() }
    }

    /// What people ask of this cluster.
    pub(crate) fn companions(&self, key: &ResourceKey) -> Vec<Companion> {
        let of_kind = |(kind, store): &(CompanionKind, Arc<Store<DynamicObject>>)| {
            let objects = store.of(key).into_iter().filter_map(|packed| open::<_, DynamicObject>(&packed));
            objects.map(|object| companion::read(&kind.resource.kind, &object)).collect::<Vec<_>>()
        };
        let mut companions: Vec<Companion> = self.companions.iter().flat_map(of_kind).collect();
        companion::sort(&mut companions);
        companions
    }

    /// What is known to exist with the labels of this cluster.
    pub fn children(&self, key: &ResourceKey) -> Children {
        Children {
            stateful_sets: owned(&self.stateful_sets, key),
            pods: owned(&self.pods, key),
            claims: owned(&self.claims, key),
            config_maps: owned(&self.config_maps, key),
            services: owned(&self.services, key),
            disruption_budgets: owned(&self.disruption_budgets, key),
            network_policies: owned(&self.network_policies, key),
            companions: self.companions(key),
        }
    }

    /// What of `object` would have to be sent, as far as is known; nothing is known of Secrets, which are never cached.
    pub(crate) fn pending(&self, key: &ResourceKey, object: Object) -> Option<Object> {
        match object {
            Object::StatefulSet(object) => changed(&self.stateful_sets, key, *object),
            Object::PersistentVolumeClaim(object) => changed(&self.claims, key, *object),
            Object::ConfigMap(object) => changed(&self.config_maps, key, *object),
            Object::Service(object) => changed(&self.services, key, *object),
            Object::PodDisruptionBudget(object) => changed(&self.disruption_budgets, key, *object),
            Object::NetworkPolicy(object) => changed(&self.network_policies, key, *object),
            Object::Secret(_) => pending(object, None),
        }
    }
}

/// The cluster that an object belongs to by its labels; not by its owner, which retained claims do not have.
pub fn by_instance<K: ResourceExt>(object: &K) -> Option<ResourceKey> {
    let name = object.labels().get(label::INSTANCE)?.clone();
    Some(ResourceKey { namespace: object.namespace()?, name })
}

/// The key of a resource itself.
pub fn by_name<K: ResourceExt>(object: &K) -> Option<ResourceKey> {
    Some(ResourceKey { namespace: object.namespace()?, name: object.name_any() })
}

fn owned<K>(store: &Store<K>, key: &ResourceKey) -> Vec<K>
where
    K: kube::Resource<DynamicType = ()> + Keep<Kept = Packed<K>> + Serialize + DeserializeOwned,
{
    store.of(key).iter().filter_map(open).collect()
}

/// As [`pending`], but what has changed nothing of this version of the live object before is not compared with it again.
fn changed<K>(store: &Store<K>, key: &ResourceKey, object: K) -> Option<Object>
where
    K: kube::Resource<DynamicType = ()>
        + Keep<Kept = Packed<K>>
        + Serialize
        + DeserializeOwned
        + Into<Object>,
{
    let digest = digest(&object);
    let Some(packed) = store.named(key, &object.name_any()) else { return pending(object.into(), None) };
    if packed.agrees(digest) {
        return None;
    }
    let change = pending(object.into(), open(&packed).as_ref());
    if change.is_none() {
        packed.note_agreement(digest);
    }
    change
}

fn open<K, T>(packed: &Packed<K>) -> Option<T>
where
    K: Serialize + DeserializeOwned,
    T: DeserializeOwned,
{
    // What seems to be missing is looked for with live reads before anything is done about it.
    let kind = std::any::type_name::<K>();
    packed.open().inspect_err(|error| warn!(kind, %error, "cannot read from the cache")).ok()
}
