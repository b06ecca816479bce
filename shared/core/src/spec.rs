//! Parts that the specifications of all our resources have. The comments are the user's manual (`kubectl explain`).

use k8s_openapi::api::networking::v1::NetworkPolicyPeer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// What becomes of volumes when their cluster is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenDeleted {
    /// Volumes stay and can be adopted by a new cluster of the same name.
    #[default]
    Retain,
    /// Volumes go with the cluster.
    Delete,
}

/// What becomes of a member's volume when the member is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenScaled {
    /// The volume stays, and is never used again by itself.
    #[default]
    Retain,
    /// The volume goes with its member.
    Delete,
}

/// Customisation of the pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSettings {
    /// Laid over the pod template: `metadata.labels`, `metadata.annotations` and `spec` (affinity, tolerations, sidecars, volumes,
    /// priorityClassName, …). What the operator needs for itself is refused by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::template")]
    pub template: Option<Value>,
}

/// The PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisruptionBudget {
    /// Whether there is one. It keeps a quorum through drains; members that are already broken can always be evicted. Default: true.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

impl Default for DisruptionBudget {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// The NetworkPolicy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicySettings {
    /// Whether there is one. It lets only the cluster's own members reach the peer port. Ports of sidecars stay open. Default: true.
    #[serde(default = "enabled")]
    pub enabled: bool,

    /// Who may reach the client port, which serves metrics too; members and the operator always may. Empty (default): everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::peers")]
    pub clients_from: Vec<NetworkPolicyPeer>,
}

impl Default for NetworkPolicySettings {
    fn default() -> Self {
        Self { enabled: true, clients_from: vec![] }
    }
}

fn enabled() -> bool {
    true
}
