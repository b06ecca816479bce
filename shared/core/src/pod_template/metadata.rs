//! Labels and annotations of the overlay.

use serde_json::Value;

use super::Report;
use crate::label;

/// Labels that selectors or people's tools rely on.
const LABELS: [&str; 4] = [label::NAME, label::INSTANCE, label::MANAGED_BY, label::COMPONENT];
/// Prefix of our own labels and annotations.
const OURS: &str = "ballast.dev/";

pub(super) fn check(value: &Value, path: &str, report: &mut Report<'_>) {
    let Value::Object(fields) = value else {
        return report.add(path, "must be an object with labels and annotations");
    };
    for (key, field) in fields {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "labels" | "annotations" => keys(field, &path, report),
            _ => report.add(path, "unknown field: only labels and annotations can be set on the pod"),
        }
    }
}

fn keys(value: &Value, path: &str, report: &mut Report<'_>) {
    let Some(entries) = value.as_object() else { return };
    let labels = path.ends_with(".labels");
    for (key, value) in entries {
        let label = labels && LABELS.contains(&key.as_str());
        if label || key.starts_with(OURS) || key.contains(&format!(".{OURS}")) {
            let field = format!("{path}[{key}]");
            report.add(
                field,
                "is set by the operator and cannot be changed: remove it, or use a key of your own",
            );
            continue;
        }
        let value = value.as_str().filter(|_| labels).unwrap_or_default();
        checked(key, value, path, report);
    }
}

/// Labels to select by.
pub(super) fn labels(value: &Value, path: &str, report: &mut Report<'_>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        checked(key, value.as_str().unwrap_or_default(), path, report);
    }
}

fn checked(key: &str, value: &str, path: &str, report: &mut Report<'_>) {
    for wrong in [label::check_key(key), label::check_value(value)].into_iter().filter_map(Result::err) {
        report.add(format!("{path}[{key}]"), wrong);
    }
}
