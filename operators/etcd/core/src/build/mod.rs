//! The objects of an etcd cluster.

use std::collections::BTreeMap;

use ballast_core::{
    build::{
        self,
        claim::ClaimSpec,
        member::{Application, Guard, Member, Probe, Storage as MemberStorage},
        network_policy::{self, Guarded},
        service::Port,
    },
    config::yaml::Document,
    label,
};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use serde_json::{Value, json};

use crate::{
    APPLICATION, CLIENT_PORT, PEER_PORT,
    validate::{Desired, Storage},
};

/// Where etcd keeps its data, below the mount of the volume.
pub const DATA_DIR: &str = "etcd";
/// The configuration file.
pub const CONFIG_FILE: &str = "etcd.yaml";

const PORTS: &[Port] = &[Port { name: "client", port: CLIENT_PORT }, Port { name: "peer", port: PEER_PORT }];

pub use ballast_core::build::config_map::ticket_name;

/// Name of a member's claim: never used twice, since it carries the cluster's uid and the member's id, which etcd makes
/// anew for every member that is added. The first member has no id when its claim is made: `None`.
pub fn claim_name(desired: &Desired, member: &str, id: Option<u64>) -> String {
    let uid: String = desired.cluster.labels.uid.chars().take(8).collect();
    id.map_or_else(|| format!("data-{member}-{uid}"), |id| format!("data-{member}-{uid}-{id:x}"))
}

/// The headless Service under which members find each other.
pub fn nodes_service(desired: &Desired) -> Service {
    build::service::nodes(&desired.cluster, PORTS)
}

/// The Service for clients.
pub fn client_service(desired: &Desired) -> Service {
    build::service::client(&desired.cluster, &[Port { name: "client", port: CLIENT_PORT }])
}

/// Host of the Service for clients.
pub fn client_host(desired: &Desired) -> String {
    format!("{}-client.{}.svc", desired.cluster.name(), desired.cluster.namespace)
}

/// How clients connect, in Service Binding shape.
pub fn binding_secret(desired: &Desired) -> Secret {
    let host = client_host(desired);
    let entries = [
        ("host", host.clone()),
        ("port", CLIENT_PORT.to_string()),
        ("uri", crate::client_url(&host)),
        ("endpoints", crate::client_url(&host)),
    ];
    build::secret::binding(
        &desired.cluster,
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    )
}

/// Least number of members that drains must leave: n − 1 for one or two voters, else a quorum of them.
pub fn min_available(voters: usize) -> i32 {
    let least = if voters <= 2 { voters.saturating_sub(1) } else { voters / 2 + 1 };
    i32::try_from(least).unwrap_or(i32::MAX)
}

/// The PodDisruptionBudget for this number of voters.
pub fn disruption_budget(desired: &Desired, voters: usize) -> PodDisruptionBudget {
    build::disruption_budget::budget(&desired.cluster, min_available(voters))
}

/// The NetworkPolicy, if there is to be one: the peer port is for members only, the client port for whom the user names.
/// The operator is always let in, since it asks the members how they are.
pub fn network_policy(desired: &Desired) -> Option<NetworkPolicy> {
    let own = network_policy::own_pods(&desired.cluster);
    let clients = desired.clients_from.as_ref()?;
    let clients = (!clients.is_empty()).then(|| {
        let operator = desired.environment.operator_namespace.as_deref().map(network_policy::operator);
        clients.iter().cloned().chain([own.clone()]).chain(operator).collect()
    });
    Some(network_policy::policy(
        &desired.cluster,
        &[Guarded { port: CLIENT_PORT, from: clients }, Guarded { port: PEER_PORT, from: Some(vec![own]) }],
    ))
}

/// The configuration file, the same for all members: what is different comes in by placeholders that the init container fills.
pub fn config_map(desired: &Desired) -> ConfigMap {
    let mut file = Document::new();
    file.set("name", "${BALLAST_MEMBER}");
    file.set("data-dir", format!("/data/{DATA_DIR}"));
    file.set("listen-peer-urls", crate::peer_url("0.0.0.0"));
    file.set("listen-client-urls", crate::client_url("0.0.0.0"));
    file.set("initial-advertise-peer-urls", crate::peer_url("${BALLAST_HOST}"));
    file.set("advertise-client-urls", crate::client_url("${BALLAST_HOST}"));
    file.set("initial-cluster-token", desired.token());
    file.set("strict-reconfig-check", true);
    for (key, value) in &desired.settings {
        file.set(key, value.clone());
    }
    build::config_map::hashed(
        &desired.cluster,
        "config",
        BTreeMap::from([(CONFIG_FILE.to_owned(), file.render())]),
    )
}

/// What a ticket appends to the configuration file.
pub fn initial_cluster(members: &[(String, String)], state: &str) -> String {
    let list = members.iter().map(|(name, url)| format!("{name}={url}")).collect::<Vec<_>>().join(",");
    let mut file = Document::new();
    file.set("initial-cluster", list);
    file.set("initial-cluster-state", state);
    file.render()
}

/// What is different between members.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Number of the member.
    pub ordinal: u32,
    /// Its claim; `None` with ephemeral storage.
    pub claim: Option<String>,
    /// Its zone.
    pub zone: Option<String>,
    /// uid of the cluster from which its volume was adopted.
    pub adopted_from: Option<String>,
}

