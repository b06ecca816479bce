//! Fields of the overlay's pod specification.

use serde_json::Value;

use super::{Report, container, metadata, security};
use crate::name::{DnsLabel, is_subdomain};

/// Fields that are the user's.
const FREE: [&str; 12] = [
    "affinity",
    "dnsConfig",
    "dnsPolicy",
    "hostAliases",
    "imagePullSecrets",
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
];

/// Fields that name an object, as far as the API server checks it before it makes a pod.
const NAMES: [&str; 3] = ["priorityClassName", "runtimeClassName", "serviceAccountName"];

/// Fields that Kubernetes knows and the operator keeps for itself, and what to do instead.
const REFUSED: [(&str, &str); 23] = [
    ("activeDeadlineSeconds", "members run for ever: remove it"),
    (
        "automountServiceAccountToken",
        "no token is mounted: a sidecar that needs one can mount a projected volume",
    ),
    ("enableServiceLinks", "is always false: remove it"),
    ("ephemeralContainers", "are added to running pods with kubectl debug: remove it"),
    ("hostIPC", "members do not share the node's namespaces: remove it"),
    ("hostNetwork", "members do not share the node's namespaces: remove it"),
    ("hostPID", "members do not share the node's namespaces: remove it"),
    ("hostUsers", "is not supported: remove it"),
    ("hostname", "the pod's name is its identity: remove it"),
    ("nodeName", "the scheduler chooses the node: use nodeSelector or affinity"),
    ("os", "members run on Linux: use nodeSelector to choose nodes"),
    ("overhead", "is set by Kubernetes from runtimeClassName: remove it"),
    ("preemptionPolicy", "is set by Kubernetes: use priorityClassName"),
    ("priority", "is set by Kubernetes: use priorityClassName"),
    ("readinessGates", "the operator has to see the application's own readiness: remove it"),
    ("resourceClaims", "are not supported: remove it"),
    ("resources", "set the resources of the containers instead"),
    ("restartPolicy", "is always Always: remove it"),
    ("schedulingGates", "would keep the pod from coming back by itself: remove it"),
    ("serviceAccount", "is the old name: use serviceAccountName"),
    ("setHostnameAsFQDN", "the pod's name is its identity: remove it"),
    ("shareProcessNamespace", "the guard has to be the container's first process: remove it"),
    ("subdomain", "the pod's name is its identity: remove it"),
];

/// Kinds of volumes that Pod Security *restricted* allows.
const VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn check(value: &Value, path: &str, report: &mut Report<'_>) {
    let Value::Object(fields) = value else { return report.add(path, "must be an object") };
    for (key, field) in fields {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "containers" => container::main_and_sidecars(field, &path, report),
            "initContainers" => container::extra_init(field, &path, report),
            "securityContext" => security::pod(field, &path, report),
            "volumes" => volumes(field, &path, report),
            "nodeSelector" => metadata::labels(field, &path, report),
            key if FREE.contains(&key) => {}
            key => match REFUSED.iter().find(|(name, _)| *name == key) {
                Some((_, fix)) => report.add(path, *fix),
                None => report.add(path, "unknown field: remove it"),
            },
        }
    }
    unique(fields, path, report);
    mounted(fields, path, report);
    for field in NAMES {
        let name = fields.get(field).and_then(Value::as_str);
        if name.is_some_and(|name| !is_subdomain(name)) {
            report.add(format!("{path}.{field}"), "is no name: small letters, digits, \"-\" and \".\"");
        }
    }
    let grace = fields.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace.is_some_and(|seconds| seconds < 0) {
        report.add(format!("{path}.terminationGracePeriodSeconds"), "may not be negative");
    }
}

/// What containers mount must be there.
fn mounted(fields: &serde_json::Map<String, Value>, path: &str, report: &mut Report<'_>) {
    let all = |list: &str| fields.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let name = |item: &Value| item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let volumes: Vec<String> = all("volumes").iter().map(name).collect();
    for list in ["containers", "initContainers"] {
        for container in all(list).iter().filter_map(Value::as_object) {
            let owner = container.get("name").and_then(Value::as_str).unwrap_or_default();
            for (mount, path) in container::mounts(container, &format!("{path}.{list}[{owner}]")) {
                let volume = name(mount);
                if !volumes.contains(&volume) && !report.rules.volumes.contains(&volume.as_str()) {
                    report.add(path, format!("there is no volume {volume:?}: add it to volumes"));
                }
            }
        }
    }
}

fn volumes(value: &Value, path: &str, report: &mut Report<'_>) {
    for (volume, name, path) in named(value, path, report) {
        if report.rules.volumes.contains(&name.as_str()) {
            report.add(&path, "is the name of the operator's own volume: choose another name");
        }
        if let Err(error) = DnsLabel::new(name) {
            report.add(&path, error.to_string());
        }
        for kind in volume.keys().filter(|key| *key != "name") {
            if !VOLUMES.contains(&kind.as_str()) {
                let allowed = VOLUMES.join(", ");
                report.add(
                    format!("{path}.{kind}"),
                    format!("is not allowed in a member's pod: use one of {allowed}"),
                );
            }
        }
    }
}

/// The objects of a list with their names and paths; what has no name is reported.
pub(super) fn named<'v>(
    value: &'v Value,
    path: &str,
    report: &mut Report<'_>,
) -> Vec<(&'v serde_json::Map<String, Value>, String, String)> {
    let Some(items) = value.as_array() else {
        report.add(path, "must be a list");
        return vec![];
    };
    let mut all = vec![];
    for (index, item) in items.iter().enumerate() {
        let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
        match item.as_object() {
            Some(object) if !name.is_empty() => {
                all.push((object, name.to_owned(), format!("{path}[{name}]")));
            }
            _ => report.add(format!("{path}[{index}]"), "has no name: give it one"),
        }
    }
    all
}

/// Names of volumes, and those of containers of both kinds, may occur once.
fn unique(fields: &serde_json::Map<String, Value>, path: &str, report: &mut Report<'_>) {
    for lists in [&["volumes"][..], &["containers", "initContainers"]] {
        let mut seen: Vec<&str> = vec![];
        for list in lists {
            let items = fields.get(*list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for name in items.iter().filter_map(|item| item.get("name")?.as_str()) {
                if seen.contains(&name) {
                    report.add(format!("{path}.{list}[{name}]"), "is there twice: choose another name");
                }
                seen.push(name);
            }
        }
    }
}
