//! Schemas of fields whose type is Kubernetes' own: shorter than what would be made of the type.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

/// Anything: the operator looks at it itself.
pub(super) fn template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Peers of a NetworkPolicy.
pub(super) fn peers(_: &mut SchemaGenerator) -> Schema {
    let texts = json!({"type": "array", "maxItems": 64, "items": {"type": "string"}});
    let selector = |whose: &str| {
        json!({
            "type": "object",
            "description": format!("Labels of the {whose}; {{}} selects all."),
            "properties": {
                "matchLabels": {"type": "object", "maxProperties": 64, "additionalProperties": {"type": "string"}},
                "matchExpressions": {"type": "array", "maxItems": 64, "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {"key": {"type": "string"}, "operator": {"type": "string"}, "values": texts}
                }}
            }
        })
    };
    json_schema!({
        "type": "array",
        "maxItems": 64,
        "items": {
            "type": "object",
            "properties": {
                "podSelector": selector("pods, in the namespaces of namespaceSelector, else in the cluster's own"),
                "namespaceSelector": selector("namespaces"),
                "ipBlock": {
                    "type": "object",
                    "description": "A network, for what is no pod.",
                    "required": ["cidr"],
                    "properties": {"cidr": {"type": "string"}, "except": texts}
                }
            }
        }
    })
}

/// Requests and limits, without claims.
pub(super) fn resources(_: &mut SchemaGenerator) -> Schema {
    let amounts = json!({"type": "object", "maxProperties": 16, "additionalProperties": {"x-kubernetes-int-or-string": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}]}});
    json_schema!({"type": "object", "properties": {"requests": amounts, "limits": amounts}})
}
