//! How changes go from node to node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest [`Rolling::isr_headroom`].
pub const MAX_ISR_HEADROOM: i32 = 100;

/// How changes go from node to node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rolling {
    /// How many replicas more than `min.insync.replicas` must be in sync of every partition while a node is restarted. A partition that has too
    /// few replicas for that keeps all of its others in sync. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub isr_headroom: i32,
}
