//! Permission to start without data: the bootstrap record, claims and tickets, as every operator writes them.
//!
//! Each function is one step that may be repeated; their order is the caller's, and is the rule: the record is written
//! before the first permission is given, and a ticket is gone before what it allowed counts.

use ballast_core::{
    bootstrap::Record,
    build::{Cluster, config_map},
    guard::ticket::Ticket,
    object::{Object, ObjectRef},
    view::ClaimView,
};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};

use crate::{operator::ActError, writer::Writer};

fn record_map(cluster: &Cluster, record: &Record, resource_version: Option<&str>) -> ConfigMap {
    let mut map = config_map::bootstrap(cluster, record);
    map.metadata.resource_version = resource_version.map(str::to_owned);
    map
}

/// Creates the bootstrap record, which must not be there yet. Returns its resourceVersion.
pub async fn begin(writer: &Writer, cluster: &Cluster, record: &Record) -> Result<String, ActError> {
    Ok(writer.create(&record_map(cluster, record, None).into()).await?.resource_version)
}

/// Replaces the bootstrap record, which must still be the one with this resourceVersion.
pub async fn go_on(
    writer: &Writer,
    cluster: &Cluster,
    record: &Record,
    resource_version: &str,
) -> Result<(), ActError> {
    writer.replace_config_map(&record_map(cluster, record, Some(resource_version))).await?;
    Ok(())
}

/// The claim: made now, or there already (`have`). Returns its uid.
pub async fn ensure_claim(
    writer: &Writer,
    claim: PersistentVolumeClaim,
    have: Option<&ClaimView>,
) -> Result<String, ActError> {
    let claim = Object::from(claim);
    match have {
        Some(have) if have.deleting => {
            Err(ActError::Waiting(format!("{} is being deleted", have.reference.name)))
        }
        Some(have) => Ok(have.reference.uid.clone()),
        None => {
            // What is created belongs to no apply, and would stay when it is no longer applied: the owner, which the user
            // may take back, is only ever applied.
            let mut bare = claim.clone();
            bare.metadata_mut().owner_references = None;
            let uid = writer.create(&bare).await?.uid;
            let mut whole = claim;
            whole.metadata_mut().uid = Some(uid.clone());
            writer.apply(&whole).await?;
            Ok(uid)
        }
    }
}

/// Creates a ticket, which must not be there yet.
pub async fn issue(writer: &Writer, cluster: &Cluster, ticket: &Ticket) -> Result<(), ActError> {
    writer.create(&config_map::ticket(cluster, &ticket.member, ticket).into()).await?;
    Ok(())
}

/// Deletes tickets and makes sure that they are gone.
pub async fn revoke(writer: &Writer, tickets: impl Iterator<Item = &ObjectRef>) -> Result<(), ActError> {
    for ticket in tickets {
        writer.delete(ticket).await?;
        writer.confirm_gone(ticket).await?;
    }
    Ok(())
}
