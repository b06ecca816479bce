//! What users read: computed anew from what was seen and decided, with only times carried over.

use ballast_core::{
    bootstrap::Record,
    condition::{self, Status},
    invalid::Invalid,
    label,
    plan::{Intent as _, Plan, PlanStatus},
    version::Minor,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    api::{Endpoints, EtcdCluster, EtcdClusterStatus, MemberStatus, SuspectZone},
    build,
    intent::Intent,
    observed::{Member, Observed, Probe},
    plan::suspect_for,
    validate::Desired,
    versions,
};

/// The status of a resource that is wrong: the last known facts stay, the conditions say what is wrong.
pub fn invalid(resource: &EtcdCluster, errors: &[Invalid], now: Timestamp) -> EtcdClusterStatus {
    let mut status = resource.status.clone().unwrap_or_default();
    let generation = resource.metadata.generation;
    condition::set_invalid(&mut status.conditions, errors, generation, now);
    status.observed_generation = generation;
    status.plan = None;
    status
}

/// The status of a resource that was planned for.
pub fn planned(
    resource: &EtcdCluster,
    desired: &Desired,
    observed: &Observed,
    plan: &Plan<Intent>,
    error: Option<&str>,
    now: Timestamp,
) -> EtcdClusterStatus {
    let previous = resource.status.clone().unwrap_or_default();
    let started = matches!(
        observed.record.as_ref().ok().and_then(Option::as_ref).map(|found| &found.record),
        Some(Record::Started { .. } | Record::Adopted { .. })
    );
    let serving = observed.voters().filter(|member| member.serves()).count();
    let members: Vec<MemberStatus> = observed
        .members
        .iter()
        .filter(|member| !member.gone())
        .map(|member| member_status(member, plan, now))
        .collect();
    let known = observed.answers.list.as_ref();
    let voters = known.map_or_else(
        || usize::try_from(previous.replicas).unwrap_or(0),
        |list| list.iter().filter(|entry| !entry.learner).count(),
    );
    let lowest =
        observed.members.iter().filter_map(Member::answer).map(|answer| answer.version.clone()).min();
    let cluster_id = observed.cluster_ids().first().map(|id| format!("{id:x}"));
    EtcdClusterStatus {
        observed_generation: desired.generation,
        conditions: conditions(
            &previous,
            &Facts { desired, observed, plan, error, started, serving, voters },
            now,
        ),
        version: lowest.map(|version| version.to_string()).or(previous.version),
        cluster_version: observed
            .answers
            .cluster_version
            .map(|minor: Minor| minor.to_string())
            .or(previous.cluster_version),
        cluster_id: cluster_id.or(previous.cluster_id),
        replicas: i32::try_from(voters).unwrap_or(i32::MAX),
        ready_members: Some(format!("{serving}/{}", desired.replicas)),
        selector: Some(label::selector_text(&desired.cluster.labels.selector())),
        endpoints: started.then(|| Endpoints {
            client: crate::client_url(&build::client_host(desired)),
            binding_secret: build::binding_secret(desired).metadata.name.unwrap_or_default(),
        }),
        plan: Some(PlanStatus::of(plan, previous.plan.as_ref(), now)),
        suspect_zones: suspect_zones(&previous.suspect_zones, desired, observed, &members, now),
        members,
    }
}

struct Facts<'a> {
    desired: &'a Desired,
    observed: &'a Observed,
    plan: &'a Plan<Intent>,
    error: Option<&'a str>,
    started: bool,
    serving: usize,
    voters: usize,
}

fn conditions(previous: &EtcdClusterStatus, facts: &Facts<'_>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = previous.conditions.clone();
    let generation = facts.desired.generation;
    let mut set = |type_: &str, (status, reason, message): (Status, &str, String)| {
        condition::set(&mut conditions, type_, status, reason, message, generation, now);
    };
    set("Ready", ready(facts));
    set("QuorumHealthy", quorum(facts));
    set("Progressing", progressing(facts));
    set("Degraded", degraded(facts));
    let notes = facts.desired.notes.join("; ");
    set(
        "SpecValid",
        (
            Status::True,
            "Valid",
            if notes.is_empty() { "the specification is valid".to_owned() } else { notes },
        ),
    );
    set(
        "VersionSupported",
        match versions::supported(&facts.desired.version) {
            Ok(_) => match versions::known_bad(&facts.desired.version) {
                Some(fault) => {
                    (Status::True, "KnownFault", format!("etcd {}: {fault}", facts.desired.version))
                }
                None => (Status::True, "Supported", format!("etcd {}", facts.desired.version)),
            },
            Err(message) => (Status::False, "VersionNotSupported", message),
        },
    );
    conditions
}

