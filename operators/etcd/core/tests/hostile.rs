//! Resources that mean harm: every text of the resource type is tried, found by walking its schema, so that a new field
//! is covered when it comes.
//!
//! Either a resource is refused with the field's path, or what is built of it holds exactly what it would hold otherwise.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{
    collections::BTreeSet,
    sync::LazyLock,
    time::{Duration, Instant},
};

use ballast_core::{
    label, name,
    object::{Children, Object},
};
use ballast_etcd_core::{
    api::EtcdCluster,
    build,
    observed::{self, Answers},
    plan, status,
    validate::{Desired, Environment, validate},
};
use jiff::Timestamp;
use kube::CustomResourceExt;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

/// Every text of the resource type, with something valid in it.
const BASE: &str = r#"
apiVersion: etcd.ballast.dev/v1alpha1
kind: EtcdCluster
metadata:
  name: my
  namespace: ns
  uid: 0a1b2c3d-uid
  generation: 1
  annotations:
    ballast.dev/paused: "false"
    ballast.dev/restart: "2026-11-30T00:00:00Z"
    ballast.dev/replace: "1"
    ballast.dev/adopt-volumes: old
    ballast.dev/skip-predicate: voters-caught-up@2030-01-01T12:00:00Z
spec:
  replicas: 1
  version: 3.6.16
  image: example.com/etcd
  zones: [a]
  storage: {size: 2Gi, storageClassName: fast, whenDeleted: Retain}
  etcd:
    autoCompaction: {mode: Periodic, retention: 8h}
    heartbeatInterval: 100ms
    electionTimeout: 1s
    logLevel: info
    extraConfig: {cors: "*", log-outputs: stderr, auth-token: simple, host-whitelist: "*", max-txn-ops: "256"}
  repair: {restartAfter: 5m, replaceAfter: 15m}
  resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}
  networkPolicy:
    clientsFrom:
      - podSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}
        namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}
      - ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}
  pod:
    template:
      metadata: {labels: {team: a}, annotations: {note: a}}
      spec:
        priorityClassName: high
        serviceAccountName: app
        nodeSelector: {disk: ssd}
        tolerations: [{key: dedicated, operator: Equal, value: etcd, effect: NoSchedule}]
        containers:
          - name: etcd
            env: [{name: TZ, value: UTC}]
            volumeMounts: [{name: extra, mountPath: /extra}]
          - {name: side, image: "side:1", command: [run], args: [a], env: [{name: A, value: b}]}
        volumes: [{name: extra, configMap: {name: extra}}]
"#;

const EPHEMERAL: &str = r#"
apiVersion: etcd.ballast.dev/v1alpha1
kind: EtcdCluster
metadata: {name: my, namespace: ns, uid: 0a1b2c3d-uid, generation: 1}
spec:
  replicas: 1
  version: 3.6.16
  storage: {ephemeral: {sizeLimit: 2Gi}}
"#;

static BASES: LazyLock<[Value; 2]> =
    LazyLock::new(|| [BASE, EPHEMERAL].map(|text| serde_yaml::from_str(text).unwrap()));
static ESSENCES: LazyLock<[Value; 2]> =
    LazyLock::new(|| [0, 1].map(|number| essence(&objects(&accepted(&BASES[number])))));
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let definition = serde_json::to_value(EtcdCluster::crd()).unwrap();
    definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap().clone()
});

/// One place of a resource that can hold any text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The value at this pointer.
    Value(String),
    /// The name of a key of the map at this pointer.
    Key(String),
}

