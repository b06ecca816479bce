//! The first member: permission is written down before it is given, and given once.

use ballast_core::bootstrap::Record;

use super::{Context, Next, learner, resize};
use crate::{build, intent::Intent, validate::Storage};

/// No record: may this cluster begin?
pub(crate) fn begin(context: &Context<'_>) -> Next {
    let observed = context.observed;
    if let Some(claim) = observed.members.iter().flat_map(|member| &member.claims).next() {
        return Next::wait(
            "bootstrap-record-exists",
            "BootstrapRecordMissing",
            format!(
                "the claim {} belongs to this cluster but its bootstrap record is gone: nothing is bootstrapped, since that could lose data; \
                 restore the ConfigMap {}, or delete the EtcdCluster and adopt the volumes in a new one",
                claim.reference.name,
                ballast_core::bootstrap::name(
                    context.desired.cluster.name(),
                    &context.desired.cluster.labels.uid
                )
            ),
        );
    }
    let retained: Vec<_> = observed.retained.iter().filter(|claim| !claim.deleting).collect();
    if let Some(first) = retained.first() {
        let from = context.desired.adopt.as_deref();
        if from.is_some() && retained.iter().all(|claim| Some(claim.cluster_uid.as_str()) == from) {
            return adopt(context, &first.cluster_uid);
        }
        let names = retained.iter().map(|claim| claim.reference.name.as_str()).collect::<Vec<_>>().join(", ");
        return Next::wait(
            "no-retained-volumes",
            "RetainedVolumes",
            format!(
                "volumes of an earlier cluster of this name exist ({names}): take them over with the annotation {}: {}, or delete the claims",
                ballast_core::label::ADOPT_VOLUMES,
                first.cluster_uid
            ),
        );
    }
    let member = context.desired.member(0);
    let claim = claim_name(context, &member);
    Next::Do(Intent::Bootstrap { ordinal: 0, claim, zone: resize::zone_for(context) })
}

fn claim_name(context: &Context<'_>, member: &str) -> Option<String> {
    matches!(context.desired.storage, Storage::Volume { .. })
        .then(|| build::claim_name(context.desired, member, None))
}

/// A record, but the cluster has not started yet.
pub(crate) fn proceed(context: &Context<'_>, record: &Record) -> Next {
    let (member, claim, granted) = match record {
        Record::Preparing { member, claim } => (member, claim, None),
        Record::Granted { member, claim, claim_uid } => (member, claim, Some(claim_uid)),
        Record::Started { .. } | Record::Adopted { .. } => return Next::Nothing,
    };
    let Some(ordinal) = context.desired.ordinal(member) else {
        return Next::wait(
            "bootstrap-record-readable",
            "BootstrapRecordUnreadable",
            format!("the bootstrap record names {member}, which is no member of this cluster"),
        );
    };
    let seed = context.observed.members.iter().find(|seed| seed.ordinal == ordinal);
    let volume = matches!(context.desired.storage, Storage::Volume { .. });
    let live_claim = seed.and_then(|seed| seed.claims.iter().find(|have| have.reference.name == *claim));
    let again = Next::Do(Intent::Bootstrap {
        ordinal,
        claim: volume.then(|| claim.clone()),
        zone: live_claim.map_or_else(|| resize::zone_for(context), |have| have.zone.clone()),
    });
    let Some(claim_uid) = granted else { return again };
    if volume && live_claim.is_none_or(|have| have.reference.uid != *claim_uid || have.phase == "Lost") {
        return lost(member, "its claim is gone");
    }
    let Some(seed) = seed else { return again };
    if seed.answer().is_some_and(|answer| answer.linearizable) && seed.started() {
        let cluster_id = seed.answer().map_or(0, |answer| answer.cluster_id);
        return Next::Do(Intent::ConfirmStarted { cluster_id });
    }
    let Some(set) = &seed.stateful_set else { return again };
    // It stopped between using its ticket and writing its first data. Nobody was served yet: a new pod may use the
    // ticket again, for the same claim.
    if let (Some(pod), true) =
        (seed.pod.as_ref().filter(|pod| pod.lost_data() && pod.deletion_due.is_none()), seed.ticket.is_some())
    {
        return Next::Do(Intent::Restart {
            member: member.clone(),
            pod: pod.uid.clone(),
            why: "its first start was cut short before it wrote anything".to_owned(),
        });
    }
    let pod_outdated = seed
        .pod
        .as_ref()
        .is_some_and(|pod| pod.template_hash != context.template_hash && pod.deletion_due.is_none());
    if seed.answer().is_none() && (set.template_hash != context.template_hash || pod_outdated) {
        return Next::Do(Intent::Update {
            ordinal,
            pod: seed.pod.as_ref().map(|pod| pod.uid.clone()),
            why: "it does not serve yet, and its template is not the wanted one".to_owned(),
        });
    }
    if seed.ticket.is_none() {
        return again;
    }
    Next::wait("first-member-starts", "FirstMemberStarting", learner::starting(seed))
}

fn lost(member: &str, what: &str) -> Next {
    Next::wait(
        "first-member-has-its-volume",
        "DataLost",
        format!(
            "{member}, the first member, never reported that it started, and {what}; no client was ever served: delete the EtcdCluster and create it again"
        ),
    )
}

fn adopt(context: &Context<'_>, from: &str) -> Next {
    let claims = context
        .observed
        .retained
        .iter()
        .filter(|claim| claim.cluster_uid == from && !claim.deleting)
        .map(|claim| (claim.reference.clone(), claim.resource_version.clone()))
        .collect();
    Next::Do(Intent::Adopt { from: from.to_owned(), claims })
}

/// Volumes are being taken over: relabel what is left, then wait for a quorum of the old members.
pub(crate) fn adopted(context: &Context<'_>, from: &str) -> Next {
    if context.observed.retained.iter().any(|claim| claim.cluster_uid == from && !claim.deleting) {
        return adopt(context, from);
    }
    let serving = context.observed.members.iter().find(|member| member.serves() && member.started());
    match serving.and_then(|member| member.answer()) {
        Some(answer) if context.observed.answers.list.is_some() => {
            Next::Do(Intent::ConfirmStarted { cluster_id: answer.cluster_id })
        }
        _ => super::predicates::list_known(context),
    }
}
