//! How replicas are moved, how changes go from node to node, and the canary: nothing of it is in any object.

use super::{
    Arrives::{Nowhere, Plan},
    Base::{One, Rich, Two},
    Change,
    Refused::{ApiServer, Operator},
    Wrong, change, wrong,
};

pub const CHANGES: &[Change] = &[
    change("spec.rebalance.throttle", Two, "rebalance: {throttle: 10Mi}", Plan),
    change("spec.rebalance.throttle", Rich, "rebalance: {throttle: ~}", Plan),
    change("spec.rebalance.throttle", One, "rebalance: {throttle: 51200Ki}", Nowhere),
    change("spec.rebalance.concurrency", Two, "rebalance: {concurrency: 9}", Plan),
    change("spec.rebalance.concurrency", Rich, "rebalance: {concurrency: ~}", Plan),
    change("spec.rebalance.onScaleUp", Two, "rebalance: {onScaleUp: Nothing}", Plan),
    change("spec.rebalance.onScaleUp", Rich, "rebalance: {onScaleUp: ~}", Plan),
    change("spec.rebalance.hotPartitions.mode", Two, "rebalance: {hotPartitions: {mode: Report}}", Plan),
    change("spec.rebalance.hotPartitions.mode", Rich, "rebalance: {hotPartitions: {mode: ~}}", Plan),
    change(
        "spec.rebalance.hotPartitions.threshold",
        Two,
        "rebalance: {hotPartitions: {threshold: 111}}",
        Plan,
    ),
    change(
        "spec.rebalance.hotPartitions.threshold",
        Rich,
        "rebalance: {hotPartitions: {threshold: ~}}",
        Plan,
    ),
    change("spec.rebalance.hotPartitions.maxBytes", Two, "rebalance: {hotPartitions: {maxBytes: 1Gi}}", Plan),
    change("spec.rebalance.hotPartitions.maxBytes", Rich, "rebalance: {hotPartitions: {maxBytes: ~}}", Plan),
    change(
        "spec.rebalance.hotPartitions.maxBytes",
        Rich,
        "rebalance: {hotPartitions: {maxBytes: 1024Mi}}",
        Nowhere,
    ),
    change("spec.rolling.isrHeadroom", Two, "rolling: {isrHeadroom: 2}", Plan),
    change("spec.rolling.isrHeadroom", Rich, "rolling: ~", Plan),
    change("spec.rolling.isrHeadroom", One, "rolling: {isrHeadroom: 0}", Nowhere),
    change("spec.canary.mode", One, "canary: {mode: Enabled}", Plan),
    change("spec.canary.mode", Two, "canary: {mode: Disabled}", Nowhere),
    change("spec.canary.interval", One, "canary: {mode: Enabled, interval: 10s}", Plan),
    change("spec.canary.interval", Two, "canary: {interval: 30s}", Nowhere),
];

pub const WRONGS: &[Wrong] = &[
    wrong("spec.canary.mode", One, "canary: {mode: Sometimes}", ApiServer("spec.canary.mode")),
    wrong(
        "spec.canary.interval",
        One,
        "canary: {mode: Enabled, interval: 9s}",
        Operator("spec.canary.interval"),
    ),
    wrong(
        "spec.canary.interval",
        One,
        "canary: {mode: Enabled, interval: 2h}",
        Operator("spec.canary.interval"),
    ),
    wrong("spec.canary.interval", One, "canary: {interval: soon}", Operator("spec.canary.interval")),
    wrong("spec.rebalance.throttle", One, "rebalance: {throttle: 8Ei}", Operator("spec.rebalance.throttle")),
    wrong("spec.rebalance.throttle", One, "rebalance: {throttle: 20E}", Operator("spec.rebalance.throttle")),
    wrong("spec.rebalance.throttle", One, "rebalance: {throttle: 63Ki}", Operator("spec.rebalance.throttle")),
    wrong(
        "spec.rebalance.throttle",
        Rich,
        "rebalance: {throttle: fast}",
        Operator("spec.rebalance.throttle"),
    ),
    wrong(
        "spec.rebalance.concurrency",
        One,
        "rebalance: {concurrency: 0}",
        Operator("spec.rebalance.concurrency"),
    ),
    wrong(
        "spec.rebalance.concurrency",
        Rich,
        "rebalance: {concurrency: 101}",
        Operator("spec.rebalance.concurrency"),
    ),
    wrong(
        "spec.rebalance.onScaleUp",
        One,
        "rebalance: {onScaleUp: Never}",
        ApiServer("spec.rebalance.onScaleUp"),
    ),
    wrong(
        "spec.rebalance.hotPartitions.mode",
        One,
        "rebalance: {hotPartitions: {mode: Never}}",
        ApiServer("spec.rebalance.hotPartitions.mode"),
    ),
    wrong(
        "spec.rebalance.hotPartitions.threshold",
        One,
        "rebalance: {hotPartitions: {threshold: 110}}",
        Operator("spec.rebalance.hotPartitions.threshold"),
    ),
    wrong(
        "spec.rebalance.hotPartitions.threshold",
        Rich,
        "rebalance: {hotPartitions: {threshold: 1001}}",
        Operator("spec.rebalance.hotPartitions.threshold"),
    ),
    wrong(
        "spec.rebalance.hotPartitions.maxBytes",
        Rich,
        "rebalance: {hotPartitions: {maxBytes: lots}}",
        Operator("spec.rebalance.hotPartitions.maxBytes"),
    ),
    wrong(
        "spec.rebalance.hotPartitions.maxBytes",
        One,
        "rebalance: {hotPartitions: {maxBytes: '-1'}}",
        Operator("spec.rebalance.hotPartitions.maxBytes"),
    ),
    wrong(
        "spec.rolling.isrHeadroom",
        One,
        "rolling: {isrHeadroom: -1}",
        Operator("spec.rolling.isrHeadroom"),
    ),
    wrong(
        "spec.rolling.isrHeadroom",
        Rich,
        "rolling: {isrHeadroom: 101}",
        Operator("spec.rolling.isrHeadroom"),
    ),
];
