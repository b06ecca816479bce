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

fn one(part: &str, key: &str, field: &Value, path: &str, report: &mut Report<'_>) {
    let sent = json!({ part: { key: field } });
    match serde_json::from_value::<PodTemplateSpec>(sent.clone()) {
        Err(error) => report.add(path, format!("is not what Kubernetes expects here: {error}")),
        Ok(read) => {
            let kept = serde_json::to_value(read).unwrap_or_default();
            if let Some(lost) = difference::first(&sent, &kept) {
                let root = path.split_once(&format!(".{part}.")).map_or(path, |(root, _)| root);
                let field = format!("{root}.{lost}");
                if !report.invalid.iter().any(|invalid| field.starts_with(&invalid.field)) {
                    report.add(field, "unknown field: remove it");
                }
            }
        }
    }
}
