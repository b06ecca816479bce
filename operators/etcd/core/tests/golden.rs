//! What the samples become, object by object; and what must never change by itself.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use ballast_core::object::Object;
use ballast_etcd_core::{
    api::EtcdCluster,
    build,
    validate::{Desired, validate},
};
use ballast_testkit::samples::{self, environment, manifest};
use rstest::rstest;

const MINIMAL: &str = include_str!("../../../../deploy/samples/etcd/minimal.yaml");
const FULL: &str = include_str!("../../../../deploy/samples/etcd/full.yaml");

fn resource(sample: &str) -> EtcdCluster {
    samples::sample("0a1b2c3d-uid", sample)
}

fn desired(sample: &str) -> Desired {
    validate(&resource(sample), &environment("ballast/etcd-operator:test")).unwrap()
}

#[rstest]
#[case("minimal", MINIMAL)]
#[case("full", FULL)]
fn everything_of_the_samples(#[case] name: &str, #[case] sample: &str) {
    insta::assert_snapshot!(format!("everything_{name}"), manifest(&build::everything(&desired(sample))));
}

#[rstest]
#[case("3_5", "3.5.33", "experimental-corrupt-check-time")]
#[case("3_6", "3.6.16", "corrupt-check-time")]
fn the_configuration_file(#[case] name: &str, #[case] version: &str, #[case] key: &str) {
    let mut resource = resource(FULL);
    resource.spec.version = version.to_owned();
    resource.spec.etcd.extra_config.insert(key.to_owned(), "5m".to_owned());
    resource.spec.etcd.extra_config.insert("cors".to_owned(), "a: b # \"c\" 'd' [*] ${HOME}".to_owned());
    let desired = validate(&resource, &environment("image")).unwrap();
    let data = build::config_map(&desired).data.unwrap();
    let text = &data[build::CONFIG_FILE];
    let parsed: serde_json::Value = serde_yaml::from_str(text).unwrap();
    assert_eq!(parsed["cors"], "a: b # \"c\" 'd' [*] ${HOME}");
    assert_eq!(parsed[key], 300_000_000_000_u64);
    insta::assert_snapshot!(format!("configuration_{name}"), text);
}

#[test]
fn what_a_ticket_appends() {
    let members =
        [("my-0".to_owned(), "http://a:2380".to_owned()), ("my-1".to_owned(), "http://b:2380".to_owned())];
    insta::assert_snapshot!(build::initial_cluster(&members, "existing"));
}

/// A pod is restarted when this changes: a new version of the operator must not change it.
/// If it has to be, `BUILDER_REVISION` is bumped on purpose, the changelog says so, and the new values are put here.
#[rstest]
#[case(MINIMAL, "0260b596d9fd6881")]
#[case(FULL, "09aa05b3532e524c")]
fn template_hashes_are_frozen(#[case] sample: &str, #[case] frozen: &str) {
    assert_eq!(build::template_hash(&desired(sample)), frozen);
}

#[test]
fn the_operators_own_image_is_no_part_of_the_template_hash() {
    let other = validate(&resource(MINIMAL), &environment("example.com/other:1")).unwrap();
    assert_eq!(build::template_hash(&other), build::template_hash(&desired(MINIMAL)));
}

#[rstest]
#[case::version("version: 3.6.15")]
#[case::image("image: example.com/etcd")]
#[case::settings("etcd: {snapshotCount: 20000}")]
#[case::resources("resources: {limits: {memory: 1Gi}}")]
#[case::overlay("pod: {template: {spec: {priorityClassName: high}}}")]
fn what_pods_are_restarted_for(#[case] change: &str) {
    assert_ne!(build::template_hash(&changed(change)), build::template_hash(&desired(MINIMAL)));
}

#[rstest]
#[case::replicas("replicas: 5")]
#[case::storage("storage: {size: 9Gi, whenDeleted: Delete}")]
#[case::repair("repair: {restartAfter: 1m, replaceAfter: 2m}")]
#[case::budget("disruptionBudget: {enabled: false}")]
#[case::paused("paused: true")]
#[case::an_empty_overlay("pod: {template: {spec: {}}}")]
fn what_pods_are_not_restarted_for(#[case] change: &str) {
    assert_eq!(build::template_hash(&changed(change)), build::template_hash(&desired(MINIMAL)));
}

