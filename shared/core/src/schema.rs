//! Schemas of fields whose type is Kubernetes' own: shorter than what would be made of the type.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

/// Anything: the operator looks at it itself.
pub fn template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Peers of a NetworkPolicy.
pub fn peers(_: &mut SchemaGenerator) -> Schema {
    let texts = |about: &str| json!({"type": "array", "description": about, "maxItems": 64, "items": {"type": "string"}});
    let text = |about: &str| json!({"type": "string", "description": about});
    let selector = |whose: &str| {
        json!({
            "type": "object",
            "description": format!("Labels of the {whose}; {{}} selects all."),
            "properties": {
                "matchLabels": {"type": "object", "description": "Labels with these values.", "maxProperties": 64,
                    "additionalProperties": {"type": "string"}},
                "matchExpressions": {"type": "array", "description": "Further conditions, all of which must hold.", "maxItems": 64, "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": text("Key of the label."),
                        "operator": text("In, NotIn, Exists or DoesNotExist."),
                        "values": texts("Values for In and NotIn.")
                    }
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
                    "properties": {
                        "cidr": text("The network, for instance 10.0.0.0/8."),
                        "except": texts("Parts of it that may not.")
                    }
                }
            }
        }
    })
}

/// Requests and limits, without claims.
pub fn resources(_: &mut SchemaGenerator) -> Schema {
    let amounts = json!({"type": "object", "maxProperties": 16, "additionalProperties": {"x-kubernetes-int-or-string": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}]}});
    json_schema!({"type": "object", "properties": {"requests": amounts, "limits": amounts}})
}
