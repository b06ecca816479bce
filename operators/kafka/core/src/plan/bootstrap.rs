//! The first controller: permission is written down before it is given, and given once.

use ballast_core::bootstrap::Record;

use super::{Context, Next, nodes, state};
use crate::{
    build::{self, Place},
    intent::Intent,
};

/// No record: may this cluster begin?
pub(super) fn begin(context: &Context<'_>) -> Next {
    let Context { desired, observed, .. } = context;
    if let Some(claim) = observed.nodes.iter().flat_map(|node| &node.claims).next() {
        return Next::wait(
            "bootstrap-record-exists",
            "BootstrapRecordMissing",
            format!(
                "the claim {} belongs to this cluster but its bootstrap record is gone: nothing is bootstrapped, since that could \
                 lose data; restore the ConfigMap {}",
                claim.reference.name,
                ballast_core::bootstrap::name(desired.cluster.name(), &desired.cluster.labels.uid)
            ),
        );
    }
    let retained: Vec<&str> = observed
        .retained
        .iter()
        .filter(|claim| !claim.deleting)
        .map(|claim| claim.reference.name.as_str())
        .collect();
    if !retained.is_empty() {
        return Next::wait(
            "no-retained-volumes",
            "RetainedVolumes",
            format!(
                "volumes of an earlier cluster of this name exist ({}): delete the claims, or give the cluster another name",
                retained.join(", ")
            ),
        );
    }
    let Some(first) = desired.nodes().filter(|node| node.pool.controller).min_by_key(|node| node.id) else {
        return Next::wait("has-controller", "NoController", "no pool has controllers");
    };
    let member = desired.member(first.pool, first.id);
    let place = Place {
        id: first.id,
        claim: build::claim_name(desired, &member, 0),
        zone: nodes::zone_for(context, &[]),
    };
    Next::Do(Intent::Bootstrap { pool: first.pool.name.clone(), place })
}

/// A record, but the cluster has not started yet.
pub(super) fn proceed(context: &Context<'_>, record: &Record) -> Next {
    let Context { desired, observed, .. } = context;
    let (member, claim, granted) = match record {
        Record::Preparing { member, claim } => (member, claim, None),
        Record::Granted { member, claim, claim_uid } => (member, claim, Some(claim_uid)),
        Record::Started { .. } | Record::Adopted { .. } => return Next::Nothing,
    };
    let Some(first) = desired.node(member).filter(|node| !node.pool.departing) else {
        return Next::wait(
            "bootstrap-record-readable",
            "BootstrapRecordUnreadable",
            format!(
                "the bootstrap record names {member}, which is no node of a pool of this specification: put its pool back"
            ),
        );
    };
    let node = observed.node(first.id);
    let live = node.and_then(|node| node.claims.iter().find(|have| have.reference.name == *claim));
    let place = Place {
        id: first.id,
        claim: claim.clone(),
        zone: live.map_or_else(|| nodes::zone_for(context, &[]), |have| have.zone.clone()),
    };
    let again = Next::Do(Intent::Bootstrap { pool: first.pool.name.clone(), place: place.clone() });
    let Some(claim_uid) = granted else { return again };
    if live.is_none_or(|have| have.reference.uid != *claim_uid || have.phase == "Lost") {
        return Next::wait(
            "first-node-has-its-volume",
            "DataLost",
            format!(
                "{member}, the first controller, never reported that it started, and its claim is gone; no client was ever served: \
                 delete the KafkaCluster and create it again"
            ),
        );
    }
    let Some(node) = node.filter(|node| node.stateful_set.is_some()) else { return again };
    if node.serves() && node.leads {
        // It was formatted with this id, and refuses nodes with another one.
        return Next::Do(Intent::ConfirmStarted { cluster_id: desired.cluster_id().unwrap_or_default() });
    }
    // It stopped between using its ticket and the end of formatting. Nobody was served yet: a new pod may use the ticket
    // again, for the same claim.
    if let (Some(pod), true) =
        (node.pod.as_ref().filter(|pod| pod.lost_data() && pod.deletion_due.is_none()), node.ticket.is_some())
    {
        return Next::Do(Intent::Restart {
            node: node.name.clone(),
            pod: pod.uid.clone(),
            why: "formatting its volume was cut short".to_owned(),
        });
    }
    if node.probe.is_err() && context.outdated(node) {
        return Next::Do(Intent::Update {
            node: node.name.clone(),
            pool: node.pool.clone(),
            place,
            pod: node.pod.as_ref().map(|pod| pod.uid.clone()),
            why: "it does not serve yet, and its template is not the wanted one".to_owned(),
        });
    }
    if node.ticket.is_none() {
        return again;
    }
    Next::wait(
        "first-controller-starts",
        "FirstControllerStarting",
        format!("{} has not started yet: {}", node.name, state(node)),
    )
}
