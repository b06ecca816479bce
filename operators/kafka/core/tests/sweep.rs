//! Every leaf of a `KafkaCluster` changed to other valid values and to wrong ones: what `validate` says and what is built of it.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod corpus;

use ballast_core::invalid::Invalid;
use ballast_kafka_core::{
    api::KafkaCluster,
    build,
    validate::{Desired, Pool, validate},
};
use ballast_testkit::{
    samples,
    sweep::{self, Sweep},
};
use corpus::{Base, Change, Wrong};
use kube::CustomResourceExt;
use serde_json::Value;

struct Kafka;

impl Sweep for Kafka {
    type Base = Base;
    type Desired = Desired;

    fn spec(base: Base) -> Value {
        base.spec()
    }

    fn validated(spec: &Value) -> Option<Result<Desired, Vec<Invalid>>> {
        let resource: KafkaCluster =
            samples::resource("my", "11111111-2222-4333-8444-555555555555", spec).ok()?;
        Some(validate(&resource, &samples::environment("ballast/kafka-operator:test")))
    }

    fn objects(desired: &Desired) -> Vec<(String, Value)> {
        samples::by_kind(&build::everything(desired))
    }

    /// Of each pool, without the hash, and without what a node keeps for life: its zone.
    fn templates(desired: &Desired) -> Vec<(String, Value)> {
        let hashes = build::template_hashes(desired);
        let of = |pool: &Pool| {
            let set = build::stateful_set(desired, pool, &build::Place::default());
            let mut template = serde_json::to_value(set.spec.unwrap().template).unwrap();
            let annotations = template["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.remove("ballast.dev/template-hash").unwrap();
            (hashes[pool.name.as_str()].clone(), template)
        };
        desired.pools.iter().map(of).collect()
    }

    fn changes() -> Vec<&'static Change> {
        corpus::changes()
    }

    fn wrongs() -> Vec<&'static Wrong> {
        corpus::wrongs()
    }
}

#[test]
fn every_leaf_of_the_schema_is_in_the_corpus() {
    let definition = serde_json::to_value(KafkaCluster::crd()).unwrap();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    sweep::entered::<Kafka>(schema, &[], &[]);
}

#[test]
fn every_change_arrives_and_nothing_else_is_touched_by_what_says_the_same() {
    sweep::every_change_arrives::<Kafka>();
}

#[test]
fn every_wrong_value_is_refused_with_its_field() {
    sweep::every_wrong_value_is_refused::<Kafka>();
}

#[test]
fn the_bases_are_valid() {
    for base in [Base::One, Base::Rich, Base::Two] {
        Kafka::validated(&base.spec()).unwrap().unwrap();
    }
}
