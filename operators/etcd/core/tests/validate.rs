//! From YAML to what is resolved, and every way in which a resource can be wrong.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use ballast_etcd_core::{
    api::EtcdCluster,
    validate::{Desired, Environment, Storage, validate},
    versions,
};
use ballast_testkit::samples;
use rstest::rstest;

fn environment() -> Environment {
    Environment { operator_namespace: None, ..samples::environment("ballast/etcd-operator:test") }
}

/// A resource with this specification; lines of the metadata that it should have besides its name.
fn resource(name: &str, metadata: &str, spec: &str) -> EtcdCluster {
    let indent = |text: &str| text.lines().flat_map(|line| ["  ", line, "\n"]).collect::<String>();
    let text = format!(
        "apiVersion: etcd.ballast.dev/v1alpha1\nkind: EtcdCluster\nmetadata:\n  name: {name}\n  namespace: ns\n  uid: u1\n{}spec:\n{}",
        indent(metadata),
        indent(spec)
    );
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn valid(spec: &str) -> Desired {
    validate(&resource("my", "", spec), &environment()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The fields that are wrong.
fn fields(resource: &EtcdCluster) -> Vec<String> {
    let errors = validate(resource, &environment()).err().unwrap_or_default();
    assert!(errors.iter().all(|error| !error.message.is_empty()));
    errors.into_iter().map(|error| error.field).collect()
}

#[test]
fn the_minimum_is_a_version() {
    let desired = valid("version: 3.6.16");
    assert_eq!(desired.replicas, 3);
    assert_eq!(desired.image, "gcr.io/etcd-development/etcd:v3.6.16");
    assert_eq!(desired.storage, Storage::Volume { size: "8Gi".to_owned(), class: None, owned: false });
    assert_eq!(desired.restart_after.as_secs(), 300);
    assert_eq!(desired.replace_after.as_secs(), 900);
    assert_eq!(desired.grace_seconds, 30);
    assert!(desired.budget && !desired.paused);
    assert!(desired.zones.is_empty() && desired.notes.is_empty());
    let keys: Vec<&str> = desired.settings.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["heartbeat-interval", "election-timeout", "log-level", "logger"]);
}

#[rstest]
#[case("version: v3.6.16", "gcr.io/etcd-development/etcd:v3.6.16")]
#[case("version: 3.6.16\nimage: example.com/etcd", "example.com/etcd:v3.6.16")]
#[case("version: 3.6.16\nimage: etcd", "etcd:v3.6.16")]
#[case("version: 3.6.16\nimage: mirror/a__b/etcd", "mirror/a__b/etcd:v3.6.16")]
#[case("version: 3.6.16\nimage: localhost:5000/etcd", "localhost:5000/etcd:v3.6.16")]
#[case("version: 3.6.16-rc.1", "gcr.io/etcd-development/etcd:v3.6.16-rc.1")]
fn the_version_decides_and_the_image_says_where_from(#[case] spec: &str, #[case] image: &str) {
    assert_eq!(valid(spec).image, image);
}

#[rstest]
#[case("storage: {whenDeleted: Delete, size: 1Gi, storageClassName: fast}", "1Gi", Some("fast"), true)]
#[case("storage: {size: 64Mi}", "64Mi", None, false)]
fn storage(#[case] spec: &str, #[case] size: &str, #[case] class: Option<&str>, #[case] owned: bool) {
    let expected = Storage::Volume { size: size.to_owned(), class: class.map(str::to_owned), owned };
    assert_eq!(valid(&format!("version: 3.6.16\n{spec}")).storage, expected);
}

#[rstest]
#[case("replicas: 2", "no more failures than 1")]
#[case("replicas: 4", "no more failures than 3")]
#[case("storage: {ephemeral: {}}", "everything is lost")]
fn notes_are_not_errors(#[case] spec: &str, #[case] part: &str) {
    let notes = valid(&format!("version: 3.6.16\n{spec}")).notes;
    assert!(notes.iter().any(|note| note.contains(part)), "{notes:?}");
}

#[test]
fn known_faults_of_a_version_are_noted() {
    assert!(!valid("version: 3.6.8").notes.is_empty());
}

#[rstest]
#[case("ballast.dev/paused: 'true'", true)]
#[case("ballast.dev/paused: 'yes'", false)]
fn paused_by_annotation(#[case] annotation: &str, #[case] paused: bool) {
    let resource = resource("my", &format!("annotations:\n  {annotation}"), "version: 3.6.16");
    assert_eq!(validate(&resource, &environment()).unwrap().paused, paused);
}

#[test]
fn ordinals_and_names_belong_together() {
    let desired = valid("version: 3.6.16");
    assert_eq!(desired.member(7), "my-7");
    for (name, ordinal) in
        [("my-7", Some(7)), ("my-07", None), ("my-", None), ("my-x-1", None), ("other-1", None)]
    {
        assert_eq!(desired.ordinal(name), ordinal, "{name}");
    }
}

#[rstest]
#[case::replicas_zero("version: 3.6.16\nreplicas: 0", "spec.replicas")]
#[case::replicas_ten("version: 3.6.16\nreplicas: 10", "spec.replicas")]
#[case::replicas_negative("version: 3.6.16\nreplicas: -1", "spec.replicas")]
#[case::version_short("version: '3.6'", "spec.version")]
#[case::version_text("version: latest", "spec.version")]
#[case::version_newline("version: \"3.6.16\\n\"", "spec.version")]
#[case::reserved_key(
    "version: 3.6.16\netcd: {extraConfig: {initial-cluster: a=b}}",
    "spec.etcd.extraConfig[initial-cluster]"
)]
#[case::unknown_key(
    "version: 3.6.16\netcd: {extraConfig: {no-such-key: '1'}}",
    "spec.etcd.extraConfig[no-such-key]"
)]
#[case::key_of_another_minor(
    "version: 3.5.33\netcd: {extraConfig: {corrupt-check-time: 5m}}",
    "spec.etcd.extraConfig[corrupt-check-time]"
)]
#[case::newline_in_a_value(
    "version: 3.6.16\netcd: {extraConfig: {cors: \"a\\nname: b\"}}",
    "spec.etcd.extraConfig[cors]"
)]
#[case::wrong_type(
    "version: 3.6.16\netcd: {extraConfig: {max-txn-ops: many}}",
    "spec.etcd.extraConfig[max-txn-ops]"
)]
#[case::election_below_five_heartbeats(
    "version: 3.6.16\netcd: {heartbeatInterval: 300ms, electionTimeout: 1s}",
    "spec.etcd.electionTimeout"
)]
#[case::heartbeat_against_the_default_election(
    "version: 3.6.16\netcd: {heartbeatInterval: 300ms}",
    "spec.etcd.electionTimeout"
)]
#[case::election_too_long("version: 3.6.16\netcd: {electionTimeout: 51s}", "spec.etcd.electionTimeout")]
#[case::duration("version: 3.6.16\netcd: {heartbeatInterval: fast}", "spec.etcd.heartbeatInterval")]
#[case::heartbeat_below_a_millisecond(
    "version: 3.6.16\netcd: {heartbeatInterval: 500us}",
    "spec.etcd.heartbeatInterval"
)]
#[case::part_of_a_millisecond(
    "version: 3.6.16\netcd: {electionTimeout: 1500.5ms}",
    "spec.etcd.electionTimeout"
)]
#[case::revisions_beyond_etcd(
    "version: 3.6.16\netcd: {autoCompaction: {mode: Revision, retention: '9223372036854775808'}}",
    "spec.etcd.autoCompaction.retention"
)]
#[case::amount("version: 3.6.16\nresources: {limits: {memory: lots}}", "spec.resources.limits[memory]")]
#[case::request_above_limit(
    "version: 3.6.16\nresources: {requests: {cpu: 2}, limits: {cpu: 1500m}}",
    "spec.resources.requests[cpu]"
)]
#[case::compaction_mode(
    "version: 3.6.16\netcd: {autoCompaction: {mode: Revision, retention: 8h}}",
    "spec.etcd.autoCompaction.retention"
)]
#[case::storage_too_small("version: 3.6.16\nstorage: {size: 1Mi}", "spec.storage.size")]
#[case::storage_no_quantity("version: 3.6.16\nstorage: {size: big}", "spec.storage.size")]
#[case::ephemeral_too_small(
    "version: 3.6.16\nstorage: {ephemeral: {sizeLimit: 1Mi}}",
    "spec.storage.ephemeral.sizeLimit"
)]
#[case::restart_after("version: 3.6.16\nrepair: {restartAfter: soon}", "spec.repair.restartAfter")]
#[case::replace_after_zero("version: 3.6.16\nrepair: {replaceAfter: 0s}", "spec.repair.replaceAfter")]
#[case::duplicate_zone("version: 3.6.16\nzones: [a, b, a]", "spec.zones[2]")]
#[case::zone_with_a_line_break("version: 3.6.16\nzones: [\"a\\n\"]", "spec.zones[0]")]
#[case::image_with_a_tag("version: 3.6.16\nimage: example.com/etcd:v3", "spec.image")]
#[case::image_with_a_space("version: 3.6.16\nimage: example.com/etcd x", "spec.image")]
#[case::image_with_a_digest("version: 3.6.16\nimage: 'example.com/etcd@sha256:00'", "spec.image")]
#[case::image_above_the_root("version: 3.6.16\nimage: example.com/../etcd", "spec.image")]
#[case::storage_class(
    "version: 3.6.16\nstorage: {storageClassName: 'Fast One'}",
    "spec.storage.storageClassName"
)]
#[case::a_variable_of_ours(
    "version: 3.6.16\netcd: {extraConfig: {cors: 'http://${BALLAST_HOST}'}}",
    "spec.etcd.extraConfig[cors]"
)]
#[case::peer_without_a_selector(
    "version: 3.6.16\nnetworkPolicy: {clientsFrom: [{podSelector: {}}, {}]}",
    "spec.networkPolicy.clientsFrom[1]"
)]
#[case::peer_network(
    "version: 3.6.16\nnetworkPolicy: {clientsFrom: [{ipBlock: {cidr: everywhere}}]}",
    "spec.networkPolicy.clientsFrom[0].ipBlock.cidr"
)]
#[case::empty_zone("version: 3.6.16\nzones: [a, '']", "spec.zones[1]")]
#[case::protected_pod_field(
    "version: 3.6.16\npod: {template: {spec: {hostNetwork: true}}}",
    "spec.pod.template.spec.hostNetwork"
)]
#[case::etcd_environment(
    "version: 3.6.16\npod: {template: {spec: {containers: [{name: etcd, env: [{name: ETCD_NAME, value: x}]}]}}}",
    "spec.pod.template.spec.containers[etcd].env[ETCD_NAME]"
)]
#[case::command(
    "version: 3.6.16\npod: {template: {spec: {containers: [{name: etcd, command: [sh]}]}}}",
    "spec.pod.template.spec.containers[etcd].command"
)]
#[case::our_init_container(
    "version: 3.6.16\npod: {template: {spec: {initContainers: [{name: prepare, image: x}]}}}",
    "spec.pod.template.spec.initContainers[prepare]"
)]
#[case::our_volume(
    "version: 3.6.16\npod: {template: {spec: {volumes: [{name: data, emptyDir: {}}]}}}",
    "spec.pod.template.spec.volumes[data]"
)]
#[case::our_label(
    "version: 3.6.16\npod: {template: {metadata: {labels: {app.kubernetes.io/instance: x}}}}",
    "spec.pod.template.metadata.labels[app.kubernetes.io/instance]"
)]
fn invalid_fields_are_named(#[case] spec: &str, #[case] field: &str) {
    assert_eq!(fields(&resource("my", "", spec)), [field]);
}

