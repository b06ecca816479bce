//! The containers of a member's pod: `prepare`, which brings the guard, and the application behind it.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Container, ContainerPort, EnvVar, HTTPGetAction, Probe, ResourceRequirements, VolumeMount,
    },
    apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
};

use super::{
    Cluster,
    member::{self, Member},
    security,
};
use crate::quantity;

/// Name of the init container.
pub const PREPARE: &str = "prepare";

/// The init container: copies the guard into the pod and completes the configuration.
pub(super) fn prepare(cluster: &Cluster, member: &Member) -> Container {
    let guard = &member.guard;
    let mut args = vec![
        "prepare".to_owned(),
        "--guard-to=/ballast/bin/ballast-guard".to_owned(),
        format!("--host={}", cluster.host(&member.name)),
        format!("--member={}", member.name),
        "--volume=/data".to_owned(),
        format!("--data-dir=/data/{}", guard.data_dir),
    ];
    args.extend(guard.evidence.iter().map(|path| format!("--evidence={path}")));
    let files = guard.config_files.iter();
    args.extend(files.map(|file| format!("--config=/ballast-config/{file}=/ballast/{file}.base")));
    args.push("--ticket-dir=/ballast-ticket".to_owned());
    args.push(format!("--resolve-timeout={}s", guard.resolve_seconds));
    Container {
        name: PREPARE.to_owned(),
        image: Some(member.operator_image.clone()),
        image_pull_policy: member.operator_pull_policy.clone(),
        args: Some(args),
        resources: Some(small()),
        volume_mounts: Some(vec![
            mount("data", "/data", false),
            mount("ballast", "/ballast", false),
            mount("config", "/ballast-config", true),
            mount("ticket", "/ballast-ticket", true),
        ]),
        ..container()
    }
}

/// The application's container; the guard decides at every start whether it runs.
pub(super) fn application(cluster: &Cluster, member: &Member) -> Container {
    let application = &member.application;
    let env = application.env.iter().map(|(name, value)| EnvVar {
        name: name.clone(),
        value: Some(value.clone()),
        value_from: None,
    });
    let ports = application.ports.iter().map(|port| ContainerPort {
        name: Some(port.name.to_owned()),
        container_port: port.port,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    });
    Container {
        name: application.container.to_owned(),
        image: Some(application.image.clone()),
        image_pull_policy: application.pull_policy.clone(),
        command: Some(guarded(cluster, member)),
        env: Some(env.collect::<Vec<_>>()).filter(|env| !env.is_empty()),
        ports: Some(ports.collect()),
        resources: serde_json::from_value::<Option<ResourceRequirements>>(quantity::texts(
            &application.resources,
        ))
        .unwrap_or_default(),
        startup_probe: Some(probe(&application.startup)),
        liveness_probe: Some(probe(&application.liveness)),
        readiness_probe: Some(probe(&application.readiness)),
        volume_mounts: Some(vec![
            mount("data", "/data", false),
            mount("ballast", "/ballast", false),
            mount("ticket", "/ballast-ticket", true),
            mount("tmp", "/tmp", false),
        ]),
        ..container()
    }
}

/// The guard's command line, which ends in the application's. Options and values are separate arguments.
fn guarded(cluster: &Cluster, member: &Member) -> Vec<String> {
    let guard = &member.guard;
    let mut command = vec!["/ballast/bin/ballast-guard".to_owned(), "run".to_owned()];
    let mut option = |name: &str, value: &str| command.extend([name.to_owned(), value.to_owned()]);
    option("--cluster-uid", &cluster.labels.uid);
    option("--member", &member.name);
    option("--claim", member.storage.claim_name());
    guard.accept_cluster_uids.iter().for_each(|uid| option("--accept-cluster-uid", uid));
    option("--volume", "/data");
    option("--data-dir", &format!("/data/{}", guard.data_dir));
    guard.evidence.iter().for_each(|pattern| option("--evidence", pattern));
    option("--ticket-dir", "/ballast-ticket");
    option("--scratch", "/ballast");
    for file in &guard.config_files {
        option("--config", &format!("/ballast/{file}.base=/ballast/{file}"));
    }
    guard.drop_env_prefixes.iter().for_each(|prefix| option("--drop-env-prefix", prefix));
    command.push("--".to_owned());
    command.extend(member.application.command.iter().cloned());
    command
}

fn container() -> Container {
    Container {
        security_context: Some(security::container()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn probe(probe: &member::Probe) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(probe.path.clone()),
            port: IntOrString::Int(probe.port),
            scheme: Some("HTTP".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(probe.period_seconds),
        timeout_seconds: Some(probe.timeout_seconds),
        failure_threshold: Some(probe.failure_threshold),
        ..Probe::default()
    }
}

/// What copying a file and writing another takes.
fn small() -> ResourceRequirements {
    let quantities = |entries: &[(&str, &str)]| -> BTreeMap<String, Quantity> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), Quantity((*value).to_owned()))).collect()
    };
    ResourceRequirements {
        requests: Some(quantities(&[("cpu", "10m"), ("memory", "32Mi")])),
        limits: Some(quantities(&[("memory", "128Mi")])),
        claims: None,
    }
}
