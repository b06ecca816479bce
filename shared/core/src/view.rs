//! What is seen of the Kubernetes objects of a member.

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::StatefulSet,
        core::v1::{
            ConfigMap, ContainerStateTerminated, ContainerStatus, PersistentVolumeClaim, Pod, PodSpec,
        },
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::{
    build::container::PREPARE,
    guard::{refusal::Refusal, room},
    label,
    object::{Kind, ObjectRef},
};

/// A StatefulSet of one.
#[derive(Clone, Debug, PartialEq)]
pub struct StatefulSetView {
    /// It.
    pub reference: ObjectRef,
    /// Hash of the specification that its template was made from.
    pub template_hash: String,
    /// Claim that its template names.
    pub claim: Option<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it is to have no pod.
    pub parked: bool,
    /// When it was created.
    pub created: Option<Timestamp>,
}

/// A pod.
#[allow(clippy::struct_excessive_bools, reason = "independent facts that the kubelet reports")]
#[derive(Clone, Debug, PartialEq)]
pub struct PodView {
    /// Name.
    pub name: String,
    /// uid.
    pub uid: String,
    /// Its address.
    pub ip: Option<String>,
    /// Claim that it uses.
    pub claim: Option<String>,
    /// Hash of the specification that it was made from.
    pub template_hash: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it should have been gone, if it is being deleted.
    pub deletion_due: Option<Timestamp>,
    /// Whether it is Ready.
    pub ready: bool,
    /// Whether the application's container runs.
    pub running: bool,
    /// Since when.
    pub running_since: Option<Timestamp>,
    /// What the guard said when it refused to start the application, while that does not run.
    pub refusal: Option<Refusal>,
    /// Why a container waits, for instance `ImagePullBackOff`, or why the pod cannot be scheduled.
    pub waiting: Option<String>,
    /// Whether it was given a node.
    pub scheduled: bool,
    /// Whether the scheduler found no node.
    pub unschedulable: bool,
    /// Whether its node is lost.
    pub node_lost: bool,
    /// Whether the container was last killed for lack of memory.
    pub out_of_memory: bool,
    /// Whether its volume was full when it last ended.
    pub volume_full: bool,
    /// Whether the guard refused to start the application the last time, for another reason than lost data, and it has not
    /// passed its startup probe since: a container that is refused again and again runs for a moment each time.
    pub refused: bool,
}

impl PodView {
    /// Whether the guard found no valid data and no permission to start without.
    pub fn lost_data(&self) -> bool {
        matches!(self.refusal, Some(Refusal::DataLost(_)))
    }
}

/// A claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimView {
    /// It.
    pub reference: ObjectRef,
    /// resourceVersion.
    pub resource_version: String,
    /// Phase: `Pending`, `Bound`, `Lost`.
    pub phase: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether its member was removed, and it was kept: it is never used again by itself.
    pub retired: bool,
    /// Zone for which it was made.
    pub zone: Option<String>,
    /// uid of the cluster for which it was made.
    pub cluster_uid: String,
    /// Member for which it was made.
    pub member: String,
    /// Size asked for.
    pub requested: Option<String>,
    /// StorageClass.
    pub class: Option<String>,
}

/// A ticket.
#[derive(Clone, Debug, PartialEq)]
pub struct TicketView {
    /// Its ConfigMap.
    pub reference: ObjectRef,
    /// When it was made.
    pub created: Option<Timestamp>,
}

fn reference(kind: Kind, metadata: &ObjectMeta) -> Option<ObjectRef> {
    Some(ObjectRef { kind, name: metadata.name.clone()?, uid: metadata.uid.clone().unwrap_or_default() })
}

/// What is seen of a StatefulSet; `None` if it has no name.
pub fn stateful_set_view(set: &StatefulSet) -> Option<StatefulSetView> {
    let template = set.spec.as_ref().map(|spec| &spec.template);
    let pod = template.and_then(|template| template.spec.as_ref());
    Some(StatefulSetView {
        reference: reference(Kind::StatefulSet, &set.metadata)?,
        template_hash: template
            .and_then(|template| {
                template.metadata.as_ref()?.annotations.as_ref()?.get(label::TEMPLATE_HASH).cloned()
            })
            .unwrap_or_default(),
        claim: pod.and_then(claim_of),
        deleting: set.metadata.deletion_timestamp.is_some(),
        parked: set.spec.as_ref().and_then(|spec| spec.replicas) == Some(0),
        created: set.metadata.creation_timestamp.as_ref().map(|time| time.0),
    })
}

