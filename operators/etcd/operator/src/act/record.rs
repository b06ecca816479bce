//! The bootstrap record: written before the first permission is given, and what follows from it.

use ballast_core::{bootstrap::Record, guard::ticket::TicketKind, object::ObjectRef};
use ballast_etcd_core::{
    build::{self, Place},
    observed::Observed,
    peer_url,
    validate::Desired,
};
use ballast_runtime::{operator::ActError, permission, writer::Writer};

use super::{ensure_claim, join};

pub(super) async fn bootstrap(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    place: &Place,
) -> Result<(), ActError> {
    let member = desired.member(place.ordinal);
    let claim = place.claim.clone().unwrap_or_else(|| "ephemeral".to_owned());
    let found = observed.record.as_ref().ok().and_then(Option::as_ref);
    let (granted, resource_version) = if let Some(found) = found {
        (matches!(found.record, Record::Granted { .. }), found.resource_version.clone())
    } else {
        let record = Record::Preparing { member: member.clone(), claim: claim.clone() };
        (false, permission::begin(writer, &desired.cluster, &record).await?)
    };
    let claim_uid = ensure_claim(writer, desired, observed, place).await?;
    if !granted {
        let record = Record::Granted { member: member.clone(), claim, claim_uid: claim_uid.clone() };
        permission::go_on(writer, &desired.cluster, &record, &resource_version).await?;
    }
    let seed = observed.members.iter().find(|seed| seed.ordinal == place.ordinal);
    if seed.is_none_or(|seed| seed.ticket.is_none()) {
        let append =
            build::initial_cluster(&[(member.clone(), peer_url(&desired.cluster.host(&member)))], "new");
        join::issue(writer, desired, place, TicketKind::Bootstrap, claim_uid, append).await?;
    }
    writer.apply(&build::stateful_set(desired, place).into()).await?;
    Ok(())
}

/// The ticket goes first: once clients can come, nobody may bootstrap this cluster again.
pub(super) async fn confirm_started(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    cluster_id: u64,
) -> Result<(), ActError> {
    let tickets = observed.members.iter().filter_map(|member| member.ticket.as_ref());
    permission::revoke(writer, tickets.map(|ticket| &ticket.reference)).await?;
    let Some(found) = observed.record.as_ref().ok().and_then(Option::as_ref) else {
        return Err(ActError::Waiting("the bootstrap record is gone".to_owned()));
    };
    let record = Record::Started { cluster_id: format!("{cluster_id:x}") };
    permission::go_on(writer, &desired.cluster, &record, &found.resource_version).await
}

pub(super) async fn adopt(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    from: &str,
    claims: &[(ObjectRef, String)],
) -> Result<(), ActError> {
    if observed.record.as_ref().ok().and_then(Option::as_ref).is_none() {
        let record = Record::Adopted { from_uid: from.to_owned() };
        permission::begin(writer, &desired.cluster, &record).await?;
    }
    for (claim, resource_version) in claims {
        writer.merge_metadata(claim, resource_version, super::takeover(desired, from)).await?;
    }
    Ok(())
}
