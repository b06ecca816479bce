//! The companion with which people ask for replicas to be moved.

use ballast_core::object::Companion;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Moves replicas of one `KafkaCluster`, once.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "kafka.ballast.dev",
    version = "v1alpha1",
    kind = "KafkaRebalance",
    plural = "kafkarebalances",
    singular = "kafkarebalance",
    shortname = "kafkar",
    category = "ballast",
    namespaced,
    status = "KafkaRebalanceStatus",
    doc = "Moves replicas of a KafkaCluster: to make its brokers even, or to empty some of them for as long as this resource exists. Deleting it cancels what it asks for: nothing more is begun, and moves that would empty a broker are taken back.",
    validation = Rule::new("(self.spec.mode == 'Drain') == (size(self.spec.nodeIds) > 0)").message("spec.nodeIds names the brokers to be emptied with mode Drain, and is empty with any other"),
    validation = Rule::new("self.spec.cluster == oldSelf.spec.cluster && self.spec.mode == oldSelf.spec.mode").message("spec.cluster and spec.mode cannot change; make another KafkaRebalance"),
    selectable = ".spec.cluster",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "To-Go", type_ = "integer", json_path = ".status.bytesToGo"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Completed\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct KafkaRebalanceSpec {
    /// Name of the `KafkaCluster`, in the same namespace. Cannot change.
    #[schemars(length(min = 1, max = 63))]
    pub cluster: String,

    /// What is to be done. Cannot change.
    pub mode: Mode,

    /// With `Drain`: ids of the brokers to be emptied. They take nothing new, and go on running, for as long as this resource exists.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub node_ids: Vec<i32>,

    /// Only says in the status what would be moved and what that costs; nothing is moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What a rebalance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// Brokers get their share of everything: disk, leaders, replicas.
    Full,
    /// Brokers above `spec.rebalance.hotPartitions.threshold` of the cluster are relieved: leadership first, then the fewest bytes. What producers
    /// write is measured for a minute first.
    HotPartitions,
    /// Brokers are emptied, for instance before maintenance.
    Drain,
}

/// How far a rebalance is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct KafkaRebalanceStatus {
    /// Generation of the resource that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Pending`, `Planned` (a dry run), `Moving`, `Blocked`, `Completed` or `Refused`.
    #[serde(default)]
    pub state: String,
    /// Accepted, Completed.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// What was planned when it was first looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RebalancePlan>,
    /// Bytes that are still to be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_to_go: Option<i64>,
    /// Partitions that are still to be moved, or are being moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions_to_go: Option<i32>,
    /// When it began (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it was done (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
}

/// What a rebalance moves, and what that costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RebalancePlan {
    /// Partitions whose replicas change.
    pub partitions: i32,
    /// Replicas that are copied.
    pub replicas: i32,
    /// Partitions that get another preferred leader.
    pub leaders: i32,
    /// Bytes that are copied.
    pub bytes: i64,
    /// Bytes that no plan could avoid to copy; 0 where that is not known.
    pub lower_bound_bytes: i64,
    /// How long copying takes at least, in seconds, with the throttle of the cluster.
    pub seconds: i64,
    /// How even brokers are, and would be: what the fullest has, compared with its fair share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub evenness: Vec<EvennessStatus>,
    /// What cannot be moved and why; at most twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub blocked: Vec<String>,
}

/// How even brokers are in one regard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvennessStatus {
    /// Disk, leaders, replicas, or network.
    pub resource: String,
    /// In hundredths: 120 is a fifth more than a fair share. Now.
    pub before: i32,
    /// The same, after the plan.
    pub after: i32,
}

/// A rebalance that people ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The resource.
    pub companion: Companion,
    /// What it asks for.
    pub spec: KafkaRebalanceSpec,
    /// What was told of it last.
    pub status: KafkaRebalanceStatus,
}

impl Asked {
    /// Reads one; `None`: it is none, or the API server of an older operator let something pass that is none.
    pub fn read(companion: &Companion) -> Option<Self> {
        let spec = serde_json::from_value(companion.spec.clone()).ok()?;
        (companion.kind == "KafkaRebalance" && !companion.deleting).then(|| Self {
            companion: companion.clone(),
            spec,
            status: serde_json::from_value(companion.status.clone()).unwrap_or_default(),
        })
    }

    /// Whether the status speaks of what is asked now.
    pub fn is_told(&self) -> bool {
        self.status.observed_generation == self.companion.generation
    }

    /// Whether all was done that is asked, and nothing has to hold on.
    pub fn is_over(&self) -> bool {
        let over = match self.status.state.as_str() {
            "Planned" => self.spec.dry_run,
            "Completed" => self.spec.mode != Mode::Drain,
            _ => false,
        };
        over && self.is_told()
    }
}
