//! Every leaf of an `EtcdCluster` changed to other valid values and to wrong ones: what `validate` says and what is
//! built of it. The tests with a control plane do the same to running clusters.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod corpus;

use ballast_core::invalid::Invalid;
use ballast_etcd_core::{
    api::EtcdCluster,
    build,
    validate::{Desired, validate},
};
use ballast_testkit::{
    samples,
    sweep::{self, Sweep},
};
use corpus::{Base, Change, Wrong};
use kube::CustomResourceExt;
use serde_json::Value;

struct Etcd;

impl Sweep for Etcd {
    type Base = Base;
    type Desired = Desired;

    fn spec(base: Base) -> Value {
        base.spec()
    }

    fn validated(spec: &Value) -> Option<Result<Desired, Vec<Invalid>>> {
        let resource: EtcdCluster = samples::resource("my", "0a1b2c3d-uid", spec).ok()?;
        Some(validate(&resource, &samples::environment("ballast/etcd-operator:test")))
    }

    fn objects(desired: &Desired) -> Vec<(String, Value)> {
        samples::by_kind(&build::everything(desired))
    }

    /// Without the hash, and without what a member keeps for life: its zone.
    fn templates(desired: &Desired) -> Vec<(String, Value)> {
        let set = build::stateful_set(desired, &build::Place::default());
        let mut template = serde_json::to_value(set.spec.unwrap().template).unwrap();
        let annotations = template["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove("ballast.dev/template-hash").unwrap();
        vec![(build::template_hash(desired), template)]
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
    let definition = serde_json::to_value(EtcdCluster::crd()).unwrap();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    // It cannot change.
    sweep::entered::<Etcd>(schema, &["spec.storage.storageClassName"], &[]);
}

#[test]
fn every_change_arrives_and_nothing_else_is_touched_by_what_says_the_same() {
    sweep::every_change_arrives::<Etcd>();
}

#[test]
fn every_wrong_value_is_refused_with_its_field() {
    sweep::every_wrong_value_is_refused::<Etcd>();
}

#[test]
fn the_bases_are_valid() {
    for base in [Base::One, Base::Rich, Base::Three, Base::Ephemeral, Base::Old] {
        Etcd::validated(&base.spec()).unwrap().unwrap();
    }
}
