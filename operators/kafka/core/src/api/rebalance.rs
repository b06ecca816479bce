//! How replicas are moved, and for what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How replicas are moved from node to node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rebalance {
    /// How much each broker may send, and receive, per second for replicas that are moved; `50Mi` by default. Clients and replicas that catch up
    /// are not slowed down.
    #[serde(default = "default_throttle")]
    #[schemars(length(min = 1, max = 32))]
    pub throttle: String,

    /// How many replicas each broker may send, and receive, at the same time. Default: 5.
    #[serde(default = "default_concurrency")]
    #[schemars(range(min = 1, max = 100))]
    pub concurrency: i32,

    /// What becomes of brokers that have nothing, such as new ones. `Spread` (default): they get their share of what there is, once, throttled.
    /// `Nothing`: only topics that are made later may lie on them.
    #[serde(default)]
    pub on_scale_up: OnScaleUp,

    /// What is done about brokers that have more traffic than others.
    #[serde(default)]
    pub hot_partitions: HotPartitions,
}

/// What is done about brokers that have more traffic than others. What producers write is measured over some minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HotPartitions {
    /// `Disabled` (default): nothing is measured. `Report`: `status.hotPartitions` tells. `Auto`: and replicas are moved, leadership first, when nothing
    /// else is to be done.
    #[serde(default)]
    pub mode: HotMode,

    /// From how many hundredths of its fair share on a broker is too hot. Default: 125, a quarter more.
    #[serde(default = "default_hot_threshold")]
    #[schemars(range(min = 111, max = 1000))]
    pub threshold: i32,

    /// `Auto`: what would copy more than this is only told, for instance `10Gi`. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    pub max_bytes: Option<String>,
}

impl Default for HotPartitions {
    fn default() -> Self {
        Self { mode: HotMode::default(), threshold: default_hot_threshold(), max_bytes: None }
    }
}

fn default_hot_threshold() -> i32 {
    125
}

/// Whether brokers that are too hot are looked for, and relieved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HotMode {
    /// Nothing is measured.
    #[default]
    Disabled,
    /// The status tells.
    Report,
    /// They are relieved.
    Auto,
}

/// What becomes of brokers that have nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnScaleUp {
    /// They get their share.
    #[default]
    Spread,
    /// Nothing is moved.
    Nothing,
}

impl Default for Rebalance {
    fn default() -> Self {
        Self {
            throttle: default_throttle(),
            concurrency: default_concurrency(),
            on_scale_up: OnScaleUp::default(),
            hot_partitions: HotPartitions::default(),
        }
    }
}

fn default_throttle() -> String {
    "50Mi".to_owned()
}

fn default_concurrency() -> i32 {
    5
}