/// All places below `schema`, at those of `pointers` that the bases have; `path` is for people.
fn places(schema: &Value, path: &str, pointers: &[String], found: &mut BTreeSet<Place>) {
    let present = |inner: fn(&Value) -> Vec<String>| -> Vec<String> {
        let here = |pointer: &String| {
            BASES.iter().filter_map(|base| base.pointer(pointer)).flat_map(inner).collect()
        };
        let names = |pointer: &String| -> BTreeSet<String> { here(pointer) };
        let each = pointers
            .iter()
            .flat_map(|pointer| names(pointer).into_iter().map(move |name| format!("{pointer}/{name}")));
        each.collect()
    };
    let tried = || assert!(!pointers.is_empty(), "add {path} to BASE: every text has to be tried");
    match schema.get("type").and_then(Value::as_str) {
        Some("string") if schema.get("enum").is_some() => {}
        None | Some("string") => {
            tried();
            found.extend(pointers.iter().cloned().map(Place::Value));
        }
        Some("array") => {
            let items = present(|list| {
                (0..list.as_array().map_or(0, Vec::len)).map(|index| index.to_string()).collect()
            });
            places(&schema["items"], &format!("{path}[]"), &items, found);
        }
        Some("object") => {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let all = pointers.iter().map(|pointer| format!("{pointer}/{name}"));
                let all: Vec<_> =
                    all.filter(|at| BASES.iter().any(|base| base.pointer(at).is_some())).collect();
                places(field, &format!("{path}.{name}"), &all, found);
            }
            if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
                tried();
                found.extend(pointers.iter().cloned().map(Place::Key));
                let keys = present(|map| {
                    map.as_object().into_iter().flatten().map(|(key, _)| escaped(key)).collect()
                });
                places(values, &format!("{path}.*"), &keys, found);
            }
            if schema.get("x-kubernetes-preserve-unknown-fields").is_some() {
                tried();
                for pointer in pointers {
                    BASES.iter().for_each(|base| open(base.pointer(pointer), pointer, found));
                }
            }
        }
        Some(_) => {}
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The places of a value whose schema says nothing.
fn open(value: Option<&Value>, pointer: &str, found: &mut BTreeSet<Place>) {
    match value {
        Some(Value::String(_)) => {
            found.insert(Place::Value(pointer.to_owned()));
        }
        Some(Value::Array(list)) => {
            for (index, item) in list.iter().enumerate() {
                open(Some(item), &format!("{pointer}/{index}"), found);
            }
        }
        Some(Value::Object(map)) => {
            found.insert(Place::Key(pointer.to_owned()));
            for (key, item) in map {
                open(Some(item), &format!("{pointer}/{}", escaped(key)), found);
            }
        }
        _ => {}
    }
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let mut found = BTreeSet::new();
    places(&SCHEMA, "spec", &["/spec".to_owned()], &mut found);
    open(BASES[0].pointer("/metadata/annotations"), "/metadata/annotations", &mut found);
    found.into_iter().collect()
});

/// The base with `text` in `place`.
fn with(place: &Place, text: &str) -> Value {
    let (Place::Value(pointer) | Place::Key(pointer)) = place;
    let base = BASES.iter().find(|base| base.pointer(pointer).is_some());
    let mut resource =
        base.unwrap_or_else(|| panic!("add {pointer} to BASE: every field has to be tried")).clone();
    match (place, resource.pointer_mut(pointer).unwrap()) {
        (Place::Value(_), value) => *value = text.into(),
        (Place::Key(_), Value::Object(map)) => {
            let value = map.values().next().cloned().unwrap_or_else(|| "x".into());
            map.insert(text.to_owned(), value);
        }
        (Place::Key(_), other) => panic!("{pointer}: {other}"),
    }
    resource
}

fn environment() -> Environment {
    Environment {
        cluster_domain: "cluster.local".to_owned(),
        operator_image: "ballast/etcd-operator:test".to_owned(),
        operator_pull_policy: None,
        operator_namespace: Some("ballast-system".to_owned()),
    }
}

/// `None`: not even the type, so that the API server refuses it.
fn resource(value: Value) -> Option<EtcdCluster> {
    serde_json::from_value(value).ok()
}

/// Everything that would be applied, also by the first plan.
fn objects(desired: &Desired) -> Vec<Object> {
    let observed = observed::observe(desired, None, Children::default(), Answers::default());
    let mut objects = build::everything(desired);
    objects.extend(plan::plan(desired, &observed, Timestamp::UNIX_EPOCH).apply);
    objects
}

fn accepted(base: &Value) -> Desired {
    validate(&resource(base.clone()).unwrap(), &environment()).unwrap()
}

