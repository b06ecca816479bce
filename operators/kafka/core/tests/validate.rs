//! Wrong specifications are refused with the field and what would be right.

#![allow(clippy::unwrap_used, missing_docs)]

use ballast_kafka_core::{
    api::KafkaCluster,
    validate::{Environment, validate},
};
use ballast_testkit::samples;
use rstest::rstest;
use serde_json::{Value, json};

fn environment() -> Environment {
    samples::environment("ballast/kafka-operator:test")
}

fn resource(spec: &Value) -> KafkaCluster {
    let mut whole = json!({"version": "4.4.0"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    samples::resource("my", "11111111-2222-4333-8444-555555555555", &whole).unwrap()
}

fn pool(more: &Value) -> Value {
    let mut pool = json!({"name": "node", "roles": ["Controller", "Broker"], "replicas": 3});
    pool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"nodePools": [pool]})
}

#[rstest]
#[case(json!({"version": "four"}), "spec.version", "four")]
#[case(json!({"image": "apache/kafka:4.4.0"}), "spec.image", "without a tag")]
#[case(json!({"zones": ["a", "a"]}), "spec.zones[1]", "twice")]
#[case(json!({"config": {"log.dirs": "/tmp"}}), "spec.config[log.dirs]", "the operator places the data")]
#[case(json!({"config": {"a": "b\nlog.dirs=/tmp"}}), "spec.config[a]", "")]
#[case(json!({"rebalance": {"throttle": "1"}}), "spec.rebalance.throttle", "at least 64Ki")]
#[case(json!({"rebalance": {"throttle": "fast"}}), "spec.rebalance.throttle", "fast")]
#[case(json!({"rebalance": {"hotPartitions": {"threshold": 105}}}), "spec.rebalance.hotPartitions.threshold", "111 to 1000")]
#[case(json!({"rebalance": {"hotPartitions": {"maxBytes": "lots"}}}), "spec.rebalance.hotPartitions.maxBytes", "lots")]
#[case(json!({"rebalance": {"concurrency": 0}}), "spec.rebalance.concurrency", "1 to 100")]
#[case(json!({"rolling": {"isrHeadroom": -1}}), "spec.rolling.isrHeadroom", "0 to 100")]
#[case(json!({"canary": {"interval": "1s"}}), "spec.canary.interval", "10s to 1h")]
#[case(json!({"canary": {"mode": "Enabled", "interval": "often"}}), "spec.canary.interval", "often")]
#[case(json!({"version": "4.1.2", "metadataVersion": "4.4"}), "spec.metadataVersion", "no node of version 4.1 can read")]
#[case(json!({"metadataVersion": "3.9"}), "spec.metadataVersion", "give one of 4.0")]
#[case(pool(&json!({"replicas": 2})), "spec.nodePools[].replicas", "1, 3 or 5 controllers")]
#[case(pool(&json!({"replicas": 101})), "spec.nodePools[0].replicas", "0 to 100")]
#[case(pool(&json!({"roles": ["Controller"]})), "spec.nodePools[].replicas", "at least one broker")]
#[case(pool(&json!({"roles": ["Broker", "Broker"]})), "spec.nodePools[0].roles", "twice")]
#[case(pool(&json!({"nodeIds": {"start": 50}})), "spec.nodePools[0].nodeIds.start", "multiple of 100")]
#[case(pool(&json!({"nodeIds": {"start": 0, "without": [100]}})), "spec.nodePools[0].nodeIds.without", "0 to 99")]
#[case(pool(&json!({"nodeIds": {"start": 0, "without": [1, 1]}})), "spec.nodePools[0].nodeIds.without", "twice")]
#[case(
    pool(&json!({"replicas": 99, "nodeIds": {"start": 0, "without": [1, 2]}})),
    "spec.nodePools[0].nodeIds.without",
    "leaves 98 ids"
)]
#[case(pool(&json!({"jvm": {"heap": "1Mi"}})), "spec.nodePools[0].jvm.heap", "at least 128Mi")]
#[case(pool(&json!({"jvm": {"options": ["-XX:+UseZGC", "-javaagent:/x"]}})), "spec.nodePools[0].jvm.options[1]", "load code")]
#[case(pool(&json!({"jvm": {"options": ["-XX:+UseZGC", "-XX:+UseG1GC"]}})), "spec.nodePools[0].jvm.options", "UseZGC, UseG1GC; keep one")]
#[case(pool(&json!({"jvm": {"options": vec!["-XX:+UseZGC"; 33]}})), "spec.nodePools[0].jvm.options", "at most 32")]
#[case(
    pool(&json!({"storage": {"volumes": [{"name": "data", "size": "1Mi"}]}})),
    "spec.nodePools[0].storage.volumes[data].size",
    "at least 256Mi"
)]
fn what_is_wrong_is_named_with_its_field(#[case] spec: Value, #[case] field: &str, #[case] text: &str) {
    let errors = validate(&resource(&spec), &environment()).unwrap_err();
    let found = errors.iter().find(|error| error.field == field);
    let error = found.unwrap_or_else(|| panic!("{errors:?}"));
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let spec = json!({"zones": ["a", "a"], "rebalance": {"throttle": "1", "concurrency": 0}, "metadataVersion": "1.0"});
    let errors = validate(&resource(&spec), &environment()).unwrap_err();
    assert_eq!(errors.len(), 4, "{errors:?}");
}

#[test]
fn two_pools_need_ids_of_their_own() {
    let pools = json!({"nodePools": [
        {"name": "a", "roles": ["Controller"], "replicas": 3},
        {"name": "a", "roles": ["Broker"], "replicas": 3, "nodeIds": {"start": 0}},
    ]});
    let errors = validate(&resource(&pools), &environment()).unwrap_err();
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    for text in ["is required where there is more than one pool", "listed twice", "another pool has the ids"]
    {
        assert!(told.iter().any(|error| error.contains(text)), "{told:?}");
    }
}

#[test]
fn the_default_is_three_nodes_that_do_everything() {
    let desired = validate(&resource(&json!({})), &environment()).unwrap();
    assert_eq!((desired.controllers(), desired.brokers()), (3, 3));
    assert_eq!((desired.throttle, desired.concurrency, desired.metadata_level), (50 << 20, 5, Some(33)));
    assert_eq!(desired.canary, None);
    let desired = validate(&resource(&json!({"canary": {"mode": "Enabled"}})), &environment()).unwrap();
    assert_eq!(desired.canary, Some(std::time::Duration::from_secs(30)));
}