#[test]
fn names_that_are_too_long_are_refused() {
    let name = "a".repeat(48);
    assert!(fields(&resource(&name, "", "version: 3.6.16")).is_empty());
    assert_eq!(fields(&resource(&format!("{name}a"), "", "version: 3.6.16")), ["metadata.name"]);
}

#[rstest]
#[case("voters-caught-up@2030-01-01T00:00:00Z", true)]
#[case("voters-caught-up@2030-01-01T00:00:00Z, others@2031-01-01T00:00:00Z", true)]
#[case("voters-caught-up", false)]
#[case("voters-caught-up@tomorrow", false)]
fn skip_annotations(#[case] text: &str, #[case] good: bool) {
    let metadata = format!("annotations:\n  ballast.dev/skip-predicate: '{text}'");
    let found = fields(&resource("my", &metadata, "version: 3.6.16"));
    let expected: &[&str] = if good { &[] } else { &["metadata.annotations[ballast.dev/skip-predicate]"] };
    assert_eq!(found, expected);
}

#[test]
fn all_errors_are_returned() {
    let spec = "version: latest\nreplicas: 0\nzones: [a, a]\nstorage: {size: big}\nrepair: {restartAfter: soon}\n\
                pod: {template: {spec: {hostNetwork: true}}}";
    let mut found = fields(&resource(&"a".repeat(60), "", spec));
    found.sort();
    assert_eq!(
        found,
        [
            "metadata.name",
            "spec.pod.template.spec.hostNetwork",
            "spec.repair.restartAfter",
            "spec.replicas",
            "spec.storage.size",
            "spec.version",
            "spec.zones[1]"
        ]
    );
}