/// What a pod does and is known by: commands of ours, names of variables, ports, and the image's repository.
fn essence(objects: &[Object]) -> Value {
    let own = |container: &Value| {
        let name = container["name"].as_str() == Some("etcd");
        // What configures etcd or our own programs; other variables are the user's.
        let ours =
            |name: &&Value| ["ETCD", "BALLAST"].iter().any(|own| name.as_str().unwrap().starts_with(own));
        let env: Vec<_> =
            container["env"].as_array().into_iter().flatten().map(|env| &env["name"]).filter(ours).collect();
        // The zone and the uid of adopted volumes are the user's.
        let words = |field: &str| -> Vec<Value> {
            let words = container[field].as_array().cloned().unwrap_or_default();
            words.into_iter().filter(|word| !word.as_str().unwrap().starts_with("--zone=")).collect()
        };
        json!([
            container["name"],
            words("command"),
            words("args"),
            env,
            name.then(|| container["ports"].clone()),
            container["securityContext"]
        ])
    };
    let sets = objects.iter().filter_map(|object| match object {
        Object::StatefulSet(set) => Some(serde_json::to_value(set).unwrap()),
        _ => None,
    });
    let pods = sets.map(|set| {
        let spec = &set["spec"]["template"]["spec"];
        let all = |field: &str| -> Vec<Value> {
            let containers = spec[field].as_array().into_iter().flatten();
            containers
                .filter(|container| container["name"] == "etcd" || container["name"] == "prepare")
                .map(own)
                .collect()
        };
        json!([
            set["metadata"]["name"],
            set["spec"]["selector"],
            all("containers"),
            all("initContainers"),
            spec["hostNetwork"],
            spec["hostPID"],
            spec["automountServiceAccountToken"],
            spec["securityContext"]
        ])
    });
    pods.collect()
}

/// The configuration file, read back: its keys and values are exactly the intended ones.
fn configuration_is_as_intended(desired: &Desired) {
    let map = build::config_map(desired);
    let data = map.data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), [build::CONFIG_FILE]);
    let text = &data[build::CONFIG_FILE];
    let parsed: serde_json::Map<String, Value> = serde_yaml::from_str(text).unwrap();
    let mut intended = json!({
        "name": "${BALLAST_MEMBER}",
        "data-dir": "/data/etcd",
        "listen-peer-urls": "http://0.0.0.0:2380",
        "listen-client-urls": "http://0.0.0.0:2379",
        "initial-advertise-peer-urls": "http://${BALLAST_HOST}:2380",
        "advertise-client-urls": "http://${BALLAST_HOST}:2379",
        "initial-cluster-token": "0a1b2c3d-uid",
        "strict-reconfig-check": true,
    });
    for (key, value) in &desired.settings {
        assert!(intended.get(key).is_none(), "{key} overrides what the operator sets");
        intended[key] = value.clone();
    }
    assert_eq!(Value::Object(parsed), intended, "{text}");
    assert_eq!(text.matches("${BALLAST_").count(), 3, "variables that the operator did not write: {text}");
    // One line for each key, whatever reads it.
    let lines = text.lines().filter(|line| !line.starts_with([' ', '-']) && !line.is_empty()).count();
    assert_eq!(lines, intended.as_object().unwrap().len(), "{text}");
    assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text:?}");
}

/// Names, namespaces, labels and owners are what Kubernetes takes, and the resource's own.
fn objects_are_in_place(objects: &[Object]) {
    for object in objects {
        let metadata = object.metadata();
        assert_eq!(metadata.namespace.as_deref(), Some("ns"), "{object:?}");
        assert!(name::is_subdomain(object.name()), "{object:?}");
        assert!(
            ["my", "data-my"].iter().any(|own| object
                .name()
                .strip_prefix(own)
                .is_some_and(|rest| { rest.is_empty() || rest.starts_with('-') })),
            "{object:?}"
        );
        for owner in metadata.owner_references.iter().flatten() {
            assert_eq!((owner.name.as_str(), owner.uid.as_str()), ("my", "0a1b2c3d-uid"));
        }
        labels_are_valid(&object.to_json());
    }
}

fn labels_are_valid(value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if matches!(name.as_str(), "labels" | "matchLabels" | "nodeSelector" | "selector")
                    && field.as_object().is_some_and(|map| map.values().all(Value::is_string))
                {
                    for (key, value) in field.as_object().unwrap() {
                        label::check_key(key).unwrap();
                        label::check_value(value.as_str().unwrap()).unwrap();
                    }
                } else {
                    labels_are_valid(field);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(labels_are_valid),
        _ => {}
    }
}

