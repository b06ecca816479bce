//! The resource type: what users write and what they read. The comments are the user's manual (`kubectl explain`).

use std::collections::BTreeMap;

pub use ballast_core::spec::{DisruptionBudget, NetworkPolicySettings, PodSettings, WhenDeleted};
use ballast_core::{plan::PlanStatus, schema};
use k8s_openapi::{api::core::v1::ResourceRequirements, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest allowed name of an `EtcdCluster`: StatefulSet names must stay within 52 characters.
pub const MAX_NAME: usize = 48;

/// An etcd cluster.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "etcd.ballast.dev",
    version = "v1alpha1",
    kind = "EtcdCluster",
    plural = "etcdclusters",
    singular = "etcdcluster",
    shortname = "etcdc",
    category = "ballast",
    namespaced,
    status = "EtcdClusterStatus",
    doc = "An etcd cluster: members with their own volumes, kept healthy, resized and upgraded without losing data.",
    validation = Rule::new("self.metadata.name.size() <= 48").message("metadata.name may have at most 48 characters, so that the names made from it stay valid"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message("metadata.name must be a DNS label that starts with a letter (a-z, 0-9, -), since Services are named after it"),
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas", label_selector_path = ".status.selector"),
    selectable = ".spec.version",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version"),
    printcolumn(name = "Members", type_ = "string", json_path = ".status.readyMembers"),
    printcolumn(name = "Step", type_ = "string", json_path = ".status.plan.step"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterSpec {
    /// Number of members, 1 to 9. Odd numbers are best: an even number tolerates no more failures than the odd
    /// number below it. Default: 3.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 1, max = 9))]
    pub replicas: i32,

    /// Version of etcd, for instance `3.6.16`. Changing it upgrades the cluster, one member at a time and at most one
    /// minor version at once. A downgrade is refused.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?$')").message("version must be a full version such as 3.6.16"))]
    pub version: String,

    /// Where the image comes from, without a tag: the tag is `v` and the version. Default: `gcr.io/etcd-development/etcd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub image: Option<String>,

    /// Zones (values of the node label `topology.kubernetes.io/zone`). Every member gets the least crowded one when it is created and
    /// keeps it. Without zones, members are spread as well as the scheduler can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 9))]
    pub zones: Vec<String>,

    /// Where members keep their data.
    #[serde(default)]
    pub storage: Storage,

    /// Settings of etcd itself.
    #[serde(default)]
    pub etcd: EtcdSettings,

    /// When a member that does not serve is restarted and replaced.
    #[serde(default)]
    pub repair: Repair,

    /// CPU and memory of the etcd container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::resources")]
    pub resources: Option<ResourceRequirements>,

    /// Customisation of the pods.
    #[serde(default)]
    pub pod: PodSettings,

    /// The PodDisruptionBudget.
    #[serde(default)]
    pub disruption_budget: DisruptionBudget,

    /// The NetworkPolicy.
    #[serde(default)]
    pub network_policy: NetworkPolicySettings,

    /// The operator changes nothing while this is true; it still reports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

fn default_replicas() -> i32 {
    3
}

/// Where members keep their data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.ephemeral) && (has(self.size) || has(self.storageClassName)))").message("storage: give either ephemeral, or size and storageClassName"))]
#[x_kube(validation = Rule::new("has(self.ephemeral) == has(oldSelf.ephemeral)").message("storage cannot change between volumes and ephemeral; make a new cluster"))]
#[x_kube(validation = Rule::new("!has(self.size) || !has(oldSelf.size) || quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0").message("storage.size can only grow: volumes cannot shrink"))]
#[x_kube(validation = Rule::new("has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)").message("storage.storageClassName cannot change; make a new cluster"))]
pub struct Storage {
    /// Size of each member's volume. It can grow, where the StorageClass allows it, but never shrink. Default: `8Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))").message("storage.size must be a quantity such as 8Gi"))]
    pub size: Option<String>,

    /// StorageClass of the volumes. Default: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,

    /// What becomes of the volumes when the `EtcdCluster` is deleted. `Retain` (default) keeps them; `Delete` deletes them.
    #[serde(default)]
    pub when_deleted: WhenDeleted,

    /// Keep data in the pod's own scratch space instead of a volume. A member that loses its pod loses its data and is
    /// replaced; when all pods stop, everything is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<Ephemeral>,
}

/// Data in the pod's own scratch space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ephemeral {
    /// Most space that a member may use. Default: `2Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<String>,
}

/// Settings of etcd itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdSettings {
    /// Size that the database may reach before etcd refuses writes, in bytes. Default: etcd's own, 2 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16_777_216, max = 107_374_182_400_i64))]
    pub quota_backend_bytes: Option<i64>,

    /// Automatic compaction of old revisions. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompaction>,

    /// Committed transactions before a snapshot is written to disk. Default: etcd's own for its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1000, max = 10_000_000))]
    pub snapshot_count: Option<i64>,

    /// Time between two heartbeats of the leader, for instance `100ms`. Default: `100ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_interval: Option<String>,

    /// Time without a heartbeat after which a follower stands for election; at least five heartbeats. Default: `1s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub election_timeout: Option<String>,

    /// Level of etcd's log. Default: `info`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,

    /// Further keys of etcd's configuration file, for instance `max-txn-ops: "256"`. A key that this version does not know,
    /// or that the operator sets itself, is refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub extra_config: BTreeMap<String, String>,
}

/// Automatic compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoCompaction {
    /// `Periodic` keeps a duration (`retention: 8h`), `Revision` a number of revisions (`retention: "10000"`).
    pub mode: AutoCompactionMode,
    /// How much history is kept.
    #[schemars(length(min = 1, max = 32))]
    pub retention: String,
}

/// What automatic compaction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AutoCompactionMode {
    /// Time.
    Periodic,
    /// Revisions.
    Revision,
}