#[test]
fn an_unparsable_version_does_not_hide_errors_in_settings() {
    let found = fields(&resource(
        "my",
        "",
        "version: latest\netcd: {extraConfig: {initial-cluster: x}, electionTimeout: 100ms}",
    ));
    assert!(found.contains(&"spec.version".to_owned()), "{found:?}");
    assert!(found.contains(&"spec.etcd.electionTimeout".to_owned()), "{found:?}");
    assert!(found.contains(&"spec.etcd.extraConfig[initial-cluster]".to_owned()), "{found:?}");
}

#[test]
fn an_unsupported_version_is_not_reported_as_unknown_keys() {
    let desired = valid("version: 3.9.1\netcd: {extraConfig: {max-txn-ops: '256'}}");
    assert_eq!(desired.version.minor, 9);
}

/// The table that people read is the table that decides.
#[test]
fn the_support_matrix_is_the_one_in_the_documentation() {
    let page = include_str!("../../../../docs/support.md");
    for row in versions::SUPPORTED {
        let upgrade = row.upgrade_from_patch.map_or_else(
            || "no".to_owned(),
            |patch| format!("from {}.{}.{patch} and newer", row.minor.major, row.minor.minor - 1),
        );
        let faults: Vec<String> =
            row.known_bad.iter().map(|(patch, _)| format!("{}.{patch}", row.minor)).collect();
        let faults = if faults.is_empty() { "none".to_owned() } else { faults.join(", ") };
        let line = format!("| {0} | {0}.{1} | {upgrade} | {faults} |", row.minor, row.minimum_patch);
        assert!(page.contains(&line), "docs/support.md lacks the line\n{line}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| 3.")).count();
    assert_eq!(rows, versions::SUPPORTED.len(), "docs/support.md has rows that the operator does not know");
}
