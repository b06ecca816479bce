//! The objects of a Kafka cluster.

mod properties;

use std::collections::BTreeMap;

pub use ballast_core::build::config_map::ticket_name;
use ballast_core::{
    build::{
        self,
        claim::ClaimSpec,
        member::{Application, Guard, Member, Probe, Setup, Storage},
        service::Port,
    },
    guard::ticket::TicketKind,
    object::Object,
    zone,
};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service},
    policy::v1::PodDisruptionBudget,
};
use serde_json::{Value, json};

use crate::{
    APPLICATION, CLIENT_PORT, CONTROLLER_PORT, departing, jvm,
    validate::{Desired, Pool},
};

/// Where Kafka keeps its data, below the mount of the volume.
pub const DATA_DIR: &str = "kafka";
/// The configuration file.
pub const CONFIG_FILE: &str = "server.properties";
/// The configuration of the log.
pub const LOG_FILE: &str = "log4j2.properties";
/// Name of the init container that formats the volume.
pub const FORMAT: &str = "format";

/// Label of the pods of brokers: clients are sent there.
pub const BROKER_LABEL: (&str, &str) = ("kafka.ballast.dev/broker", "true");
/// Label of the pods of controllers: nodes find the quorum there.
pub const CONTROLLER_LABEL: (&str, &str) = ("kafka.ballast.dev/controller", "true");

const CLIENT: Port = Port { name: "client", port: CLIENT_PORT };
const CONTROLLER: Port = Port { name: "controller", port: CONTROLLER_PORT };

/// Name of a node's claim. `attempt` counts from 0 ([`crate::observed::Node::next_attempt`]).
pub fn claim_name(desired: &Desired, member: &str, attempt: usize) -> String {
    let uid: String = desired.cluster.labels.uid.chars().take(8).collect();
    format!("data-{member}-{uid}-{attempt}")
}

/// The headless Service under which nodes find each other.
pub fn nodes_service(desired: &Desired) -> Service {
    build::service::nodes(&desired.cluster, &[CLIENT, CONTROLLER])
}

/// The headless Service of the controllers.
pub fn controllers_service(desired: &Desired) -> Service {
    build::service::some_nodes(&desired.cluster, "controllers", CONTROLLER_LABEL, &[CONTROLLER])
}

/// Host of the Service of the controllers.
pub fn controllers_host(desired: &Desired) -> String {
    let cluster = &desired.cluster;
    format!("{}-controllers.{}.svc.{}", cluster.name(), cluster.namespace, cluster.domain)
}

/// The Service for clients.
pub fn client_service(desired: &Desired) -> Service {
    let mut service = build::service::client(&desired.cluster, &[CLIENT]);
    build::service::only(&mut service, BROKER_LABEL);
    service
}

/// Value for clients' `bootstrap.servers`.
pub fn bootstrap_servers(desired: &Desired) -> String {
    format!(
        "{}.{}.svc:{CLIENT_PORT}",
        build::service::client_name(&desired.cluster),
        desired.cluster.namespace
    )
}

/// How clients connect, in Service Binding shape.
pub fn binding_secret(desired: &Desired) -> Secret {
    let host = format!("{}.{}.svc", build::service::client_name(&desired.cluster), desired.cluster.namespace);
    let entries = [
        ("host", host),
        ("port", CLIENT_PORT.to_string()),
        ("bootstrap-servers", bootstrap_servers(desired)),
        ("securityProtocol", "PLAINTEXT".to_owned()),
    ];
    build::secret::binding(
        &desired.cluster,
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    )
}

/// The PodDisruptionBudget: one node at a time, and never the only one.
pub fn disruption_budget(desired: &Desired) -> PodDisruptionBudget {
    let nodes = desired.nodes().count();
    build::disruption_budget::budget(
        &desired.cluster,
        i32::try_from(nodes.saturating_sub(1)).unwrap_or(i32::MAX),
    )
}

/// The configuration of a pool's nodes: what is different comes in by placeholders that the init container fills.
pub fn config_map(desired: &Desired, pool: &Pool) -> ConfigMap {
    build::config_map::hashed(
        &desired.cluster,
        &format!("{}-config", pool.name),
        BTreeMap::from([
            (CONFIG_FILE.to_owned(), properties::server(desired, pool).render()),
            (LOG_FILE.to_owned(), properties::log().render()),
        ]),
    )
}

