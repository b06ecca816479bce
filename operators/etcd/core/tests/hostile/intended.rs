//! What is built of a resource is what is meant to be.

use std::sync::LazyLock;

use ballast_core::{label, name, object::Object};
use ballast_etcd_core::{build, validate::Desired};
use serde_json::{Value, json};

use crate::{accepted, objects, places::BASES};

/// What the bases are, by number.
pub static ESSENCES: LazyLock<[Value; 2]> =
    LazyLock::new(|| [0, 1].map(|number| essence(&objects(&accepted(&BASES[number])))));

/// What a pod does and is known by: commands of ours, names of variables, ports, and the image's repository.
pub fn essence(objects: &[Object]) -> Value {
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
pub fn configuration_is_as_intended(desired: &Desired) {
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
pub fn objects_are_in_place(objects: &[Object]) {
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

pub fn labels_are_valid(value: &Value) {
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
