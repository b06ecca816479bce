//! Laying one value over another.

use serde_json::Value;

/// Lays `overlay` over `base`, which is in the field `field`.
pub(super) fn merge(base: &mut Value, overlay: &Value, field: &str) {
    match (base, overlay) {
        (Value::Object(base), Value::Object(overlay)) => {
            for (key, value) in overlay {
                merge(base.entry(key.clone()).or_insert(Value::Null), value, key);
            }
        }
        (Value::Array(base), Value::Array(overlay)) if list_key(field).is_some() => {
            let key = list_key(field).unwrap_or_default();
            for item in overlay {
                match base.iter_mut().find(|have| have.get(key).is_some() && have.get(key) == item.get(key)) {
                    Some(have) => merge(have, item, ""),
                    None => base.push(item.clone()),
                }
            }
        }
        (base, overlay) => *base = overlay.clone(),
    }
}

/// What tells the elements of a list apart, for lists that are merged.
fn list_key(field: &str) -> Option<&'static str> {
    match field {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        _ => None,
    }
}
