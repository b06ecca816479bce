#![allow(clippy::unwrap_used, clippy::panic)]

use rstest::rstest;
use serde_json::json;

use super::*;

fn parse(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

#[rstest]
#[case::extra_fields("a: 1", "{a: 1, b: 2}")]
#[case::ints_and_floats("a: 1", "a: 1.0")]
#[case::int_or_string("{targetPort: 80}", "{targetPort: '80'}")]
#[case::null("a: null", "{}")]
#[case::empty_map("emptyDir: {}", "{}")]
#[case::empty_map_with_defaults("emptyDir: {}", "emptyDir: {medium: Memory}")]
#[case::empty_list("tolerations: []", "{}")]
#[case::empty_keyed_list("env: []", "env: [{name: X}]")]
#[case::nested_empty("securityContext: {capabilities: {add: []}}", "{}")]
#[case::empty_text("env: [{name: X, value: ''}]", "env: [{name: X}]")]
#[case::dropped_false("hostNetwork: false", "{}")]
#[case::dropped_zero("initialDelaySeconds: 0", "{}")]
#[case::defaulted_zero("periodSeconds: 0", "periodSeconds: 10")]
#[case::status("{status: {x: 1}}", "{status: {x: 2}}")]
#[case::managed_fields("metadata: {managedFields: [{a: 1}]}", "metadata: {}")]
#[case::quantities(
    "resources: {limits: {memory: 1024Mi, cpu: 1000m}}",
    "resources: {limits: {memory: 1Gi, cpu: '1'}}"
)]
#[case::quantity_number("resources: {limits: {cpu: 1}}", "resources: {limits: {cpu: 1000m}}")]
#[case::size_limit("sizeLimit: 1024Mi", "sizeLimit: 1Gi")]
#[case::storage("resources: {requests: {storage: '1000'}}", "resources: {requests: {storage: 1k}}")]
#[case::containers_by_name(
    "containers: [{name: a, image: x}]",
    "containers: [{name: istio}, {image: x, name: a}]"
)]
#[case::volumes_by_name(
    "volumes: [{name: v, emptyDir: {}}]",
    "volumes: [{name: w}, {name: v, emptyDir: {}}]"
)]
#[case::ports_by_name(
    "ports: [{name: c, containerPort: 1}]",
    "ports: [{name: d}, {name: c, containerPort: 1, protocol: TCP}]"
)]
#[case::ports_by_number(
    "ports: [{containerPort: 1}]",
    "ports: [{containerPort: 1, protocol: UDP}, {containerPort: 1, protocol: TCP}]"
)]
#[case::service_ports(
    "ports: [{port: 1, protocol: UDP, nodePort: 5}]",
    "ports: [{port: 1, protocol: TCP}, {port: 1, protocol: UDP, nodePort: 5}]"
)]
#[case::mounts_by_path(
    "volumeMounts: [{mountPath: /a, name: v}]",
    "volumeMounts: [{mountPath: /b, name: v}, {mountPath: /a, name: v}]"
)]
#[case::owners_by_uid(
    "ownerReferences: [{uid: u, name: n}]",
    "ownerReferences: [{uid: t}, {uid: u, name: n, controller: true}]"
)]
#[case::conditions_by_type(
    "conditions: [{type: A, status: x}]",
    "conditions: [{type: B}, {type: A, status: x}]"
)]
#[case::finalizers_as_set("finalizers: [a]", "finalizers: [b, a]")]
#[case::positional(
    "tolerations: [{key: a}, {key: b}]",
    "tolerations: [{key: a, operator: Exists}, {key: b}]"
)]
fn same(#[case] sent: &str, #[case] live: &str) {
    assert_eq!(first(&parse(sent), &parse(live)), None);
}

#[rstest]
#[case("a: 1", "a: 2", "a")]
#[case("a: 9007199254740993", "a: 9007199254740992", "a")]
#[case("a: 1", "{}", "a")]
#[case("a: {b: {c: x}}", "a: 1", "a.b.c")]
#[case("a: {b: {c: x}}", "{}", "a.b.c")]
#[case("automountServiceAccountToken: false", "{}", "automountServiceAccountToken")]
#[case("a: ''", "a: x", "a")]
#[case("replicas: 0", "{}", "replicas")]
#[case("replicas: 0", "replicas: 1", "replicas")]
#[case("b: true", "b: 'true'", "b")]
#[case("metadata: {labels: {a.b/c: x}}", "metadata: {labels: {a.b/c: y}}", "metadata.labels[a.b/c]")]
#[case("data: {k: ''}", "data: {}", "data.k")]
#[case("data: {limits: '1000m'}", "data: {limits: '1'}", "data.limits")]
#[case("image: 1000m", "image: '1'", "image")]
#[case("containers: [{name: a, image: x}]", "containers: [{name: a, image: y}]", "containers[a].image")]
#[case("containers: [{name: a}]", "containers: [{name: b}]", "containers[a]")]
#[case("env: [{name: X, value: ''}]", "env: []", "env[X]")]
#[case("selector: {a: x}", "selector: {a: x, b: y}", "selector.b")]
#[case("selector: {matchLabels: {a: x}}", "selector: {matchLabels: {a: x, b: y}}", "selector.matchLabels.b")]
#[case("command: [a, b]", "command: [a, c]", "command[1]")]
#[case("command: [a]", "command: [a, b]", "command")]
#[case("tolerations: []", "tolerations: [{key: a}]", "tolerations")]
#[case("tolerations: [{key: a}, {key: b}]", "tolerations: [{key: b}, {key: a}]", "tolerations[0].key")]
#[case(
    "ports: [{name: c, containerPort: 1}]",
    "ports: [{name: c, containerPort: 2}]",
    "ports[c].containerPort"
)]
#[case("ports: [{containerPort: 1}]", "ports: [{containerPort: 1, protocol: UDP}]", "ports[1/TCP]")]
#[case("volumeMounts: [{mountPath: /a}]", "volumeMounts: [{mountPath: /b}]", "volumeMounts[/a]")]
#[case("resources: {limits: {memory: 1Gi}}", "resources: {limits: {memory: 1G}}", "resources.limits.memory")]
fn different(#[case] sent: &str, #[case] live: &str, #[case] path: &str) {
    assert_eq!(first(&parse(sent), &parse(live)).as_deref(), Some(path));
}

#[test]
fn the_first_is_the_same_every_time() {
    let sent = json!({"z": 1, "b": 1, "a": {"d": 1, "c": 1}});
    assert_eq!(first(&sent, &json!({})).as_deref(), Some("a.c"));
}
