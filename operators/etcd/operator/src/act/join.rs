//! A new member: learner in etcd's list, claim, ticket, StatefulSet, in this order; each part only if it is missing.

use std::collections::BTreeMap;

use ballast_core::guard::ticket::{Ticket, TicketKind};
use ballast_etcd_core::{
    build::{self, Place},
    observed::{Listed, Observed},
    peer_url,
    validate::{Desired, Storage},
};
use ballast_runtime::{operator::ActError, permission, writer::Writer};

use super::{ensure_claim, through_voters};
use crate::client::{Change, Dialer};

pub(super) async fn add(
    etcd: &Dialer,
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    mut place: Place,
) -> Result<(), ActError> {
    let name = desired.member(place.ordinal);
    let url = peer_url(&desired.cluster.host(&name));
    let member = observed.members.iter().find(|member| member.ordinal == place.ordinal);
    let list = if member.is_some_and(|member| member.listed.is_some()) {
        observed.answers.list.clone().unwrap_or_default()
    } else {
        through_voters(etcd, writer, observed, None, &Change::AddLearner(url.clone())).await?
    };
    let Some(id) = list.iter().find(|listed| listed.peer_urls.contains(&url)).map(|listed| listed.id) else {
        return Err(ActError::Waiting(format!("{name} is not in etcd's list yet")));
    };
    if matches!(desired.storage, Storage::Volume { .. }) {
        place.claim = Some(build::claim_name(desired, &name, Some(id)));
    }
    let place = &place;
    let claim_uid = ensure_claim(writer, desired, observed, place).await?;
    if member.is_none_or(|member| member.ticket.is_none()) {
        let append = build::initial_cluster(&entries(&list, &name, &url), "existing");
        issue(writer, desired, place, TicketKind::Join, claim_uid, append).await?;
    }
    writer.apply(&build::stateful_set(desired, place).into()).await?;
    Ok(())
}

/// The list as etcd wants it in its configuration: names from etcd's own list, this member under its own name.
fn entries(list: &[Listed], name: &str, url: &str) -> Vec<(String, String)> {
    list.iter()
        .flat_map(|listed| {
            listed.peer_urls.iter().map(|peer| {
                let own = peer == url || listed.name.is_empty();
                (if own { name.to_owned() } else { listed.name.clone() }, peer.clone())
            })
        })
        .collect()
}

/// Creates a ticket.
pub(super) async fn issue(
    writer: &Writer,
    desired: &Desired,
    place: &Place,
    kind: TicketKind,
    claim_uid: String,
    append: String,
) -> Result<(), ActError> {
    let member = desired.member(place.ordinal);
    let ticket = Ticket {
        kind,
        cluster_uid: desired.cluster.labels.uid.clone(),
        member,
        claim: place.claim.clone().unwrap_or_else(|| "ephemeral".to_owned()),
        claim_uid,
        append: BTreeMap::from([(build::CONFIG_FILE.to_owned(), append)]),
    };
    permission::issue(writer, &desired.cluster, &ticket).await
}
