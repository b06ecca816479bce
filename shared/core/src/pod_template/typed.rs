//! Does the overlay have the types of a `PodTemplateSpec`, and no fields that Kubernetes would drop?

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::{Value, json};

use super::Report;
use crate::difference;

/// Reads every field by itself, so that an error names it.
pub(super) fn check(value: &Value, path: &str, report: &mut Report<'_>) {
    for part in ["metadata", "spec"] {
        let Some(Value::Object(fields)) = value.get(part) else { continue };
        for (key, field) in fields {
            // What was refused by name needs no second error.
            let path = format!("{path}.{part}.{key}");
            if report.invalid.iter().any(|invalid| invalid.field == path) {
                continue;
            }
            match field {
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        let name = item.get("name").and_then(Value::as_str);
                        let element = name.map_or_else(|| index.to_string(), str::to_owned);
                        one(part, key, &json!([item]), &format!("{path}[{element}]"), report);
                    }
                }
                field => one(part, key, field, &path, report),
            }
        }
    }
}

/// Reads one field, or one element of a list, which is at `path`.
fn one(part: &str, key: &str, field: &Value, path: &str, report: &mut Report<'_>) {
    let sent = json!({ part: { key: field } });
    let read = match serde_json::from_value::<PodTemplateSpec>(sent.clone()) {
        Ok(read) => serde_json::to_value(read).unwrap_or_default(),
        Err(error) => return report.add(path, format!("is not what Kubernetes expects here: {error}")),
    };
    let Some(lost) = difference::first(&sent, &read) else { return };
    // The path within what was sent, without the part that `path` says better.
    let below = lost.strip_prefix(&format!("{part}.{key}")).unwrap_or_default();
    let below = match field {
        Value::Array(_) => below.split_once(']').map_or("", |(_, below)| below),
        _ => below,
    };
    let field = format!("{path}{below}");
    if !report.invalid.iter().any(|invalid| field.starts_with(&invalid.field)) {
        report.add(field, "unknown field: remove it");
    }
}