fn withstands(place: &Place, text: &str) {
    let Some(resource) = resource(with(place, text)) else { return };
    let desired = match validate(&resource, &environment()) {
        Ok(desired) => desired,
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(error.field.starts_with("spec.") || error.field.starts_with("metadata."), "{error}");
                let shown = error.to_string();
                assert!(!shown.contains(|c: char| c.is_control() || c == '\u{2028}'), "{shown:?}");
                assert!(!error.message.is_empty() && shown.chars().count() < 1100, "{shown}");
            }
            return;
        }
    };
    configuration_is_as_intended(&desired);
    let objects = objects(&desired);
    objects_are_in_place(&objects);
    let (Place::Value(pointer) | Place::Key(pointer)) = place;
    let base = BASES.iter().position(|base| base.pointer(pointer).is_some()).unwrap();
    assert_eq!(essence(&objects), ESSENCES[base], "{place:?}: {text:?}");
}

/// What configuration files, shells, templates, DNS and URLs take for more than text.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "\n",
    "a\nforce-new-cluster: true",
    "a\r\nname: b",
    "a\0b",
    "a\tb",
    "\u{2028}name: b",
    "a\u{85}name: b",
    "\u{feff}a",
    "\u{202e}a",
    "${BALLAST_HOST}",
    "${BALLAST_X}",
    "${BALLAST_",
    "${HOME}",
    "$(cat /etc/passwd)",
    "$(ETCD_NAME)",
    "`id`",
    "a: b",
    "- a",
    "{a: b}",
    "[a]",
    "\"a\" # b",
    "'a'",
    "a\"\nb: \"c",
    "&a *a !!python/object",
    "%YAML 1.1",
    "---",
    "yes",
    "0777",
    "1e3",
    "null",
    "~",
    "../../etc/passwd",
    "/etc/shadow",
    "a/../../b",
    "http://169.254.169.254/latest/meta-data",
    "file:///etc/passwd",
    "other-ns/name",
    "kube-system",
    "a,b=c",
    "--force-new-cluster",
    "a --data-dir=/x",
    "🦀",
    "ä",
    "ETCD_NAME",
    "ballast.dev/cluster-uid",
    "app.kubernetes.io/instance",
    "force-new-cluster",
    "initial-cluster",
    "kubernetes.io/metadata.name",
    "18446744073709551616",
    "-1",
    "1e308",
    "9223372036854775807h",
];

#[test]
fn the_bases_are_valid_and_have_every_text_of_the_schema() {
    for base in BASES.iter() {
        accepted(base);
    }
    assert!(PLACES.len() > 50, "{PLACES:?}");
    assert!(PLACES.contains(&Place::Value("/spec/storage/ephemeral/sizeLimit".to_owned())));
    assert!(PLACES.contains(&Place::Key("/spec/etcd/extraConfig".to_owned())));
}

#[test]
fn every_text_of_the_resource_withstands_every_known_trick() {
    for place in PLACES.iter() {
        for text in HOSTILE {
            withstands(place, text);
            // Also behind something that is valid by itself.
            let (Place::Value(pointer) | Place::Key(pointer)) = place;
            if let (Place::Value(_), Some(valid)) =
                (place, BASES.iter().find_map(|base| base.pointer(pointer)).and_then(Value::as_str))
            {
                withstands(place, &format!("{valid}{text}"));
            }
        }
    }
}

proptest! {
    #[test]
    fn every_text_of_the_resource_withstands_any_text(
        place in proptest::sample::select(PLACES.clone()),
        text in prop_oneof![
            any::<String>(),
            "[a-z0-9:/${}()`'\"\\\\\n\r\t\u{0}\u{85}\u{2028}\u{2029} ,=#&*!|>%@-]{0,40}",
        ],
    ) {
        withstands(&place, &text);
    }
}

