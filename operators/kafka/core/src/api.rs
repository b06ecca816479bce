//! The resource type: what users write and what they read. The comments are the user's manual (`kubectl explain`).

mod canary;
pub mod kafka_rebalance;
mod rebalance;
mod rolling;
mod status;

use std::collections::BTreeMap;

use ballast_core::schema;
pub use ballast_core::spec::{DisruptionBudget, NetworkPolicySettings, PodSettings, WhenDeleted, WhenScaled};
use k8s_openapi::api::core::v1::ResourceRequirements;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use canary::{Canary, CanaryMode};
pub use rebalance::{HotMode, HotPartitions, OnScaleUp, Rebalance};
pub use rolling::{MAX_ISR_HEADROOM, Rolling};
pub use status::{
    AvoidedBroker, Endpoints, HotStatus, KafkaClusterStatus, NodeStatus, Purpose, RebalanceStatus,
};

/// Longest allowed name of a `KafkaCluster` and its longest pool together: StatefulSet names must stay within 52 characters.
pub const MAX_NAMES: usize = 45;

/// A Kafka cluster.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "kafka.ballast.dev",
    version = "v1alpha1",
    kind = "KafkaCluster",
    plural = "kafkaclusters",
    singular = "kafkacluster",
    shortname = "kafkac",
    category = "ballast",
    namespaced,
    status = "KafkaClusterStatus",
    doc = "A Kafka cluster: nodes with their own volumes, kept healthy, resized and upgraded without losing data.",
    validation = Rule::new("self.metadata.name.size() <= 40").message("metadata.name may have at most 40 characters, so that the names made from it stay valid"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message("metadata.name must be a DNS label that starts with a letter (a-z, 0-9, -), since Services are named after it"),
    selectable = ".spec.version",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.readyNodes"),
    printcolumn(name = "Step", type_ = "string", json_path = ".status.plan.step"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct KafkaClusterSpec {
    /// Version of Kafka, for instance `4.4.0`.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9]+[.][0-9]+[.][0-9]+$')").message("version must be a full version such as 4.4.0"))]
    pub version: String,

    /// Which minor version's metadata format the cluster stays at, for instance `4.1`; Kafka cannot go back from a newer one. Default: that of
    /// `version`, which it gets after an upgrade, once every node runs it. Until then the version can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9]+[.][0-9]+$')").message("metadataVersion must be a minor version such as 4.1"))]
    pub metadata_version: Option<String>,

    /// Where the image comes from, without a tag: the tag is the version. Default: `docker.io/apache/kafka`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub image: Option<String>,

    /// Zones (values of the node label `topology.kubernetes.io/zone`). Every node gets the least crowded one when it is created, keeps it,
    /// and has it as its rack. Without zones, nodes are spread as well as the scheduler can, and have no rack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 9))]
    pub zones: Vec<String>,

    /// The nodes, in groups that are alike. Default: one pool `node` of three nodes that are controllers and brokers.
    #[serde(default = "default_pools")]
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub node_pools: Vec<NodePool>,

    /// Settings of Kafka itself, for instance `log.retention.hours: "72"`. A key that the operator sets itself, or that reads
    /// files, loads classes or reaches out, is refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 128))]
    pub config: BTreeMap<String, String>,

    /// How replicas are moved from node to node.
    #[serde(default)]
    pub rebalance: Rebalance,

    /// How changes go from node to node.
    #[serde(default)]
    pub rolling: Rolling,

    /// Whether records really go through each broker.
    #[serde(default)]
    pub canary: Canary,

    /// The PodDisruptionBudget.
    #[serde(default)]
    pub disruption_budget: DisruptionBudget,

    /// The operator changes nothing while this is true; it still reports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

fn default_pools() -> Vec<NodePool> {
    vec![NodePool {
        name: "node".to_owned(),
        roles: vec![Role::Controller, Role::Broker],
        replicas: default_replicas(),
        node_ids: None,
        storage: Storage::default(),
        jvm: Jvm::default(),
        resources: None,
        pod: PodSettings::default(),
    }]
}

fn default_replicas() -> i32 {
    3
}

/// Nodes that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.roles == oldSelf.roles").message("nodePools[].roles cannot change yet; make a new pool"))]
#[x_kube(validation = Rule::new("(has(self.nodeIds) ? self.nodeIds.start : 0) == (has(oldSelf.nodeIds) ? oldSelf.nodeIds.start : 0)").message("nodePools[].nodeIds.start cannot change; make a new pool"))]
pub struct NodePool {
    /// Name of the pool, part of the names of its pods.
    #[schemars(length(min = 1, max = 20))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message("nodePools[].name must be a DNS label that starts with a letter"))]
    pub name: String,

    /// What the nodes do: `Controller`, `Broker`, or both. Cannot change.
    #[schemars(length(min = 1, max = 2))]
    pub roles: Vec<Role>,

    /// Number of nodes. Controllers: 1, 3 or 5 over all pools. Default: 3.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,

    /// Which node ids the pool has. Required if there is more than one pool; default of a single pool: from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_ids: Option<NodeIds>,

    /// Where nodes keep their data.
    #[serde(default)]
    pub storage: Storage,

    /// The Java virtual machine.
    #[serde(default)]
    pub jvm: Jvm,

    /// CPU and memory of the kafka container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::resources")]
    pub resources: Option<ResourceRequirements>,

    /// Customisation of the pods.
    #[serde(default)]
    pub pod: PodSettings,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Role {
    /// It votes on, and keeps, the cluster's metadata.
    Controller,
    /// It keeps partitions and serves clients.
    Broker,
}

/// Which node ids a pool has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeIds {
    /// The first id; the pool has the hundred from there on. A multiple of 100.
    #[schemars(range(min = 0, max = 65400))]
    #[x_kube(validation = Rule::new("self % 100 == 0").message("nodePools[].nodeIds.start must be a multiple of 100"))]
    pub start: i32,

    /// Ids that the pool must not have. A node in the middle leaves if it is named here and `replicas` is lowered by one; with the same
    /// `replicas`, another node takes its place. Its partitions are moved before it is removed, as always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub without: Vec<i32>,
}

/// Where nodes keep their data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// The volumes of each node. Default: one of 8Gi. More than one is not offered yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub volumes: Vec<Volume>,

    /// What becomes of the volume of a node that is removed. `Retain` (default) keeps it, though it is never used again by itself; `Delete` deletes it.
    #[serde(default)]
    pub when_scaled: WhenScaled,

    /// What becomes of the volumes when the `KafkaCluster` is deleted. `Retain` (default) keeps them; `Delete` deletes them.
    #[serde(default)]
    pub when_deleted: WhenDeleted,
}

/// A volume of each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0").message("storage.volumes[].size can only grow: volumes cannot shrink"))]
#[x_kube(validation = Rule::new("has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)").message("storage.volumes[].storageClassName cannot change; make a new pool"))]
pub struct Volume {
    /// Name of the volume.
    #[schemars(length(min = 1, max = 20))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message("storage.volumes[].name must be a DNS label that starts with a letter"))]
    pub name: String,

    /// Its size. It can grow, where the StorageClass allows it, but never shrink.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))").message("storage.volumes[].size must be a quantity such as 100Gi"))]
    pub size: String,

    /// StorageClass of the volumes. Default: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,
}

/// The Java virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Jvm {
    /// Size of the heap, for instance `2Gi`. Default: half of the memory limit (or request), at most 6Gi; without either, 1Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    pub heap: Option<String>,

    /// Flags, for instance `-XX:MaxGCPauseMillis=50`, which come after the operator's own: `-XX:` switches and plain values, and a few `-D` properties.
    /// What reads or writes files, loads code, runs programs or reaches out is refused; the heap has its own field. `-XX:+UseZGC` takes the place of
    /// the collector that is there by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 128)))]
    pub options: Vec<String>,
}
