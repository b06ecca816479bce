//! One member: a StatefulSet of one.

use k8s_openapi::{
    api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use serde::Serialize;
use serde_json::Value;

use super::{Cluster, labelled, pod, service::Port};
use crate::{hash, label, pod_template::Overlay};

/// Counts the changes of the builder that old pods must be restarted for. Bumped on purpose: it restarts
/// every pod of every cluster.
pub const BUILDER_REVISION: u32 = 1;

/// Everything that decides a member's pod. The serialised form feeds the template hash, so what may change
/// without restarting the pod is skipped in it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Name of the member and of its StatefulSet.
    #[serde(skip)]
    pub name: String,
    /// Value of the component label: `member`.
    pub component: &'static str,
    /// Further labels of the pod, for Services that select some of the members.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub labels: Vec<(&'static str, &'static str)>,
    /// The zone it was given, required by node affinity and kept for life.
    #[serde(skip)]
    pub zone: Option<String>,
    /// Whether the scheduler should spread members: over nodes, and without `zone` also over zones.
    pub spread: bool,
    /// The container of the application.
    pub application: Application,
    /// What the guard is told.
    pub guard: Guard,
    /// What the application's own tools do with an empty volume before the first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
    /// Where the data is.
    pub storage: Storage,
    /// Name of the ConfigMap with the configuration, which carries its hash.
    pub config_map: String,
    /// The user's changes to the pod.
    #[serde(skip_serializing_if = "no_overlay")]
    pub overlay: Option<Overlay>,
    /// Image of the operator, for the init container.
    #[serde(skip)]
    pub operator_image: String,
    /// Pull policy of the operator's image.
    #[serde(skip)]
    pub operator_pull_policy: Option<String>,
    /// Time from the annotation that asks for a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_at: Option<String>,
    /// 1, or 0 while it is parked.
    #[serde(skip)]
    pub replicas: i32,
}

/// The application's container.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Application {
    /// Name of the container.
    pub container: &'static str,
    /// Image.
    pub image: String,
    /// Pull policy; `None`: Kubernetes' default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<String>,
    /// What the guard executes: program and arguments.
    pub command: Vec<String>,
    /// Ports that it listens on.
    pub ports: Vec<Port>,
    /// Kubernetes' `ResourceRequirements`, validated before; what is none counts as empty.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub resources: Value,
    /// Environment, in order.
    pub env: Vec<(String, String)>,
    /// Until it succeeds once, the other two do not run.
    pub startup: Probe,
    /// When it fails, the container is restarted.
    pub liveness: Probe,
    /// While it fails, clients are not sent here.
    pub readiness: Probe,
    /// Numeric user and group of all processes, and of the volume's files.
    pub user_id: i64,
    /// Seconds between SIGTERM and SIGKILL.
    pub grace_seconds: i64,
}

/// A probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Path that is asked for by HTTP; `None`: it is enough that the port accepts a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Port.
    pub port: i32,
    /// Seconds between two probes.
    pub period_seconds: i32,
    /// Seconds until a probe counts as failed.
    pub timeout_seconds: i32,
    /// How many failures in a row count.
    pub failure_threshold: i32,
}

/// An init container of the application's image, which runs only where a ticket allows a start without data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setup {
    /// Name of the container.
    pub container: &'static str,
    /// What the guard executes: program and arguments.
    pub command: Vec<String>,
    /// Argument that is appended for a ticket of this kind: kind and argument.
    pub ticket_arguments: Vec<(String, String)>,
}

/// What the guard is told about the volume and the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Guard {
    /// The application's directory, relative to the volume.
    pub data_dir: String,
    /// Files below the data directory that exist when the data is valid.
    pub evidence: Vec<String>,
    /// Environment variables that the application may not see, by prefix.
    pub drop_env_prefixes: Vec<String>,
    /// Earlier clusters whose volumes are accepted, by uid.
    #[serde(skip)]
    pub accept_cluster_uids: Vec<String>,
    /// Files of the config map, which the init container completes with what only the pod knows.
    pub config_files: Vec<String>,
    /// Seconds to wait until the pod's own name resolves.
    pub resolve_seconds: u32,
}

/// Where a member's data is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Storage {
    /// On a PersistentVolumeClaim.
    Claim {
        /// Name of the claim.
        #[serde(skip)]
        name: String,
    },
    /// In the pod, lost with it.
    #[serde(rename_all = "camelCase")]
    Ephemeral {
        /// Limit, a quantity in bytes.
        size_limit: String,
    },
}

impl Storage {
    /// The claim's name as the guard knows it; `ephemeral` when there is none.
    pub fn claim_name(&self) -> &str {
        match self {
            Self::Claim { name } => name,
            Self::Ephemeral { .. } => "ephemeral",
        }
    }
}

/// Hash of everything that a running pod is outdated by.
pub fn template_hash(member: &Member) -> String {
    hash::json_hash(&(BUILDER_REVISION, member))
}

/// The member's StatefulSet of one. Its pod gets a new template only when the operator deletes it (or it dies).
pub fn stateful_set(cluster: &Cluster, member: &Member) -> StatefulSet {
    let mut metadata = cluster.member_metadata(&member.name, &member.name);
    metadata = labelled(metadata, label::COMPONENT, member.component);
    if let Some(zone) = &member.zone {
        metadata = labelled(metadata, label::ZONE, zone);
    }
    StatefulSet {
        metadata,
        spec: Some(StatefulSetSpec {
            service_name: Some(cluster.nodes_service()),
            replicas: Some(member.replicas),
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(2),
            selector: LabelSelector {
                match_labels: Some(cluster.labels.member_selector(&member.name)),
                ..LabelSelector::default()
            },
            template: pod::template(cluster, member),
            ..StatefulSetSpec::default()
        }),
        ..StatefulSet::default()
    }
}

/// An overlay that changes nothing counts as none.
#[allow(clippy::ref_option)] // serde passes the field by reference
fn no_overlay(overlay: &Option<Overlay>) -> bool {
    overlay.as_ref().is_none_or(Overlay::is_empty)
}