/// Level of etcd's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// When a member that does not serve is restarted and replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// A member that has not served for this long is restarted, once. Default: `5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_after: Option<String>,
    /// A member that has not served for this long is replaced by a new one with a new volume, if the others hold a quorum. Certain data loss
    /// is repaired at once. Default: `15m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_after: Option<String>,
}

/// What the operator knows about the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterStatus {
    /// Generation of the resource that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, `QuorumHealthy`, Progressing, Degraded, `SpecValid`, `VersionSupported`.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Lowest version that a member runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version on which the members have agreed (`major.minor`); a half-done upgrade can be reverted while it is the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_version: Option<String>,
    /// etcd's cluster id, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Number of members in etcd's own list.
    #[serde(default)]
    pub replicas: i32,
    /// Serving members of wanted members, for people: `3/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_members: Option<String>,
    /// Selector of the pods, in text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Where clients connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Endpoints>,
    /// What the operator is doing and what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// The members.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub members: Vec<MemberStatus>,
    /// Zones in which a member could not run lately: new members go elsewhere for an hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspect_zones: Vec<SuspectZone>,
}

/// A zone in which a member could not run lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuspectZone {
    /// The zone.
    pub zone: String,
    /// Since when (RFC 3339).
    pub since: String,
}

/// Where clients connect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Endpoints {
    /// URL of the client Service.
    pub client: String,
    /// Name of the Secret with the same in Service Binding shape.
    pub binding_secret: String,
}

/// One member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// Name of the member and of its StatefulSet.
    pub name: String,
    /// etcd's member id, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `Leader`, `Follower`, `Learner`, or `None` when it is not (yet) in etcd's list.
    pub role: String,
    /// Version that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Zone that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// `Serving`, `NotServing`, or `Unknown`.
    pub health: String,
    /// Since when it has not served (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy_since: Option<String>,
    /// What is being done with it, or what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
}
