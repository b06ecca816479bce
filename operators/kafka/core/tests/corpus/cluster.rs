//! The whole cluster: its version, where it is, and settings of Kafka itself.

use super::{
    Arrives::{Count, Nowhere, Plan, Pod},
    Base::{One, Rich, Two},
    Change,
    Refused::{ApiServer, Operator},
    Wrong, change, setting, wrong,
};

const IMAGE: &str = "/spec/containers/0/image";

pub const CHANGES: &[Change] = &[
    change("spec.version", One, "version: 4.3.1", Pod(IMAGE, "docker.io/apache/kafka:4.3.1")),
    change("spec.version", Two, "version: 4.0.1", Pod(IMAGE, "docker.io/apache/kafka:4.0.1")),
    change("spec.metadataVersion", One, "metadataVersion: '4.1'", Plan),
    change("spec.metadataVersion", Rich, "metadataVersion: ~", Plan),
    change("spec.metadataVersion", One, "metadataVersion: '4.4'", Nowhere),
    change("spec.image", One, "image: mirror.example.com/k", Pod(IMAGE, "mirror.example.com/k:4.4.0")),
    change("spec.image", Rich, "image: ~", Pod(IMAGE, "docker.io/apache/kafka:4.3.1")),
    change("spec.image", One, "image: docker.io/apache/kafka", Nowhere),
    change("spec.zones[]", One, "zones: [a]", setting("broker.rack", "'${BALLAST_ZONE}'")),
    change("spec.zones[]", Rich, "zones: ~", setting("broker.rack", "~")),
    change("spec.config.*", Two, "config: {num.io.threads: '4'}", setting("num.io.threads", "'4'")),
    change("spec.config.*", Rich, "config: {num.partitions: '8'}", setting("num.partitions", "'8'")),
    change("spec.config.*", Rich, "config: {log.retention.hours: ~}", setting("log.retention.hours", "~")),
    // What the operator thinks is better may be set otherwise.
    change("spec.config.*", Two, "config: {min.insync.replicas: '1'}", setting("min.insync.replicas", "'1'")),
    change(
        "spec.disruptionBudget.enabled",
        One,
        "disruptionBudget: {enabled: false}",
        Count("PodDisruptionBudget", 0),
    ),
    change("spec.disruptionBudget.enabled", Rich, "disruptionBudget: ~", Count("PodDisruptionBudget", 1)),
    change("spec.paused", One, "paused: true", Plan),
    change("spec.paused", Rich, "paused: false", Plan),
    change("spec.paused", One, "paused: false", Nowhere),
];

pub const WRONGS: &[Wrong] = &[
    wrong("spec.version", One, "version: four", Operator("spec.version")),
    wrong("spec.version", One, "version: '4.4'", Operator("spec.version")),
    wrong("spec.metadataVersion", One, "metadataVersion: '3.9'", Operator("spec.metadataVersion")),
    wrong("spec.metadataVersion", Rich, "metadataVersion: '4.4'", Operator("spec.metadataVersion")),
    wrong("spec.image", One, "image: 'apache/kafka:4.4.0'", Operator("spec.image")),
    wrong("spec.zones[]", Rich, "zones: [a, a]", Operator("spec.zones[1]")),
    wrong("spec.zones[]", One, "zones: ['a b']", Operator("spec.zones[0]")),
    wrong("spec.config.*", One, "config: {log.dirs: /tmp}", Operator("spec.config[log.dirs]")),
    wrong("spec.config.*", Rich, "config: {'a b': '1'}", Operator("spec.config[a b]")),
    wrong(
        "spec.config.*",
        Rich,
        "config: {num.partitions: '${env:A}'}",
        Operator("spec.config[num.partitions]"),
    ),
    wrong("spec.config.*", One, "config: {num.partitions: 6}", ApiServer("spec.config.num.partitions")),
    wrong(
        "spec.disruptionBudget.enabled",
        One,
        "disruptionBudget: {enabled: perhaps}",
        ApiServer("spec.disruptionBudget.enabled"),
    ),
    wrong("spec.paused", One, "paused: perhaps", ApiServer("spec.paused")),
];
