//! What the samples become, object by object; and what must never change by itself.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;

use ballast_kafka_core::{
    api::KafkaCluster,
    build,
    validate::{Desired, validate},
};
use ballast_testkit::samples::{self, environment, manifest};
use rstest::rstest;

const MINIMAL: &str = include_str!("../../../../deploy/samples/kafka/minimal.yaml");
const FULL: &str = include_str!("../../../../deploy/samples/kafka/full.yaml");

fn resource(sample: &str) -> KafkaCluster {
    samples::sample("0a1b2c3d-0000-4000-8000-000000000000", sample)
}

fn desired(resource: &KafkaCluster) -> Desired {
    validate(resource, &environment("ballast/kafka-operator:test")).unwrap()
}

fn hashes(resource: &KafkaCluster) -> BTreeMap<String, String> {
    let desired = desired(resource);
    build::template_hashes(&desired).into_iter().map(|(pool, hash)| (pool.to_owned(), hash)).collect()
}

#[rstest]
#[case("minimal", MINIMAL)]
#[case("full", FULL)]
fn everything_of_the_samples(#[case] name: &str, #[case] sample: &str) {
    let objects = build::everything(&desired(&resource(sample)));
    insta::assert_snapshot!(format!("everything_{name}"), manifest(&objects));
}

/// A pod is restarted when this changes: a new version of the operator must not change it.
/// If it has to be, `BUILDER_REVISION` is bumped on purpose, the changelog says so, and the new values are put here.
#[rstest]
#[case(MINIMAL, &[("node", "aa4eb56fd9971082")])]
#[case(FULL, &[("broker", "02a9e599e3df5be2"), ("controller", "237e3a5903ae9790")])]
fn template_hashes_are_frozen(#[case] sample: &str, #[case] frozen: &[(&str, &str)]) {
    let found = hashes(&resource(sample));
    let found: Vec<(&str, &str)> = found.iter().map(|(pool, hash)| (pool.as_str(), hash.as_str())).collect();
    assert_eq!(found, frozen);
}

#[test]
fn the_operators_own_image_is_no_part_of_the_template_hash() {
    let other = validate(&resource(MINIMAL), &environment("example.com/other:1")).unwrap();
    let own = desired(&resource(MINIMAL));
    assert_eq!(build::template_hashes(&other), build::template_hashes(&own));
}

#[rstest]
#[case::minimal(MINIMAL, 0, 5)]
#[case::brokers(FULL, 1, 7)]
#[case::controllers(FULL, 0, 5)]
fn growing_restarts_nobody(#[case] sample: &str, #[case] pool: usize, #[case] replicas: i32) {
    let mut grown = resource(sample);
    grown.spec.node_pools[pool].replicas = replicas;
    assert_eq!(hashes(&grown), hashes(&resource(sample)));
}

#[test]
fn a_setting_restarts_everybody_and_resources_of_a_pool_that_pool() {
    let before = hashes(&resource(FULL));
    let mut changed = resource(FULL);
    changed.spec.config.insert("num.io.threads".to_owned(), "4".to_owned());
    let after = hashes(&changed);
    assert!(before.iter().all(|(pool, hash)| after[pool] != *hash));
    let mut changed = resource(FULL);
    changed.spec.node_pools[1].jvm.heap = Some("5Gi".to_owned());
    let after = hashes(&changed);
    assert_eq!(before["controller"], after["controller"]);
    assert_ne!(before["broker"], after["broker"]);
}

#[test]
fn flags_of_the_jvm_come_last_and_another_collector_takes_the_place_of_the_default_one() {
    let mut changed = resource(FULL);
    let options = ["-XX:+UseZGC", "-XX:MaxGCPauseMillis=5"].map(str::to_owned);
    changed.spec.node_pools[1].jvm.options = options.to_vec();
    let (before, after) = (hashes(&resource(FULL)), hashes(&changed));
    assert_eq!(before["controller"], after["controller"]);
    assert_ne!(before["broker"], after["broker"]);
    let objects = manifest(&build::everything(&desired(&changed)));
    let last = "- -cp\n        - /opt/kafka/libs/*\n        - -XX:+UseZGC\n        - -XX:MaxGCPauseMillis=5\n        - kafka.Kafka\n";
    let squeezed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    assert_eq!(squeezed(&objects).matches(&squeezed(last)).count(), 3, "the brokers alone");
    assert_eq!(objects.matches("-XX:+UseG1GC").count(), 3, "the controllers alone");
}
