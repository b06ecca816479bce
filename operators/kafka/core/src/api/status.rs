//! What users read of a cluster.

use ballast_core::plan::PlanStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator knows about the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct KafkaClusterStatus {
    /// Generation of the resource that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, `QuorumHealthy`, Progressing, Degraded, `SpecValid`, `VersionSupported`; `CanaryPassing`, where there is a canary.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Version that the nodes were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The metadata version that the cluster has finalized, as a feature level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_version: Option<i32>,
    /// Kafka's cluster id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Serving nodes of wanted nodes, for people: `3/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_nodes: Option<String>,
    /// Where clients connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Endpoints>,
    /// What the operator is doing and what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// Replicas that are being moved; absent while none have to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebalance: Option<RebalanceStatus>,
    /// Who has too much traffic, if that is looked for and anybody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_partitions: Option<HotStatus>,
    /// The nodes.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".into()]))]
    pub nodes: Vec<NodeStatus>,
}

/// Replicas that are being moved off brokers that leave. Where each one goes is not kept: it follows anew from what Kafka says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RebalanceStatus {
    /// Why: `Drain` (brokers are emptied), `Spread` (new brokers get their share), `HotPartitions` (traffic is evened out) or `Full` (everything is).
    #[serde(default)]
    pub purpose: Purpose,
    /// Brokers that are emptied, or were until they were wanted again; with `Spread`, those that get their share.
    pub brokers: Vec<i32>,
    /// When it began (RFC 3339).
    pub started_at: String,
    /// The throttle that the operator sets, in bytes per second and broker; absent if there was one before, which then counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<i64>,
    /// Bytes that no plan can avoid to copy.
    pub total_bytes: i64,
    /// Bytes that have been copied.
    pub moved_bytes: i64,
    /// Bytes that are still to be copied.
    pub bytes_to_go: i64,
    /// Partitions that are still to be moved.
    pub partitions_to_go: i32,
    /// Partitions that are being moved now.
    pub in_flight: i32,
    /// How long it takes at least, as `1 h 05 min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_left: Option<String>,
    /// What is being copied and does not get on, and why; at most twenty of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub stalled: Vec<String>,
    /// Brokers to which a copy made no progress. While they are here they get nothing, if another broker can have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoided: Vec<AvoidedBroker>,
    /// What cannot be moved and why; at most twenty of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub blocked: Vec<String>,
}

/// A broker that gets nothing for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvoidedBroker {
    /// Its id.
    pub broker: i32,
    /// Until when (RFC 3339).
    pub until: String,
}

/// Who has too much traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HotStatus {
    /// Brokers above the threshold, and with how much; at most twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub brokers: Vec<String>,
    /// Partitions that are too much for any broker, and how many their topic would need; at most twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub partitions: Vec<String>,
    /// Partitions that would be moved, or led by another broker.
    pub moves: i32,
    /// Bytes that would be copied for that.
    pub bytes: i64,
}

/// Why replicas are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Purpose {
    /// Brokers are emptied.
    #[default]
    Drain,
    /// New brokers get their share.
    Spread,
    /// Brokers get their share of everything.
    Full,
    /// Brokers that have too much traffic are relieved.
    HotPartitions,
}

/// Where clients connect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Endpoints {
    /// Value for `bootstrap.servers`.
    pub bootstrap_servers: String,
    /// Name of the Secret with the same in Service Binding shape.
    pub binding_secret: String,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Node id.
    pub id: i32,
    /// Name of its StatefulSet.
    pub name: String,
    /// `Leader`, `Voter`, `Observer` in the quorum of the controllers; none for a broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// `Active`, `Fenced` or `Unregistered` among the brokers; none for a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<String>,
    /// Zone that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Since when it has not served (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_since: Option<String>,
    /// What is being done with it, or what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
}