/// What is different between nodes of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Node id.
    pub id: i32,
    /// Its claim.
    pub claim: String,
    /// Its zone.
    pub zone: Option<String>,
}

/// A node's claim.
pub fn claim(desired: &Desired, pool: &Pool, place: &Place) -> PersistentVolumeClaim {
    build::claim::claim(
        &desired.cluster,
        &ClaimSpec {
            name: place.claim.clone(),
            member: desired.member(pool, place.id),
            zone: place.zone.clone(),
            size: pool.size.clone(),
            storage_class: pool.class.clone(),
            owned: pool.owned,
        },
    )
}

fn member(desired: &Desired, pool: &Pool, place: &Place) -> Member {
    let labels = [(pool.broker, BROKER_LABEL), (pool.controller, CONTROLLER_LABEL)];
    let ports = [(pool.broker, CLIENT), (pool.controller, CONTROLLER)];
    let probe = |period_seconds, failure_threshold| Probe {
        // It accepts connections once it has recovered its log and is known to the quorum.
        path: None,
        port: if pool.broker { CLIENT_PORT } else { CONTROLLER_PORT },
        period_seconds,
        timeout_seconds: 5,
        failure_threshold,
    };
    Member {
        name: desired.member(pool, place.id),
        component: match (pool.controller, pool.broker) {
            (true, true) => "node",
            (true, false) => "controller",
            (false, _) => "broker",
        },
        labels: labels.into_iter().filter(|(has, _)| *has).map(|(_, label)| label).collect(),
        zone: place.zone.clone(),
        spread: desired.zones.is_empty(),
        application: Application {
            container: APPLICATION,
            image: desired.image.clone(),
            pull_policy: None,
            command: java(
                pool.heap,
                &collector(pool),
                &pool.options,
                &["kafka.Kafka", "/ballast/server.properties"],
            ),
            ports: ports.into_iter().filter(|(has, _)| *has).map(|(_, port)| port).collect(),
            resources: with_defaults(pool),
            env: vec![],
            // After an unclean stop it reads its log again, which may take an hour.
            startup: probe(2, 1800),
            liveness: probe(10, 6),
            readiness: probe(2, 2),
            user_id: 1000,
            grace_seconds: pool.grace_seconds,
        },
        guard: Guard {
            data_dir: DATA_DIR.to_owned(),
            evidence: vec!["meta.properties".to_owned()],
            drop_env_prefixes: [
                "KAFKA_",
                "JAVA_TOOL_OPTIONS",
                "JDK_JAVA_OPTIONS",
                "_JAVA_OPTIONS",
                "CLASSPATH",
            ]
            .map(str::to_owned)
            .to_vec(),
            accept_cluster_uids: vec![],
            config_files: vec![CONFIG_FILE.to_owned(), LOG_FILE.to_owned()],
            resolve_seconds: 60,
        },
        setup: Some(format(desired, pool)),
        storage: Storage::Claim { name: place.claim.clone() },
        config_map: config_map(desired, pool).metadata.name.unwrap_or_default(),
        overlay: pool.overlay.clone(),
        operator_image: desired.environment.operator_image.clone(),
        operator_pull_policy: desired.environment.operator_pull_policy.clone(),
        restart_at: desired.restart_at.clone(),
        replicas: 1,
    }
}

