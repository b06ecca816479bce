//! The start of a node on an empty volume: record or none, claim, ticket, StatefulSet, in this order; each only if missing.

use std::collections::BTreeMap;

use ballast_core::{
    bootstrap::Record,
    guard::ticket::{Ticket, TicketKind},
    label,
    object::ObjectRef,
};
use ballast_kafka_core::{
    build::{self, Place},
    observed::{ClaimView, Node, Observed},
    validate::{Desired, Pool},
};
use ballast_runtime::{operator::ActError, permission, writer::Writer};
use serde_json::json;

/// The first controller: permission is written down before it is given.
pub(super) async fn bootstrap(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    pool: &Pool,
    place: &Place,
) -> Result<(), ActError> {
    let cluster = &desired.cluster;
    let (member, claim) = (desired.member(pool, place.id), place.claim.clone());
    let found = observed.record.as_ref().ok().and_then(Option::as_ref);
    let (granted, resource_version) = if let Some(found) = found {
        (matches!(found.record, Record::Granted { .. }), found.resource_version.clone())
    } else {
        let record = Record::Preparing { member: member.clone(), claim: claim.clone() };
        (false, permission::begin(writer, cluster, &record).await?)
    };
    let claim_uid =
        permission::ensure_claim(writer, build::claim(desired, pool, place), have(observed, place)).await?;
    if !granted {
        let record = Record::Granted { member, claim, claim_uid: claim_uid.clone() };
        permission::go_on(writer, cluster, &record, &resource_version).await?;
    }
    start(writer, desired, observed, pool, place, TicketKind::Bootstrap, claim_uid).await
}

/// Once clients can come, nobody may bootstrap this cluster again: the ticket goes first.
pub(super) async fn confirm(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    cluster_id: &str,
) -> Result<(), ActError> {
    let tickets = observed.nodes.iter().filter_map(|node| node.ticket.as_ref());
    permission::revoke(writer, tickets.map(|ticket| &ticket.reference)).await?;
    let Some(found) = observed.record.as_ref().ok().and_then(Option::as_ref) else {
        return Err(ActError::Waiting("the bootstrap record is gone".to_owned()));
    };
    let record = Record::Started { cluster_id: cluster_id.to_owned() };
    permission::go_on(writer, &desired.cluster, &record, &found.resource_version).await
}

/// A further node.
pub(super) async fn join(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    pool: &Pool,
    place: &Place,
) -> Result<(), ActError> {
    let claim_uid =
        permission::ensure_claim(writer, build::claim(desired, pool, place), have(observed, place)).await?;
    start(writer, desired, observed, pool, place, TicketKind::Join, claim_uid).await
}

/// A node whose data is gone: what it had is given up for good before anything new is made, so that who goes on in the middle sees it.
pub(super) async fn replace(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    pool: &Pool,
    place: &Place,
    lost: Option<&ObjectRef>,
) -> Result<(), ActError> {
    let claims = observed.nodes.iter().flat_map(|node: &Node| &node.claims);
    if let Some(claim) = claims.into_iter().find(|claim| Some(&claim.reference) == lost) {
        let retired = json!({"labels": {label::RETIRED: "true"}});
        writer.merge_metadata(&claim.reference, &claim.resource_version, retired).await?;
    }
    join(writer, desired, observed, pool, place).await
}

async fn start(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    pool: &Pool,
    place: &Place,
    kind: TicketKind,
    claim_uid: String,
) -> Result<(), ActError> {
    if observed.node(place.id).is_none_or(|node| node.ticket.is_none()) {
        let ticket = Ticket {
            kind,
            cluster_uid: desired.cluster.labels.uid.clone(),
            member: desired.member(pool, place.id),
            claim: place.claim.clone(),
            claim_uid,
            append: BTreeMap::new(),
        };
        permission::issue(writer, &desired.cluster, &ticket).await?;
    }
    writer.apply(&build::stateful_set(desired, pool, place).into()).await?;
    Ok(())
}

fn have<'a>(observed: &'a Observed, place: &Place) -> Option<&'a ClaimView> {
    let claims = observed.nodes.iter().flat_map(|node: &Node| &node.claims);
    claims.into_iter().find(|claim| claim.reference.name == place.claim)
}
