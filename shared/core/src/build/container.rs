//! The containers of a member's pod: `prepare`, which brings the guard, and the application behind it.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Container, ContainerPort, EnvVar, HTTPGetAction, Probe, ResourceRequirements, TCPSocketAction,
        VolumeMount,
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
    args.extend(member.zone.iter().map(|zone| format!("--zone={zone}")));
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

/// The init container that makes a volume ready for its first start, if the application needs one. It may be cut off
/// anywhere: the ticket is used then, and the guard says so.
pub(super) fn setup(cluster: &Cluster, member: &Member) -> Option<Container> {
    let setup = member.setup.as_ref()?;
    let mut extra = vec![];
    for (kind, argument) in &setup.ticket_arguments {
        extra.extend(["--ticket-argument".to_owned(), format!("{kind}={argument}")]);
    }
    extra.extend(["--with-data".to_owned(), "exit".to_owned()]);
    Some(Container {
        name: setup.container.to_owned(),
        command: Some(guarded(cluster, member, extra, &setup.command)),
        resources: resources(member),
        ..of_application(member)
    })
}

/// What containers of the application's image have in common.
fn of_application(member: &Member) -> Container {
    Container {
        image: Some(member.application.image.clone()),
        image_pull_policy: member.application.pull_policy.clone(),
        volume_mounts: Some(vec![
            mount("data", "/data", false),
            mount("ballast", "/ballast", false),
            mount("ticket", "/ballast-ticket", true),
            mount("tmp", "/tmp", false),
        ]),
        ..container()
    }
}

fn resources(member: &Member) -> Option<ResourceRequirements> {
    let texts = quantity::texts(&member.application.resources);
    serde_json::from_value::<Option<ResourceRequirements>>(texts).unwrap_or_default()
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
        command: Some(guarded(cluster, member, vec![], &application.command)),
        env: Some(env.collect::<Vec<_>>()).filter(|env| !env.is_empty()),
        ports: Some(ports.collect()),
        resources: resources(member),
        startup_probe: Some(probe(&application.startup)),
        liveness_probe: Some(probe(&application.liveness)),
        readiness_probe: Some(probe(&application.readiness)),
        ..of_application(member)
    }
}

/// The guard's command line, which ends in the application's. Options and values are separate arguments.
fn guarded(cluster: &Cluster, member: &Member, extra: Vec<String>, program: &[String]) -> Vec<String> {
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
    command.extend(extra);
    command.push("--".to_owned());
    command.extend(program.iter().cloned());
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
    let port = IntOrString::Int(probe.port);
    let (http_get, tcp_socket) = match &probe.path {
        Some(path) => (
            Some(HTTPGetAction {
                path: Some(path.clone()),
                port,
                scheme: Some("HTTP".to_owned()),
                ..HTTPGetAction::default()
            }),
            None,
        ),
        None => (None, Some(TCPSocketAction { host: None, port })),
    };
    Probe {
        http_get,
        tcp_socket,
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
