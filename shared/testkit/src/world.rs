//! The state of the simulated world.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use ballast_core::{
    guard::Marker,
    label,
    object::{Children, Kind, Object},
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::application::Process;

/// An object as the API server has it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    live: Value,
    /// The same in its type, for readers; made when it is first asked for.
    typed: OnceCell<Object>,
    /// What the operator applied last: what it does not send any more is removed.
    pub(crate) applied: Option<Value>,
}

impl Stored {
    pub(crate) fn new(live: Value, applied: Option<Value>) -> Self {
        Self { live, typed: OnceCell::new(), applied }
    }

    pub(crate) fn live(&self) -> &Value {
        &self.live
    }

    pub(crate) fn live_mut(&mut self) -> &mut Value {
        self.typed = OnceCell::new();
        &mut self.live
    }

    pub(crate) fn object(&self, kind: Kind) -> &Object {
        self.typed.get_or_init(|| match kind {
            Kind::Service => Object::Service(typed(&self.live)),
            Kind::ConfigMap => Object::ConfigMap(typed(&self.live)),
            Kind::Secret => Object::Secret(typed(&self.live)),
            Kind::NetworkPolicy => Object::NetworkPolicy(typed(&self.live)),
            Kind::PodDisruptionBudget => Object::PodDisruptionBudget(typed(&self.live)),
            Kind::PersistentVolumeClaim => Object::PersistentVolumeClaim(typed(&self.live)),
            Kind::StatefulSet => Object::StatefulSet(typed(&self.live)),
        })
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its zone.
    pub zone: String,
    /// Since when it does not answer; `None`: it does.
    pub down_since: Option<Timestamp>,
}

/// What is on a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Node that it lies on, once it is bound.
    pub node: Option<String>,
    /// Whose it is.
    pub marker: Option<Marker>,
    /// Whether it holds valid data of the application.
    pub data: bool,
    /// Whether there is no room left on it: no application starts.
    pub full: bool,
}

/// What the kubelet knows of a pod that is not in its status.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    /// The ticket as it is mounted.
    pub(crate) ticket: Option<String>,
    /// When the mounts were last brought up to date.
    pub(crate) synced: Timestamp,
    /// Whether a ticket was used in this pod.
    pub(crate) note: bool,
}

/// A simulated Kubernetes cluster with one namespace.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) now: Timestamp,
    pub(crate) counter: u64,
    pub(crate) objects: BTreeMap<(Kind, String), Stored>,
    pub(crate) pods: BTreeMap<String, Pod>,
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) disks: BTreeMap<String, Disk>,
    pub(crate) local: BTreeMap<String, Local>,
    pub(crate) processes: BTreeMap<String, Process>,
    pub(crate) bad_images: BTreeSet<String>,
    /// Mounted ConfigMaps follow their objects only after a minute, as in a real kubelet.
    pub lazy_mounts: bool,
    /// Volumes lie on the node where their first pod ran; else anywhere in its zone.
    pub local_volumes: bool,
    /// Seconds until pods on a node that does not answer are told to go.
    pub eviction_seconds: i64,
}

impl World {
    /// A world with these nodes (name, zone).
    pub fn new(nodes: &[(&str, &str)], now: Timestamp) -> Self {
        let node = |zone: &str| Node { zone: zone.to_owned(), down_since: None };
        Self {
            now,
            counter: 100,
            objects: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: nodes.iter().map(|(name, zone)| ((*name).to_owned(), node(zone))).collect(),
            disks: BTreeMap::new(),
            local: BTreeMap::new(),
            processes: BTreeMap::new(),
            bad_images: BTreeSet::new(),
            lazy_mounts: true,
            local_volumes: false,
            eviction_seconds: 60,
        }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Time passes.
    pub fn advance(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// A number that was not used before; also the resourceVersion.
    pub(crate) fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// One object.
    pub fn live(&self, kind: Kind, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, name.to_owned())).map(Stored::live)
    }

    /// Names of the objects of one kind.
    pub fn names(&self, kind: Kind) -> Vec<String> {
        self.objects.keys().filter(|(have, _)| *have == kind).map(|(_, name)| name.clone()).collect()
    }

    /// One pod.
    pub fn pod(&self, name: &str) -> Option<&Pod> {
        self.pods.get(name)
    }

    /// The containers that run, by uid of their pod.
    pub fn processes(&self) -> &BTreeMap<String, Process> {
        &self.processes
    }

    /// The disks, by uid of their claim or pod.
    pub fn disks(&self) -> &BTreeMap<String, Disk> {
        &self.disks
    }

    /// The nodes.
    pub fn nodes(&self) -> &BTreeMap<String, Node> {
        &self.nodes
    }

    /// Everything with the labels of one cluster, sorted by name, as an operator lists it.
    pub fn children(&self, application: &str, instance: &str) -> Children {
        let manager = label::manager(application);
        let ours = |labels: Option<&BTreeMap<String, String>>| {
            let get = |key| labels.and_then(|labels| labels.get(key)).map(String::as_str);
            get(label::INSTANCE) == Some(instance) && get(label::MANAGED_BY) == Some(manager.as_str())
        };
        let mut children = Children::default();
        for ((kind, _), stored) in &self.objects {
            let object = stored.object(*kind);
            if !ours(object.metadata().labels.as_ref()) {
                continue;
            }
            match object.clone() {
                Object::StatefulSet(set) => children.stateful_sets.push(*set),
                Object::PersistentVolumeClaim(claim) => children.claims.push(*claim),
                Object::ConfigMap(map) => children.config_maps.push(*map),
                Object::Service(service) => children.services.push(*service),
                Object::NetworkPolicy(policy) => children.network_policies.push(*policy),
                Object::PodDisruptionBudget(budget) => children.disruption_budgets.push(*budget),
                Object::Secret(_) => {}
            }
        }
        children.pods =
            self.pods.values().filter(|pod| ours(pod.metadata.labels.as_ref())).cloned().collect();
        children
    }
}

/// An object of the world in its type.
///
/// # Panics
/// When the world holds something that is no object of this type: a mistake of the world.
#[allow(clippy::panic)]
pub(crate) fn typed<T: DeserializeOwned>(live: &Value) -> T {
    T::deserialize(live).unwrap_or_else(|error| panic!("{error}: {live}"))
}