/// Formats the volume, where a ticket allows it. The first controller alone begins a quorum, once in the life of a
/// cluster; all others join it (KIP-853).
fn format(desired: &Desired, pool: &Pool) -> Setup {
    let id = desired.cluster_id().unwrap_or_default();
    let join = if pool.controller {
        vec![(TicketKind::Join.to_string(), "--no-initial-controllers".to_owned())]
    } else {
        vec![]
    };
    let begin = (TicketKind::Bootstrap.to_string(), "--standalone".to_owned());
    Setup {
        container: FORMAT,
        command: java(
            FORMAT_HEAP,
            &["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
            &[],
            &[
                "kafka.tools.StorageTool",
                "format",
                "--cluster-id",
                &id,
                "--config",
                "/ballast/server.properties",
            ],
        ),
        ticket_arguments: [begin].into_iter().chain(join).collect(),
    }
}

const FORMAT_HEAP: u64 = 128 << 20;

/// G1 as Kafka's own scripts have it. The JVM does not start with two collectors, so that another one takes the place of G1.
fn collector(pool: &Pool) -> Vec<&'static str> {
    let mut flags = vec!["-Xms"];
    if jvm::collectors(&pool.options).next().is_none() {
        flags.push("-XX:+UseG1GC");
    }
    flags.extend(["-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]);
    flags
}

/// A Java program of Kafka's with this heap in bytes. `-Xms` stands for a heap that is there from the beginning; `options` come last, so that
/// they count.
fn java(heap: u64, flags: &[&str], options: &[String], program: &[&str]) -> Vec<String> {
    let size = |flag: &str| format!("{flag}{}k", heap >> 10);
    let flags = flags.iter().map(|flag| if *flag == "-Xms" { size(flag) } else { (*flag).to_owned() });
    ["java".to_owned(), size("-Xmx")]
        .into_iter()
        .chain(flags)
        .chain(
            [
                "-XX:+ExitOnOutOfMemoryError",
                "-Djava.awt.headless=true",
                "-Dlog4j2.configurationFile=file:/ballast/log4j2.properties",
                "-cp",
                "/opt/kafka/libs/*",
            ]
            .map(str::to_owned),
        )
        .chain(options.iter().cloned())
        .chain(program.iter().map(|argument| (*argument).to_owned()))
        .collect()
}

/// Kafka is given a share of a processor and memory for its heap and some page cache, unless the user says otherwise.
fn with_defaults(pool: &Pool) -> Value {
    if pool.resources.pointer("/requests").or_else(|| pool.resources.pointer("/limits")).is_some() {
        return pool.resources.clone();
    }
    json!({"requests": {"cpu": "100m", "memory": format!("{}Mi", (pool.heap >> 20) + 256)}})
}

/// Hash of the template that a pool's nodes should have.
fn template_hash(desired: &Desired, pool: &Pool) -> String {
    build::member::template_hash(&member(desired, pool, &Place::default()))
}

/// The same for all pools of the specification, by name.
pub fn template_hashes(desired: &Desired) -> BTreeMap<&str, String> {
    desired.wanted_pools().map(|pool| (pool.name.as_str(), template_hash(desired, pool))).collect()
}

/// A node's StatefulSet.
pub fn stateful_set(desired: &Desired, pool: &Pool, place: &Place) -> StatefulSet {
    build::member::stateful_set(&desired.cluster, &member(desired, pool, place))
}

/// A node's StatefulSet without a pod. `live`: as it is now.
pub fn parked(desired: &Desired, pool: &Pool, place: &Place, live: Option<&StatefulSet>) -> StatefulSet {
    if let (true, Some(live)) = (pool.departing, live) {
        return departing::scaled(live, 0);
    }
    let member = Member { replicas: 0, ..member(desired, pool, place) };
    build::member::stateful_set(&desired.cluster, &member)
}

/// Everything that a fresh cluster consists of in the end, for people to look at.
pub fn everything(desired: &Desired) -> Vec<Object> {
    let mut objects: Vec<Object> = vec![
        nodes_service(desired).into(),
        controllers_service(desired).into(),
        client_service(desired).into(),
        binding_secret(desired).into(),
    ];
    objects.extend(desired.pools.iter().map(|pool| config_map(desired, pool).into()));
    if desired.budget {
        objects.push(disruption_budget(desired).into());
    }
    let mut zones: Vec<Option<String>> = vec![];
    for node in desired.nodes() {
        let taken: Vec<Option<&str>> = zones.iter().map(Option::as_deref).collect();
        let zone = zone::least_crowded(&desired.zones, &taken);
        zones.push(zone.clone());
        let member = desired.member(node.pool, node.id);
        let place = Place { id: node.id, claim: claim_name(desired, &member, 0), zone };
        objects.push(claim(desired, node.pool, &place).into());
        objects.push(stateful_set(desired, node.pool, &place).into());
    }
    objects
}
