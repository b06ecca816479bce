//! Whether records really go through each broker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether records really go through each broker: one is written to each, and read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// `Disabled` (default): nobody writes to a cluster who was not asked to, and the operator needs no threads for it. `Enabled`: the operator makes the
    /// topic `__ballast_canary`, writes a small record through each broker and reads it back; the condition `CanaryPassing` and metrics tell. The topic
    /// stays when this is disabled again, and may then be deleted.
    #[serde(default)]
    pub mode: CanaryMode,

    /// How long after one record the next one is written, `10s` to `1h`. Default: `30s`.
    #[serde(default = "default_interval")]
    #[schemars(length(min = 1, max = 32))]
    pub interval: String,
}

/// Whether records are written and read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CanaryMode {
    /// Nothing is written.
    #[default]
    Disabled,
    /// Records go through each broker.
    Enabled,
}

impl Default for Canary {
    fn default() -> Self {
        Self { mode: CanaryMode::default(), interval: default_interval() }
    }
}

fn default_interval() -> String {
    "30s".to_owned()
}
