//! Every leaf of an `EtcdCluster` changed to other valid values and to wrong ones: what `validate` says and what is
//! built of it. The tests with a control plane do the same to running clusters.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod corpus;
#[path = "corpus/leaves.rs"]
mod leaves;

use std::collections::BTreeSet;

use ballast_core::invalid::Invalid;
use ballast_etcd_core::{
    api::EtcdCluster,
    build,
    validate::{Desired, Environment, validate},
};
use corpus::{Arrives, Base, Refused, arrived, changes, patched, wrongs};
use kube::CustomResourceExt;
use leaves::leaves;
use serde_json::{Value, json};

/// `None`: not even the type, so that the API server refuses it.
fn validated(spec: &Value) -> Option<Result<Desired, Vec<Invalid>>> {
    let resource: EtcdCluster = serde_json::from_value(json!({
        "apiVersion": "etcd.ballast.dev/v1alpha1",
        "kind": "EtcdCluster",
        "metadata": {"name": "my", "namespace": "ns", "uid": "0a1b2c3d-uid"},
        "spec": spec,
    }))
    .ok()?;
    let environment = Environment {
        cluster_domain: "cluster.local".to_owned(),
        operator_image: "ballast/etcd-operator:test".to_owned(),
        operator_pull_policy: None,
        operator_namespace: Some("ballast-system".to_owned()),
    };
    Some(validate(&resource, &environment))
}

fn desired(spec: &Value) -> Desired {
    validated(spec).unwrap().unwrap_or_else(|errors| panic!("{spec}: {errors:?}"))
}

fn objects(desired: &Desired) -> Vec<(String, Value)> {
    let all = build::everything(desired);
    all.iter().map(|object| (object.kind().as_str().to_owned(), object.to_json())).collect()
}

/// A pod's template, without the hash, and without what a member keeps for life: its zone.
fn template(desired: &Desired) -> Value {
    let set = build::stateful_set(desired, &build::Place::default());
    let mut template = serde_json::to_value(set.spec.unwrap().template).unwrap();
    template["metadata"]["annotations"].as_object_mut().unwrap().remove("ballast.dev/template-hash").unwrap();
    template
}

#[test]
fn every_leaf_of_the_schema_is_in_the_corpus() {
    let definition = serde_json::to_value(EtcdCluster::crd()).unwrap();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    let leaves = leaves(schema, "spec");
    let entered: BTreeSet<String> = changes()
        .iter()
        .map(|change| change.leaf)
        .chain(wrongs().iter().map(|wrong| wrong.leaf))
        .map(str::to_owned)
        .collect();
    let forgotten: Vec<_> = leaves.difference(&entered).collect();
    let unknown: Vec<_> = entered.difference(&leaves).collect();
    assert!(
        forgotten.is_empty() && unknown.is_empty(),
        "without entry: {forgotten:?}; not in the schema: {unknown:?}"
    );
    let all = |have: BTreeSet<&str>, but: &[&str]| {
        let missing: Vec<_> = leaves
            .iter()
            .filter(|leaf| !have.contains(leaf.as_str()) && !but.contains(&leaf.as_str()))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    };
    // It cannot change.
    all(changes().iter().map(|change| change.leaf).collect(), &["spec.storage.storageClassName"]);
    all(wrongs().iter().map(|wrong| wrong.leaf).collect(), &[]);
    eprintln!("{} leaves, {} changes, {} wrong values", leaves.len(), changes().len(), wrongs().len());
}

#[test]
fn every_change_arrives_and_nothing_else_is_touched_by_what_says_the_same() {
    for change in changes() {
        let before = desired(&change.base.spec());
        let after = desired(&patched(change.base, change.patch));
        let (old, new) = (objects(&before), objects(&after));
        arrived(change.arrives, &new).unwrap_or_else(|why| panic!("{change:?}: {why}"));
        match change.arrives {
            Arrives::Nowhere => {
                assert!(without_size(&old) == without_size(&new), "{change:?} changes an object");
            }
            Arrives::Plan => {
                assert_ne!(format!("{before:?}"), format!("{after:?}"), "{change:?}");
            }
            arrives => {
                assert!(arrived(arrives, &old).is_err(), "{change:?} is so before");
            }
        }
        // A pod is restarted when its template is another one, and never else.
        assert_eq!(
            build::template_hash(&before) == build::template_hash(&after),
            template(&before) == template(&after),
            "{change:?}: the hash and the template"
        );
        if change.back.is_none() {
            assert!(objects(&desired(&change.base.spec())) == old, "{change:?}: back is somewhere else");
        }
    }
}

/// A size may be written in several ways, and is passed on as it is written.
fn without_size(objects: &[(String, Value)]) -> Vec<(String, Value)> {
    let mut objects = objects.to_vec();
    for (_, object) in objects.iter_mut().filter(|(kind, _)| kind == "PersistentVolumeClaim") {
        let size = object.pointer_mut("/spec/resources/requests/storage").unwrap();
        let bytes = ballast_core::quantity::parse(size.as_str().unwrap()).unwrap().bytes();
        *size = json!(bytes.to_string());
    }
    objects
}

#[test]
fn every_wrong_value_is_refused_with_its_field() {
    let mut missed = vec![];
    for wrong in wrongs() {
        let outcome = validated(&patched(wrong.base, wrong.patch));
        match (wrong.refused, outcome) {
            // The schema and its rules are the API server's: the tests with one try them.
            (Refused::ApiServer(_), _)
            | (Refused::Kubernetes(_) | Refused::Waits(_) | Refused::Nobody, Some(Ok(_))) => {}
            (Refused::Operator(field), Some(Err(errors))) => {
                let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
                if fields != [field] {
                    missed.push(format!("{wrong:?}: {errors:?}"));
                }
            }
            (_, outcome) => missed.push(format!("{wrong:?}: {:?}", outcome.map(|outcome| outcome.map(drop)))),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn the_bases_are_valid() {
    for base in [Base::One, Base::Rich, Base::Three, Base::Ephemeral, Base::Old] {
        desired(&base.spec());
    }
}
