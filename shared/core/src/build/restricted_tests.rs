//! Pod Security *restricted*, <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.

#![allow(clippy::unwrap_used, clippy::panic)]

use k8s_openapi::api::core::v1::{Container, PodSpec, SecurityContext};
use serde_json::{Value, json};

use super::samples;

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

/// What the standard has against the pod.
fn violations(pod: &PodSpec) -> Vec<String> {
    let mut found = vec![];
    let mut must = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    for host in [pod.host_network, pod.host_pid, pod.host_ipc] {
        must(host != Some(true), "host namespace".to_owned());
    }
    for volume in pod.volumes.iter().flatten() {
        let Value::Object(fields) = serde_json::to_value(volume).unwrap() else { panic!("{volume:?}") };
        let kinds: Vec<_> = fields.keys().filter(|key| *key != "name").collect();
        let allowed = kinds.iter().all(|kind| VOLUMES.contains(&kind.as_str()));
        must(allowed && kinds.len() == 1, format!("volume {}: {kinds:?}", volume.name));
    }
    let context = pod.security_context.clone().unwrap_or_default();
    must(context.sysctls.is_none(), "sysctls".to_owned());
    for container in pod.containers.iter().chain(pod.init_containers.iter().flatten()) {
        for what in container_violations(container, pod) {
            must(false, format!("{}: {what}", container.name));
        }
    }
    found
}

fn container_violations(container: &Container, pod: &PodSpec) -> Vec<&'static str> {
    let own: SecurityContext = container.security_context.clone().unwrap_or_default();
    let shared = pod.security_context.clone().unwrap_or_default();
    let capabilities = own.capabilities.clone().unwrap_or_default();
    let seccomp = own.seccomp_profile.or(shared.seccomp_profile).map(|profile| profile.type_);
    let checks = [
        ("runAsNonRoot", own.run_as_non_root.or(shared.run_as_non_root) == Some(true)),
        ("runAsUser", own.run_as_user.or(shared.run_as_user) != Some(0)),
        ("seccomp", matches!(seccomp.as_deref(), Some("RuntimeDefault" | "Localhost"))),
        ("allowPrivilegeEscalation", own.allow_privilege_escalation == Some(false)),
        ("privileged", own.privileged != Some(true)),
        ("procMount", own.proc_mount.is_none_or(|mount| mount == "Default")),
        ("drop ALL", capabilities.drop.is_some_and(|drop| drop.contains(&"ALL".to_owned()))),
        ("add", capabilities.add.unwrap_or_default().iter().all(|name| name == "NET_BIND_SERVICE")),
        ("hostPort", container.ports.iter().flatten().all(|port| port.host_port.is_none())),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect()
}

#[test]
fn every_container_of_every_golden_is_restricted() {
    for set in samples::stateful_sets() {
        let pod = set.spec.unwrap().template.spec.unwrap();
        assert!(pod.containers.len() + pod.init_containers.as_ref().unwrap().len() >= 2);
        assert_eq!(violations(&pod), Vec::<String>::new());
    }
}

#[test]
fn our_containers_cannot_write_their_root_file_system() {
    for set in samples::stateful_sets() {
        let pod = set.spec.unwrap().template.spec.unwrap();
        for container in [&pod.containers[0], &pod.init_containers.as_ref().unwrap()[0]] {
            assert_eq!(container.security_context.as_ref().unwrap().read_only_root_filesystem, Some(true));
            assert_eq!(container.termination_message_policy.as_deref(), Some("FallbackToLogsOnError"));
        }
    }
}

#[test]
fn the_checks_find_something() {
    let pod = json!({"hostPID": true, "volumes": [{"name": "v", "hostPath": {"path": "/"}}], "containers": [
        {"name": "c", "ports": [{"containerPort": 1, "hostPort": 1}],
         "securityContext": {"privileged": true, "capabilities": {"add": ["SYS_ADMIN"]}, "runAsUser": 0}}]});
    let pod: PodSpec = serde_json::from_value(pod).unwrap();
    assert_eq!(violations(&pod).len(), 10, "{:?}", violations(&pod));
}