/// What is seen of a pod whose main container is called `application`.
pub fn pod_view(pod: &Pod, application: &str) -> PodView {
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let inits = status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default();
    let main = containers.iter().find(|container| container.name == application);
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let condition = |type_: &str| conditions.iter().find(|condition| condition.type_ == type_);
    let unscheduled = condition("PodScheduled").filter(|condition| condition.status == "False");
    let scheduled = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let running = main.is_some_and(|main| main.state.as_ref().is_some_and(|state| state.running.is_some()));
    let lost_by_taint = condition("DisruptionTarget").is_some_and(|condition| {
        condition.status == "True" && condition.reason.as_deref() == Some("DeletionByTaintManager")
    });
    PodView {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        ip: status.and_then(|status| status.pod_ip.clone()).filter(|ip| !ip.is_empty()),
        claim: pod.spec.as_ref().and_then(claim_of),
        template_hash: pod
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(label::TEMPLATE_HASH).cloned())
            .unwrap_or_default(),
        created: pod.metadata.creation_timestamp.as_ref().map(|time| time.0),
        deletion_due: pod.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        ready: condition("Ready").is_some_and(|condition| condition.status == "True"),
        running,
        running_since: main
            .and_then(|main| main.state.as_ref()?.running.as_ref()?.started_at.as_ref())
            .map(|time| time.0),
        // What makes the volume ready is guarded too.
        refusal: main.filter(|_| !running).and_then(refusal).or_else(|| inits.iter().find_map(refused_setup)),
        waiting: match unscheduled {
            Some(condition) => {
                Some(format!("Unschedulable: {}", condition.message.clone().unwrap_or_default()))
            }
            None if !scheduled => Some(unassigned(pod)),
            None => inits.iter().chain(containers).find_map(waiting_reason),
        },
        scheduled,
        unschedulable: unscheduled.is_some(),
        node_lost: lost_by_taint || status.and_then(|status| status.reason.as_deref()) == Some("NodeLost"),
        out_of_memory: main
            .and_then(last_termination)
            .is_some_and(|ended| ended.reason.as_deref() == Some("OOMKilled")),
        refused: main
            .filter(|main| !(running && main.started == Some(true)))
            .and_then(refusal)
            .is_some_and(|refusal| !matches!(refusal, Refusal::DataLost(_))),
        volume_full: main
            .and_then(last_termination)
            .is_some_and(|ended| room::was_full(ended.message.as_deref().unwrap_or_default())),
    }
}

/// The claim that a pod of this specification uses.
fn claim_of(pod: &PodSpec) -> Option<String> {
    pod.volumes
        .as_ref()?
        .iter()
        .find_map(|volume| volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone()))
}

/// No scheduler has looked at it: for a moment that is so for every pod, and for ever if there is no such scheduler.
fn unassigned(pod: &Pod) -> String {
    let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
    format!("Unscheduled: {} has not looked at its pod yet", scheduler.unwrap_or("the scheduler"))
}

fn last_termination(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    let current = container.state.as_ref().and_then(|state| state.terminated.as_ref());
    current.or_else(|| container.last_state.as_ref().and_then(|state| state.terminated.as_ref()))
}

fn refusal(container: &ContainerStatus) -> Option<Refusal> {
    let ended = last_termination(container)?;
    Refusal::from_termination(ended.exit_code, ended.message.as_deref().unwrap_or_default())
}

/// The refusal of an init container that has not done its work yet.
fn refused_setup(container: &ContainerStatus) -> Option<Refusal> {
    let ended = container.state.as_ref().and_then(|state| state.terminated.as_ref());
    if container.name == PREPARE || ended.is_some_and(|ended| ended.exit_code == 0) {
        return None;
    }
    refusal(container)
}

fn waiting_reason(container: &ContainerStatus) -> Option<String> {
    let reason = container.state.as_ref()?.waiting.as_ref()?.reason.clone()?;
    (!matches!(reason.as_str(), "PodInitializing" | "ContainerCreating")).then_some(reason)
}

/// What is seen of a ticket; `None` if it has no name.
pub fn ticket_view(map: &ConfigMap) -> Option<TicketView> {
    Some(TicketView {
        reference: reference(Kind::ConfigMap, &map.metadata)?,
        created: map.metadata.creation_timestamp.as_ref().map(|time| time.0),
    })
}

/// What is seen of a claim; `None` if it belongs to no member.
pub fn claim_view(claim: &PersistentVolumeClaim) -> Option<ClaimView> {
    let labels = claim.metadata.labels.as_ref()?;
    let spec = claim.spec.as_ref();
    Some(ClaimView {
        reference: reference(Kind::PersistentVolumeClaim, &claim.metadata)?,
        resource_version: claim.metadata.resource_version.clone().unwrap_or_default(),
        phase: claim.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default(),
        deleting: claim.metadata.deletion_timestamp.is_some(),
        retired: labels.contains_key(label::RETIRED),
        zone: labels.get(label::ZONE).cloned(),
        cluster_uid: labels.get(label::CLUSTER_UID).cloned().unwrap_or_default(),
        member: labels.get(label::MEMBER).cloned()?,
        requested: spec.and_then(|spec| {
            spec.resources.as_ref()?.requests.as_ref()?.get("storage").map(|size| size.0.clone())
        }),
        class: spec.and_then(|spec| spec.storage_class_name.clone()),
    })
}