fn ready(facts: &Facts<'_>) -> (Status, &'static str, String) {
    let Facts { desired, serving, voters, .. } = facts;
    if !facts.started {
        let message = facts
            .plan
            .blocked
            .first()
            .map_or_else(|| "the first member is being made".to_owned(), |blocked| blocked.message.clone());
        return (Status::False, "Bootstrapping", message);
    }
    match facts.observed.quorum() {
        None => (Status::False, "QuorumUnknown", "no member serves a linearizable read".to_owned()),
        Some(false) => (Status::False, "QuorumLost", format!("{serving} of {voters} voters serve")),
        Some(true) if *serving == desired.replicas && *voters == desired.replicas => {
            (Status::True, "MembersServe", format!("{serving} of {} members serve", desired.replicas))
        }
        Some(true) => (
            Status::False,
            "MembersMissing",
            format!("{serving} of {} members serve; clients are served", desired.replicas),
        ),
    }
}

fn quorum(facts: &Facts<'_>) -> (Status, &'static str, String) {
    let message = format!("{} of {} voters serve a linearizable read", facts.serving, facts.voters);
    match facts.observed.quorum() {
        None => (
            Status::Unknown,
            "QuorumUnknown",
            "no member serves a linearizable read, so etcd's member list is not known".to_owned(),
        ),
        Some(true) => (Status::True, "QuorumServes", message),
        Some(false) => (Status::False, "QuorumLost", message),
    }
}

fn progressing(facts: &Facts<'_>) -> (Status, &'static str, String) {
    if let Some(intent) = &facts.plan.intent {
        return (Status::True, intent.reason(), intent.message());
    }
    if let Some(blocked) = facts.plan.blocked.first() {
        let stopped = matches!(
            blocked.reason,
            "Paused"
                | "VersionStepRefused"
                | "VersionNotSupported"
                | "RetainedVolumes"
                | "DataLost"
                | "SplitBrain"
        );
        return (Status::from(!stopped), blocked.reason, blocked.message.clone());
    }
    (Status::False, "Converged", "nothing is to be done".to_owned())
}

fn degraded(facts: &Facts<'_>) -> (Status, &'static str, String) {
    if let Some(error) = facts.error {
        return (Status::True, "ReconcileFailed", error.to_owned());
    }
    if let Some(blocked) = facts
        .plan
        .blocked
        .iter()
        .find(|blocked| matches!(blocked.reason, "DataLost" | "SplitBrain" | "ForeignMember"))
    {
        return (Status::True, blocked.reason, blocked.message.clone());
    }
    let full: Vec<_> = facts
        .observed
        .answers
        .alarms
        .iter()
        .flatten()
        .filter(|(_, kind)| *kind == crate::observed::AlarmKind::NoSpace)
        .collect();
    if !full.is_empty() {
        return (
            Status::True,
            "NoSpace",
            "the database reached its quota and refuses writes: compact and defragment it, or raise spec.etcd.quotaBackendBytes".to_owned(),
        );
    }
    let silent: Vec<_> = facts
        .observed
        .voters()
        .filter(|member| !member.serves())
        .map(|member| format!("{} ({})", member.name, doing(member, facts.plan).unwrap_or_default()))
        .collect();
    if facts.started && !silent.is_empty() {
        return (Status::True, "MemberNotServing", format!("not serving: {}", silent.join(", ")));
    }
    (Status::False, "AsExpected", "no fault is known".to_owned())
}