fn changed(change: &str) -> Desired {
    let mut resource = resource(MINIMAL);
    let mut spec = serde_json::to_value(&resource.spec).unwrap();
    let change: serde_json::Value = serde_yaml::from_str(change).unwrap();
    for (key, value) in change.as_object().unwrap() {
        spec[key] = value.clone();
    }
    resource.spec = serde_json::from_value(spec).unwrap();
    validate(&resource, &environment("ballast/etcd-operator:test")).unwrap()
}

/// All members have the same template: only the member whose turn it is may have another hash.
#[test]
fn the_template_hash_is_the_same_for_all_members_and_stands_on_the_pods() {
    let desired = desired(FULL);
    for object in build::everything(&desired) {
        if let Object::StatefulSet(set) = object {
            let annotations = set.spec.unwrap().template.metadata.unwrap().annotations.unwrap();
            assert_eq!(annotations["ballast.dev/template-hash"], build::template_hash(&desired));
        }
    }
}

/// What the guard reads is what the operator writes.
#[test]
fn the_guard_understands_its_arguments() {
    use ballast_core::guard::Invocation;
    for object in build::everything(&desired(FULL)) {
        let Object::StatefulSet(set) = object else { continue };
        let pod = set.spec.unwrap().template.spec.unwrap();
        let command = pod.containers[0].command.clone().unwrap();
        let Ok(Invocation::Run(run)) = Invocation::parse(&command[1..]) else { panic!("{command:?}") };
        assert_eq!(Some(run.member.clone()), set.metadata.name);
        assert_eq!(run.cluster_uid, "0a1b2c3d-uid");
        assert_eq!(run.configs[0].name(), build::CONFIG_FILE);
    }
}

#[rstest]
#[case(0, 0)]
#[case(1, 0)]
#[case(2, 1)]
#[case(3, 2)]
#[case(4, 3)]
#[case(5, 3)]
#[case(9, 5)]
fn drains_leave_a_quorum(#[case] voters: usize, #[case] least: i32) {
    assert_eq!(build::min_available(voters), least);
}

/// The objects of this kind that installing the operator makes.
fn installed(kind: &str) -> Vec<serde_json::Value> {
    use serde::Deserialize;
    let documents = serde_yaml::Deserializer::from_str(include_str!("../../../../deploy/etcd-operator.yaml"));
    let objects = documents.map(|document| serde_json::Value::deserialize(document).unwrap());
    objects.filter(|object| object["kind"] == kind).collect()
}

/// Members let in what carries this label in the operator's namespace: the operator has to.
#[test]
fn the_operator_carries_the_label_that_members_let_in() {
    let (key, value) = ballast_core::build::network_policy::OPERATOR;
    let deployments = installed("Deployment");
    let [deployment] = deployments.as_slice() else { panic!("{}", deployments.len()) };
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"][key], value);
}

/// Whoever takes over the operator must not get the cluster with it.
#[test]
fn the_operators_rights_do_not_grow_into_others() {
    let texts = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let roles = installed("ClusterRole");
    let own = roles.iter().find(|role| role["metadata"]["name"] == "etcd-operator").unwrap();
    let granted = own["rules"].as_array().unwrap();
    assert!(granted.len() > 5);
    for rule in granted {
        let (groups, resources, verbs) =
            (texts(&rule["apiGroups"]), texts(&rule["resources"]), texts(&rule["verbs"]));
        assert!([&groups, &resources, &verbs].iter().all(|list| !list.contains(&"*".to_owned())), "{rule}");
        assert!(
            !verbs.iter().any(|verb| ["bind", "escalate", "impersonate"].contains(&verb.as_str())),
            "{rule}"
        );
        let closed = ["rbac.authorization.k8s.io", "admissionregistration.k8s.io", "certificates.k8s.io"];
        assert!(!groups.iter().any(|group| closed.contains(&group.as_str())), "{rule}");
        let closed = ["nodes", "namespaces", "serviceaccounts", "serviceaccounts/token", "pods/exec"];
        assert!(!resources.iter().any(|resource| closed.contains(&resource.as_str())), "{rule}");
        if resources.contains(&"secrets".to_owned()) {
            assert_eq!(
                verbs,
                ["get", "create", "patch"],
                "all Secrets of all namespaces could be read at once"
            );
        }
    }
}
