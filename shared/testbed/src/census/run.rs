//! What one run left behind, with everything masked that differs from run to run. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::mask;

/// How often an object came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often it was created.
    pub created: usize,
    /// How often it was deleted.
    pub deleted: usize,
}

/// What happened in a namespace, and what is there at the end. Keys are kind and masked name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Creations and deletions.
    pub counts: BTreeMap<String, Count>,
    /// The objects at the end, masked; those of the same masked name in a fixed order.
    pub objects: BTreeMap<String, Vec<Value>>,
}

/// Metadata that says nothing about what an operator wanted.
const UNTOLD: [&str; 5] =
    ["uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp"];

/// Kind and masked name.
pub(super) fn key(kind: &str, name: &str, namespace: &str) -> String {
    mask::text(&format!("{kind}/{name}"), namespace)
}

/// An object without what differs from run to run.
pub(super) fn masked(mut object: Value, namespace: &str) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !UNTOLD.contains(&field.as_str()));
    }
    walk(object, namespace)
}

fn walk(value: Value, namespace: &str) -> Value {
    match value {
        Value::String(text) => Value::String(mask::text(&text, namespace)),
        Value::Array(items) => items.into_iter().map(|item| walk(item, namespace)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, inner)| (mask::text(&key, namespace), walk(inner, namespace)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_masked_in_names_values_and_owners() {
        let object = json!({"metadata": {
            "name": "data-0a1b2c3d", "namespace": "t-1", "uid": "0a1b2c3d-1111-2222-3333-444455556666",
            "resourceVersion": "7", "labels": {"app": "x"},
            "ownerReferences": [{"name": "my", "uid": "0a1b2c3d-1111-2222-3333-444455556666"}]},
            "status": {"since": "2026-11-30T10:00:00Z", "host": "my-0.nodes.t-1.svc"}});
        assert_eq!(
            masked(object, "t-1"),
            json!({"metadata": {"name": "data-*", "namespace": "<namespace>", "labels": {"app": "x"},
                "ownerReferences": [{"name": "my", "uid": "*"}]},
                "status": {"since": "<time>", "host": "my-0.nodes.<namespace>.svc"}})
        );
    }
}