/// A member's claim.
pub fn claim(desired: &Desired, place: &Place) -> Option<PersistentVolumeClaim> {
    let Storage::Volume { size, class, owned } = &desired.storage else { return None };
    Some(build::claim::claim(
        &desired.cluster,
        &ClaimSpec {
            name: place.claim.clone()?,
            member: desired.member(place.ordinal),
            zone: place.zone.clone(),
            size: size.clone(),
            storage_class: class.clone(),
            owned: *owned,
        },
    ))
}

fn member(desired: &Desired, place: &Place) -> Member {
    let storage = match (&desired.storage, &place.claim) {
        (Storage::Ephemeral { size_limit }, _) => MemberStorage::Ephemeral { size_limit: size_limit.clone() },
        (Storage::Volume { .. }, claim) => MemberStorage::Claim { name: claim.clone().unwrap_or_default() },
    };
    let probe = |path: &str, period_seconds, failure_threshold| Probe {
        path: Some(path.to_owned()),
        port: CLIENT_PORT,
        period_seconds,
        timeout_seconds: 5,
        failure_threshold,
    };
    Member {
        name: desired.member(place.ordinal),
        component: "member",
        labels: vec![],
        zone: place.zone.clone(),
        spread: desired.zones.is_empty(),
        application: Application {
            container: APPLICATION,
            image: desired.image.clone(),
            pull_policy: None,
            command: vec!["/usr/local/bin/etcd".to_owned(), format!("--config-file=/ballast/{CONFIG_FILE}")],
            ports: PORTS.to_vec(),
            resources: with_defaults(&desired.resources),
            env: vec![],
            // A member that receives a snapshot answers late: ten minutes before it counts as hung.
            startup: probe("/livez", 2, 300),
            // Never the quorum: a member that lost it must not be killed for that.
            liveness: probe("/livez", 10, 6),
            readiness: probe("/readyz", 2, 2),
            user_id: 65532,
            grace_seconds: desired.grace_seconds,
        },
        guard: Guard {
            data_dir: DATA_DIR.to_owned(),
            evidence: vec!["member/wal/*.wal".to_owned(), "member/snap/db".to_owned()],
            drop_env_prefixes: vec!["ETCD_".to_owned()],
            accept_cluster_uids: place.adopted_from.iter().cloned().collect(),
            config_files: vec![CONFIG_FILE.to_owned()],
            resolve_seconds: 60,
        },
        setup: None,
        storage,
        config_map: config_map(desired).metadata.name.unwrap_or_default(),
        overlay: desired.overlay.clone(),
        operator_image: desired.environment.operator_image.clone(),
        operator_pull_policy: desired.environment.operator_pull_policy.clone(),
        restart_at: desired.restart_at.clone(),
        replicas: 1,
    }
}

/// etcd is given a share of a processor and enough memory to start, unless the user says otherwise.
fn with_defaults(resources: &Value) -> Value {
    if resources.pointer("/requests").or_else(|| resources.pointer("/limits")).is_some() {
        return resources.clone();
    }
    json!({"requests": {"cpu": "50m", "memory": "128Mi"}})
}

/// Hash of the template that members should have.
pub fn template_hash(desired: &Desired) -> String {
    build::member::template_hash(&member(desired, &Place::default()))
}

/// A member's StatefulSet.
pub fn stateful_set(desired: &Desired, place: &Place) -> StatefulSet {
    build::member::stateful_set(&desired.cluster, &member(desired, place))
}

/// Annotation on a claim: uid of the cluster from which it was adopted.
pub const ADOPTED_FROM: &str = "ballast.dev/adopted-from";

/// uid of the cluster from which the claim of this name was adopted.
pub fn adopted_from(children: &ballast_core::object::Children, claim: &str) -> Option<String> {
    let claim = ballast_core::object::by_name(&children.claims, claim)?;
    claim.metadata.annotations.as_ref()?.get(ADOPTED_FROM).cloned()
}

/// The zone that a member has: of its claim, else the label on its StatefulSet.
pub fn zone(children: &ballast_core::object::Children, member: &crate::observed::Member) -> Option<String> {
    member.zone().map(str::to_owned).or_else(|| {
        let set = ballast_core::object::by_name(&children.stateful_sets, &member.name)?;
        set.metadata.labels.as_ref()?.get(label::ZONE).cloned()
    })
}

/// Everything that a fresh cluster consists of in the end, for people to look at.
pub fn everything(desired: &Desired) -> Vec<ballast_core::object::Object> {
    let mut objects: Vec<ballast_core::object::Object> = vec![
        nodes_service(desired).into(),
        config_map(desired).into(),
        client_service(desired).into(),
        binding_secret(desired).into(),
    ];
    objects.extend(network_policy(desired).map(Into::into));
    if desired.budget {
        objects.push(disruption_budget(desired, desired.replicas).into());
    }
    let places: Vec<Place> = (0_u32..)
        .take(desired.replicas)
        .map(|ordinal| Place {
            ordinal,
            claim: Some(claim_name(
                desired,
                &desired.member(ordinal),
                (ordinal > 0).then(|| u64::from(ordinal)),
            )),
            zone: (!desired.zones.is_empty())
                .then(|| desired.zones[ordinal as usize % desired.zones.len()].clone()),
            adopted_from: None,
        })
        .collect();
    objects.extend(places.iter().filter_map(|place| claim(desired, place)).map(Into::into));
    objects.extend(places.iter().map(|place| stateful_set(desired, place).into()));
    objects
}
