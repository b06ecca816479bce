//! The pod of a member.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Affinity, ConfigMapVolumeSource, EmptyDirVolumeSource, NodeAffinity, NodeSelector,
        NodeSelectorRequirement, NodeSelectorTerm, PersistentVolumeClaimVolumeSource, PodSpec,
        PodTemplateSpec, TopologySpreadConstraint, Volume,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{LabelSelector, ObjectMeta},
    },
};

use super::{
    Cluster, config_map, container,
    member::{Member, Storage, template_hash},
    security,
};
use crate::label;

/// Names of our volumes.
pub const VOLUMES: [&str; 5] = ["data", "ballast", "config", "ticket", "tmp"];
/// Where they are mounted.
pub const MOUNT_PATHS: [&str; 5] = ["/data", "/ballast", "/ballast-config", "/ballast-ticket", "/tmp"];

const ZONE_KEY: &str = "topology.kubernetes.io/zone";
const HOST_KEY: &str = "kubernetes.io/hostname";

/// The template of a member's pod: ours, then the user's overlay, then what the overlay may not weaken.
pub fn template(cluster: &Cluster, member: &Member) -> PodTemplateSpec {
    let template =
        PodTemplateSpec { metadata: Some(metadata(cluster, member)), spec: Some(spec(cluster, member)) };
    let mut template = match &member.overlay {
        Some(overlay) => overlay.apply(template),
        None => template,
    };
    if let (Some(zone), Some(spec)) = (&member.zone, template.spec.as_mut()) {
        keep_zone(spec, zone);
    }
    template
}

fn metadata(cluster: &Cluster, member: &Member) -> ObjectMeta {
    let mut labels = cluster.labels.member_selector(&member.name);
    labels.insert(label::COMPONENT.to_owned(), member.component.to_owned());
    labels.extend(member.labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    labels.insert(label::CLUSTER_UID.to_owned(), cluster.labels.uid.clone());
    if let Some(zone) = &member.zone {
        labels.insert(label::ZONE.to_owned(), zone.clone());
    }
    let mut annotations = BTreeMap::from([(label::TEMPLATE_HASH.to_owned(), template_hash(member))]);
    if let Some(time) = &member.restart_at {
        annotations.insert(label::RESTART.to_owned(), time.clone());
    }
    ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..ObjectMeta::default() }
}

fn spec(cluster: &Cluster, member: &Member) -> PodSpec {
    let spread = spread(cluster, member);
    PodSpec {
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        // Kubernetes keeps a copy in `serviceAccount`, and takes that when the name is no longer there: left out, a name that
        // the user takes back would stay.
        service_account_name: Some("default".to_owned()),
        security_context: Some(security::pod(member.application.user_id)),
        termination_grace_period_seconds: Some(member.application.grace_seconds),
        init_containers: Some(
            [container::prepare(cluster, member)]
                .into_iter()
                .chain(container::setup(cluster, member))
                .collect(),
        ),
        containers: vec![container::application(cluster, member)],
        volumes: Some(volumes(member)),
        topology_spread_constraints: (!spread.is_empty()).then_some(spread),
        ..PodSpec::default()
    }
}

fn volumes(member: &Member) -> Vec<Volume> {
    let data = match &member.storage {
        Storage::Claim { name } => Volume {
            name: "data".to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: name.clone(),
                ..PersistentVolumeClaimVolumeSource::default()
            }),
            ..Volume::default()
        },
        Storage::Ephemeral { size_limit } => empty_dir("data", Some(size_limit)),
    };
    vec![
        data,
        empty_dir("ballast", None),
        from_config_map("config", &member.config_map, None),
        from_config_map("ticket", &config_map::ticket_name(&member.name), Some(true)),
        empty_dir("tmp", None),
    ]
}

fn empty_dir(name: &str, size_limit: Option<&String>) -> Volume {
    let size_limit = size_limit.map(|limit| Quantity(limit.clone()));
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource { size_limit, medium: None }),
        ..Volume::default()
    }
}

fn from_config_map(name: &str, object: &str, optional: Option<bool>) -> Volume {
    Volume {
        name: name.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: object.to_owned(),
            optional,
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    }
}

/// Spreading that never keeps a pod from being scheduled.
fn spread(cluster: &Cluster, member: &Member) -> Vec<TopologySpreadConstraint> {
    let keys: &[&str] = match (member.spread, &member.zone) {
        (false, _) => &[],
        (true, None) => &[ZONE_KEY, HOST_KEY],
        (true, Some(_)) => &[HOST_KEY],
    };
    keys.iter()
        .map(|key| TopologySpreadConstraint {
            max_skew: 1,
            topology_key: (*key).to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            label_selector: Some(LabelSelector {
                match_labels: Some(cluster.labels.selector()),
                ..LabelSelector::default()
            }),
            ..TopologySpreadConstraint::default()
        })
        .collect()
}

/// Requires the zone, in every alternative that the user's own affinity allows.
fn keep_zone(spec: &mut PodSpec, zone: &str) {
    let affinity = spec.affinity.get_or_insert_with(Affinity::default);
    let nodes = affinity.node_affinity.get_or_insert_with(NodeAffinity::default);
    let required =
        nodes.required_during_scheduling_ignored_during_execution.get_or_insert_with(NodeSelector::default);
    if required.node_selector_terms.is_empty() {
        required.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut required.node_selector_terms {
        term.match_expressions.get_or_insert_default().push(NodeSelectorRequirement {
            key: ZONE_KEY.to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![zone.to_owned()]),
        });
    }
}
