//! Every place of an `EtcdCluster` that can hold any text, found by walking the schema of the resource type.

use std::{collections::BTreeSet, sync::LazyLock};

use ballast_etcd_core::api::EtcdCluster;
use kube::CustomResourceExt;
use serde_json::Value;

/// Every text of the resource type, with something valid in it.
pub const BASE: &str = r#"
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

pub const EPHEMERAL: &str = r"
apiVersion: etcd.ballast.dev/v1alpha1
kind: EtcdCluster
metadata: {name: my, namespace: ns, uid: 0a1b2c3d-uid, generation: 1}
spec:
  replicas: 1
  version: 3.6.16
  storage: {ephemeral: {sizeLimit: 2Gi}}
";

pub static BASES: LazyLock<[Value; 2]> =
    LazyLock::new(|| [BASE, EPHEMERAL].map(|text| serde_yaml::from_str(text).unwrap()));
pub static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let definition = serde_json::to_value(EtcdCluster::crd()).unwrap();
    definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap().clone()
});

/// One place of a resource that can hold any text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The value at this pointer.
    Value(String),
    /// The name of a key of the map at this pointer.
    Key(String),
}

/// All places below `schema`, at those of `pointers` that the bases have; `path` is for people.
pub fn places(schema: &Value, path: &str, pointers: &[String], found: &mut BTreeSet<Place>) {
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

pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The places of a value whose schema says nothing.
pub fn open(value: Option<&Value>, pointer: &str, found: &mut BTreeSet<Place>) {
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

pub static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let mut found = BTreeSet::new();
    places(&SCHEMA, "spec", &["/spec".to_owned()], &mut found);
    open(BASES[0].pointer("/metadata/annotations"), "/metadata/annotations", &mut found);
    found.into_iter().collect()
});

/// The base with `text` in `place`.
pub fn with(place: &Place, text: &str) -> Value {
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