/// References lead to the resource's own namespace: no field can name another one.
#[test]
fn no_field_names_a_namespace() {
    fn names<'s>(schema: &'s Value, path: &str, found: &mut Vec<(String, &'s str)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            found.push((format!("{path}.{name}"), name));
            names(field, &format!("{path}.{name}"), found);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(field) = schema.get(inner) {
                names(field, path, found);
            }
        }
    }
    let mut found = vec![];
    names(&SCHEMA, "spec", &mut found);
    assert!(found.len() > 30, "{found:?}");
    // Selecting who may connect reads nothing and writes nothing there.
    let wrong: Vec<_> = found
        .iter()
        .filter(|(_, name)| name.to_lowercase().contains("namespace") && *name != "namespaceSelector")
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[rstest]
#[case::host_path("volumes: [{name: x, hostPath: {path: /}}]")]
#[case::nfs("volumes: [{name: x, nfs: {server: a, path: /}}]")]
#[case::host_network("hostNetwork: true")]
#[case::host_pid("hostPID: true")]
#[case::host_ipc("hostIPC: true")]
#[case::host_users("hostUsers: true")]
#[case::shared_processes("shareProcessNamespace: true")]
#[case::token("automountServiceAccountToken: true")]
#[case::node("nodeName: control-plane")]
#[case::root("securityContext: {runAsUser: 0}")]
#[case::not_non_root("securityContext: {runAsNonRoot: false}")]
#[case::sysctls("securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}")]
#[case::unconfined("securityContext: {seccompProfile: {type: Unconfined}}")]
#[case::privileged("containers: [{name: x, image: x, securityContext: {privileged: true}}]")]
#[case::escalation("containers: [{name: x, image: x, securityContext: {allowPrivilegeEscalation: true}}]")]
#[case::capability("containers: [{name: x, image: x, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]")]
#[case::proc_mount("containers: [{name: x, image: x, securityContext: {procMount: Unmasked}}]")]
#[case::container_root("containers: [{name: x, image: x, securityContext: {runAsUser: 0}}]")]
#[case::host_port("containers: [{name: x, image: x, ports: [{containerPort: 1, hostPort: 1}]}]")]
#[case::init_privileged("initContainers: [{name: x, image: x, securityContext: {privileged: true}}]")]
#[case::own_image("containers: [{name: etcd, image: evil}]")]
#[case::own_command("containers: [{name: etcd, command: [sh]}]")]
#[case::own_environment("containers: [{name: etcd, envFrom: [{secretRef: {name: x}}]}]")]
#[case::own_variable("containers: [{name: etcd, env: [{name: ETCD_FORCE_NEW_CLUSTER, value: 'true'}]}]")]
#[case::over_the_data("containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /data/../data}]}]")]
#[case::the_data_itself("containers: [{name: x, image: x, volumeMounts: [{name: data, mountPath: /d}]}]")]
fn a_pod_template_gains_nothing_on_the_node(#[case] spec: &str) {
    let mut base = BASES[1].clone();
    let spec: Value = serde_yaml::from_str(spec).unwrap();
    base["spec"]["pod"] = json!({"template": {"spec": spec}});
    let errors = validate(&resource(base).unwrap(), &environment()).unwrap_err();
    assert!(errors.iter().all(|error| error.field.starts_with("spec.pod.template.spec.")), "{errors:?}");
}

/// Keys of etcd's configuration that name files, addresses or other clusters, of both minor versions.
#[rstest]
#[case("3.5.33")]
#[case("3.6.16")]
fn no_key_of_the_configuration_leads_out_of_the_pod(
    #[case] version: &str,
    #[values(
        "data-dir",
        "wal-dir",
        "listen-peer-urls",
        "listen-client-urls",
        "listen-client-http-urls",
        "listen-metrics-urls",
        "advertise-client-urls",
        "initial-advertise-peer-urls",
        "initial-cluster",
        "initial-cluster-token",
        "discovery",
        "discovery-srv",
        "discovery-proxy",
        "discovery-config",
        "discovery-token",
        "discovery-endpoints",
        "proxy",
        "force-new-cluster",
        "unsafe-no-fsync",
        "cert-file",
        "key-file",
        "trusted-ca-file",
        "client-transport-security",
        "peer-transport-security",
        "experimental-enable-distributed-tracing",
        "experimental-distributed-tracing-address",
        "distributed-tracing-address",
        "enable-distributed-tracing",
        "log-rotation-config-json",
        "enable-log-rotation",
        "name",
        "socket-reuse-port",
        "tls-min-version"
    )]
    key: &str,
) {
    let mut base = BASES[1].clone();
    base["spec"]["version"] = version.into();
    base["spec"]["etcd"] = json!({"extraConfig": {key: "true"}});
    let errors = validate(&resource(base).unwrap(), &environment()).unwrap_err();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, [format!("spec.etcd.extraConfig[{key}]")]);
}

