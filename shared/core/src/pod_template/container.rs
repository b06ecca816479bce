//! Containers of the overlay: the application's own, sidecars and extra init containers.

use serde_json::{Map, Value};

use super::{Report, security, spec::named};
use crate::{name::DnsLabel, resource_amounts};

/// What may be set on the application's container.
const MAIN: [&str; 4] = ["name", "resources", "env", "volumeMounts"];
/// Everything else that Kubernetes knows on a container, and what to do instead.
const REFUSED: [(&str, &str); 8] = [
    ("image", "is set with the resource's version and image fields"),
    ("imagePullPolicy", "is set with the resource's image fields"),
    ("command", "is the operator's: add configuration in the resource instead"),
    ("args", "is the operator's: add configuration in the resource instead"),
    ("ports", "are the operator's: remove it"),
    ("envFrom", "could bring in variables that override the configuration: name them one by one under env"),
    ("securityContext", "is the operator's: set the pod's securityContext, or remove it"),
    ("lifecycle", "is the operator's: use terminationGracePeriodSeconds, or remove it"),
];

/// `containers`: one entry may be the application's own, the others are sidecars.
pub(super) fn main_and_sidecars(value: &Value, path: &str, report: &mut Report<'_>) {
    for (container, name, path) in named(value, path, report) {
        amounts(container, &path, report);
        if report.rules.containers.first() == Some(&name.as_str()) {
            main(container, &path, report);
        } else {
            sidecar(container, &name, &path, report);
        }
    }
}

/// `initContainers`: all extra ones; they run after ours.
pub(super) fn extra_init(value: &Value, path: &str, report: &mut Report<'_>) {
    for (container, name, path) in named(value, path, report) {
        amounts(container, &path, report);
        sidecar(container, &name, &path, report);
    }
}

fn amounts(container: &Map<String, Value>, path: &str, report: &mut Report<'_>) {
    if let Some(resources) = container.get("resources") {
        report.invalid.extend(resource_amounts::faults(resources, &format!("{path}.resources")));
    }
}

fn main(container: &Map<String, Value>, path: &str, report: &mut Report<'_>) {
    for key in container.keys().filter(|key| !MAIN.contains(&key.as_str())) {
        let field = format!("{path}.{key}");
        match REFUSED.iter().find(|(name, _)| name == key) {
            Some((_, fix)) => report.add(field, *fix),
            None if key.ends_with("Probe") => report.add(field, "is the operator's: remove it"),
            None => report.add(field, "cannot be set on the application's container: remove it"),
        }
    }
    if let Some(env) = container.get("env") {
        for (_, name, path) in named(env, &format!("{path}.env"), report) {
            let prefixes = report.rules.env_prefixes;
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                report.add(
                    path,
                    "configures the application past the operator: use the resource's configuration",
                );
            }
        }
    }
    for (mount, path) in mounts(container, path) {
        let target = mount.get("mountPath").and_then(Value::as_str).unwrap_or_default();
        if report.rules.mount_paths.iter().any(|ours| overlaps(ours, target)) {
            report.add(&path, "covers a directory that the operator uses: mount it elsewhere");
        }
        own_volume(mount, &path, report);
    }
}

fn sidecar(container: &Map<String, Value>, name: &str, path: &str, report: &mut Report<'_>) {
    if report.rules.containers.contains(&name) {
        report.add(path, "is the name of the operator's own container: choose another name");
    }
    if let Err(error) = DnsLabel::new(name) {
        report.add(path, error.to_string());
    }
    if !container.contains_key("image") {
        report.add(format!("{path}.image"), "a container of your own needs an image");
    }
    if let Some(context) = container.get("securityContext") {
        security::container(context, &format!("{path}.securityContext"), report);
    }
    let ports = container.get("ports").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if ports.iter().any(|port| port.get("hostPort").is_some()) {
        report.add(format!("{path}.ports"), "hostPort is not allowed in a member's pod: use a Service");
    }
    for (mount, path) in mounts(container, path) {
        own_volume(mount, &path, report);
    }
}

pub(super) fn mounts<'v>(container: &'v Map<String, Value>, path: &str) -> Vec<(&'v Value, String)> {
    let items = container.get("volumeMounts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let path = |item: &Value| {
        format!("{path}.volumeMounts[{}]", item.get("mountPath").and_then(Value::as_str).unwrap_or_default())
    };
    items.iter().map(|item| (item, path(item))).collect()
}

/// Our volumes may be looked at, not written.
fn own_volume(mount: &Value, path: &str, report: &mut Report<'_>) {
    let name = mount.get("name").and_then(Value::as_str).unwrap_or_default();
    let read_only = mount.get("readOnly").and_then(Value::as_bool).unwrap_or_default();
    if report.rules.volumes.contains(&name) && !read_only {
        report.add(
            path,
            format!("volume {name} is the operator's: set readOnly: true, or use a volume of your own"),
        );
    }
}

/// Whether one path is, contains or is in the other.
fn overlaps(ours: &str, theirs: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (ours, theirs) = (parts(ours), parts(theirs));
    theirs.iter().any(|part| part == "..") || ours.iter().zip(&theirs).all(|(ours, theirs)| ours == theirs)
}