fn member_status(member: &Member, plan: &Plan<Intent>, now: Timestamp) -> MemberStatus {
    let answer = member.answer();
    let role = match &member.listed {
        None => "None",
        Some(listed) if listed.learner => "Learner",
        Some(_) if member.leads() => "Leader",
        Some(_) => "Follower",
    };
    let fine = member.serves() || (member.learner() && answer.is_some());
    let health = match (fine, answer, &member.pod) {
        (true, ..) => "Serving",
        (false, None, Some(pod)) if pod.running => "Unknown",
        (false, ..) => "NotServing",
    };
    MemberStatus {
        name: member.name.clone(),
        id: member.listed.as_ref().map(|listed| format!("{:x}", listed.id)),
        role: role.to_owned(),
        version: answer.map(|answer| answer.version.to_string()),
        zone: member.zone().map(str::to_owned),
        health: health.to_owned(),
        unhealthy_since: (!fine).then(|| condition::rfc3339(member.unhealthy_since.unwrap_or(now))),
        doing: doing(member, plan),
    }
}

/// What is being done with a member, or what is wrong with it.
fn doing(member: &Member, plan: &Plan<Intent>) -> Option<String> {
    let named = plan.intent.as_ref().and_then(|intent| match intent {
        Intent::RevokeTicket { member, .. }
        | Intent::Promote { member, .. }
        | Intent::RemoveMember { member, .. }
        | Intent::Restart { member, .. }
        | Intent::CleanUp { member, .. }
        | Intent::ForceDeletePod { member, .. } => Some((member.clone(), intent)),
        Intent::MoveLeader { from, .. } => Some((from.clone(), intent)),
        Intent::Bootstrap { ordinal, .. }
        | Intent::AddMember { ordinal, .. }
        | Intent::Update { ordinal, .. } => {
            (*ordinal == member.ordinal).then(|| (member.name.clone(), intent))
        }
        Intent::Adopt { .. } | Intent::ConfirmStarted { .. } | Intent::DisarmAlarm { .. } => None,
    });
    if let Some((_, intent)) = named.filter(|(name, _)| *name == member.name) {
        return Some(intent.reason().to_owned());
    }
    if member.serves() {
        return None;
    }
    let Some(pod) = &member.pod else { return Some("it has no pod".to_owned()) };
    if pod.deletion_due.is_some() {
        return Some("its pod is stopping".to_owned());
    }
    if let Some(refusal) = &pod.refusal {
        return Some(format!("the guard refuses to start it: {}: {}", refusal.reason(), refusal.detail()));
    }
    if let Some(waiting) = &pod.waiting {
        return Some(waiting.clone());
    }
    match &member.probe {
        Probe::Silent(_) if !pod.running => Some("its containers start".to_owned()),
        Probe::Silent(_) => Some("it does not answer".to_owned()),
        Probe::Answered(_) if member.learner() => Some("it learns".to_owned()),
        Probe::Answered(_) if member.corrupt => Some("its data is corrupt".to_owned()),
        Probe::Answered(_) => Some("it serves no linearizable read".to_owned()),
    }
}

fn suspect_zones(
    previous: &[SuspectZone],
    desired: &Desired,
    observed: &Observed,
    members: &[MemberStatus],
    now: Timestamp,
) -> Vec<SuspectZone> {
    let serves_in =
        |zone: &str| observed.members.iter().any(|member| member.zone() == Some(zone) && member.serves());
    let recent = |suspect: &&SuspectZone| {
        suspect.since.parse::<Timestamp>().is_ok_and(|since| now.duration_since(since) < suspect_for())
    };
    let mut zones: Vec<SuspectZone> =
        previous.iter().filter(recent).filter(|suspect| !serves_in(&suspect.zone)).cloned().collect();
    for member in &observed.members {
        let Some(zone) = member.zone() else { continue };
        let placeless = member.pod.as_ref().is_some_and(|pod| {
            pod.unschedulable || pod.node_lost || pod.deletion_due.is_some_and(|due| now > due)
        });
        let since = members
            .iter()
            .find(|status| status.name == member.name)
            .and_then(|status| status.unhealthy_since.as_ref()?.parse::<Timestamp>().ok());
        let long =
            since.is_some_and(|since| now.duration_since(since).unsigned_abs() >= desired.restart_after);
        if placeless && long && !serves_in(zone) && !zones.iter().any(|suspect| suspect.zone == zone) {
            zones.push(SuspectZone { zone: zone.to_owned(), since: condition::rfc3339(now) });
        }
    }
    zones
}