#[rstest]
#[case("/data/etcd/member/wal/0.wal")]
#[case("stderr,/tmp/x")]
#[case("systemd/journal")]
#[case("")]
fn etcd_logs_to_its_streams_only(#[case] outputs: &str) {
    let place = Place::Value("/spec/etcd/extraConfig/log-outputs".to_owned());
    assert!(validate(&resource(with(&place, outputs)).unwrap(), &environment()).is_err());
}

/// A pass up to its status, which is returned.
fn pass(resource: &EtcdCluster, error: &str) -> Value {
    let status = match validate(resource, &environment()) {
        Ok(desired) => {
            let observed = observed::observe(&desired, None, Children::default(), Answers::default());
            let plan = plan::plan(&desired, &observed, Timestamp::UNIX_EPOCH);
            build::everything(&desired);
            status::planned(resource, &desired, &observed, &plan, Some(error), Timestamp::UNIX_EPOCH)
        }
        Err(errors) => status::invalid(resource, &errors, Timestamp::UNIX_EPOCH),
    };
    serde_json::to_value(status).unwrap()
}

#[test]
fn long_texts_make_no_long_status() {
    for place in PLACES.iter() {
        for text in ["a".repeat(40_000), "\u{1b}".repeat(20_000), "a,".repeat(20_000)] {
            let Some(resource) = resource(with(place, &text)) else { continue };
            let size = pass(&resource, &text).to_string().len();
            assert!(size < 32 << 10, "{place:?}: the status has {size} bytes");
        }
    }
}

/// As large as the API server takes them: it stores at most 1.5 MiB.
#[rstest]
#[case::annotation(Place::Value("/spec/pod/template/metadata/annotations/note".to_owned()))]
#[case::argument(Place::Value("/spec/pod/template/spec/containers/1/args/0".to_owned()))]
#[case::setting(Place::Value("/spec/etcd/extraConfig/cors".to_owned()))]
#[case::setting_key(Place::Key("/spec/etcd/extraConfig".to_owned()))]
#[case::zone(Place::Value("/spec/zones/0".to_owned()))]
#[case::version(Place::Value("/spec/version".to_owned()))]
#[case::size(Place::Value("/spec/storage/size".to_owned()))]
#[case::duration(Place::Value("/spec/repair/restartAfter".to_owned()))]
fn the_largest_resources_cost_little(#[case] place: Place) {
    assert!(PLACES.contains(&place), "{place:?}");
    for text in ["a".repeat(1 << 20), "1".repeat(1 << 20), "1h".repeat(1 << 19)] {
        let resource = resource(with(&place, &text)).unwrap();
        let start = Instant::now();
        pass(&resource, "");
        // Far less than a second is what it takes; an unoptimised build on a busy machine gets ten.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

/// Nothing secret is made yet. What is given to applications says where to connect, and no object but that one repeats it
/// as a Secret: this test is to be extended when passwords or keys come.
#[test]
fn nothing_secret_stands_where_it_can_be_read() {
    for base in BASES.iter() {
        for object in objects(&accepted(base)) {
            let text = object.to_json().to_string();
            match &object {
                Object::Secret(secret) => {
                    let keys: Vec<_> =
                        secret.data.iter().chain([]).flatten().map(|(key, _)| key.clone()).collect();
                    let strings = secret.string_data.iter().flatten().map(|(key, _)| key.clone());
                    let mut keys: Vec<_> = keys.into_iter().chain(strings).collect();
                    keys.sort();
                    assert_eq!(keys, ["endpoints", "host", "port", "provider", "type", "uri"]);
                }
                _ => assert!(!text.contains("secretKeyRef") && !text.contains("secretRef"), "{text}"),
            }
        }
    }
}
