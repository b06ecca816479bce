//! Security contexts of the overlay: they may not fall below Pod Security *restricted*.

use serde_json::{Map, Value};

use super::Report;

const POD: [&str; 10] = [
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
];

pub(super) fn pod(value: &Value, path: &str, report: &mut Report<'_>) {
    let Value::Object(fields) = value else { return report.add(path, "must be an object") };
    for key in fields.keys().filter(|key| !POD.contains(&key.as_str())) {
        report.add(format!("{path}.{key}"), format!("cannot be set: allowed are {}", POD.join(", ")));
    }
    shared(fields, path, report);
}

pub(super) fn container(value: &Value, path: &str, report: &mut Report<'_>) {
    let Value::Object(fields) = value else { return report.add(path, "must be an object") };
    for key in ["privileged", "allowPrivilegeEscalation"] {
        if fields.get(key) == Some(&Value::Bool(true)) {
            report.add(format!("{path}.{key}"), "is not allowed in a member's pod: remove it");
        }
    }
    for key in ["procMount", "windowsOptions"] {
        if fields.contains_key(key) {
            report.add(format!("{path}.{key}"), "is not allowed in a member's pod: remove it");
        }
    }
    if let Some(capabilities) = fields.get("capabilities") {
        let list = |key: &str| capabilities.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        if list("add").iter().any(|name| name != "NET_BIND_SERVICE") {
            report.add(
                format!("{path}.capabilities.add"),
                "only NET_BIND_SERVICE can be added: remove the others",
            );
        }
        if capabilities.get("drop").is_some() && !list("drop").iter().any(|name| name == "ALL") {
            report.add(format!("{path}.capabilities.drop"), "must contain ALL: add it, or remove the field");
        }
    }
    shared(fields, path, report);
}

/// What pods and containers have in common.
fn shared(fields: &Map<String, Value>, path: &str, report: &mut Report<'_>) {
    if fields.get("runAsNonRoot") == Some(&Value::Bool(false)) {
        report.add(format!("{path}.runAsNonRoot"), "members never run as root: remove it");
    }
    if fields.get("runAsUser").and_then(Value::as_i64) == Some(0) {
        report.add(format!("{path}.runAsUser"), "members never run as root: use a number above 0");
    }
    for key in ["seccompProfile", "appArmorProfile"] {
        if fields.get(key).and_then(|profile| profile.get("type")) == Some(&"Unconfined".into()) {
            report.add(
                format!("{path}.{key}.type"),
                "Unconfined is not allowed: use RuntimeDefault or Localhost",
            );
        }
    }
    for key in ["user", "role"] {
        if fields.get("seLinuxOptions").is_some_and(|options| options.get(key).is_some()) {
            report.add(format!("{path}.seLinuxOptions.{key}"), "is not allowed in a member's pod: remove it");
        }
    }
}
