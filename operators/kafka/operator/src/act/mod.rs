//! Carries out one intent: its ordered requests, each safe to repeat, each through the gate.

mod drain;
mod start;

use ballast_core::object::by_name;
use ballast_kafka_core::{
    CONTROLLER_PORT, build,
    intent::Intent,
    observed::{Observed, addresses},
    validate::{Desired, Pool},
};
use ballast_runtime::{operator::ActError, writer::Writer};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::{
    client::{Endpoint, Error, FeatureUpdate, METADATA_VERSION, Route, Step},
    nodes::Dialer,
};

fn from_kafka(error: Error) -> ActError {
    match error {
        Error::Waiting(refusal) => ActError::Waiting(refusal.to_string()),
        other => ActError::Application(other.to_string()),
    }
}

/// Carries out `intent`, which was confirmed by `observed`, read live just now.
pub async fn act(
    kafka: &Dialer,
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    intent: &Intent,
) -> Result<(), ActError> {
    let desired = &*desired.with_departing(&observed.children);
    match intent {
        Intent::Bootstrap { pool, place } => {
            start::bootstrap(writer, desired, observed, named(desired, pool)?, place).await
        }
        Intent::ConfirmStarted { cluster_id } => start::confirm(writer, desired, observed, cluster_id).await,
        Intent::RevokeTicket { ticket, .. } => Ok(writer.delete(ticket).await?),
        Intent::AddNodes { places, .. } => {
            for (pool, place) in places {
                start::join(writer, desired, observed, named(desired, pool)?, place).await?;
            }
            Ok(())
        }
        Intent::AddVoter { node, id, directory } => {
            add_voter(kafka, writer, desired, observed, node, *id, directory).await
        }
        Intent::Update { node, pool, place, pod, .. } => {
            let set = build::stateful_set(desired, named(desired, pool)?, place);
            writer.apply(&set.into()).await?;
            match pod {
                Some(uid) => Ok(writer.delete_pod(&format!("{node}-0"), uid, None).await?),
                None => Ok(()),
            }
        }
        Intent::Restart { node, pod, .. } => Ok(writer.delete_pod(&format!("{node}-0"), pod, None).await?),
        Intent::ReplaceVolume { node, pool, place, lost, pod } => {
            start::replace(writer, desired, observed, named(desired, pool)?, place, lost.as_ref()).await?;
            match pod {
                Some(uid) => Ok(writer.delete_pod(&format!("{node}-0"), uid, None).await?),
                None => Ok(()),
            }
        }
        Intent::Park { node, pool, place } => {
            let live = by_name(&observed.children.stateful_sets, node);
            let set = build::parked(desired, named(desired, pool)?, place, live);
            Ok(writer.apply(&set.into()).await?)
        }
        Intent::FinalizeMetadata { to, .. } => {
            let client = kafka.client(desired, &addresses(desired, &observed.children));
            let controllers = client.at(Route::Controllers);
            let update =
                FeatureUpdate { feature: METADATA_VERSION.to_owned(), level: *to, step: Step::Upgrade };
            let updated = controllers.update_features(std::slice::from_ref(&update), false);
            writer.guarded(updated).await?.map_err(from_kafka)
        }
        Intent::Forget { node, retain } => drain::forget(writer, observed, node, *retain).await,
        Intent::Cordon { .. }
        | Intent::Uncordon { .. }
        | Intent::MoveReplicas { .. }
        | Intent::Throttle(_)
        | Intent::CancelMoves { .. }
        | Intent::RemoveVoter { .. }
        | Intent::Unregister { .. } => {
            let client = kafka.client(desired, &addresses(desired, &observed.children));
            drain::Drain { client, writer, desired }.act(intent).await
        }
    }
}

fn named<'a>(desired: &'a Desired, pool: &str) -> Result<&'a Pool, ActError> {
    desired.pool(pool).ok_or_else(|| ActError::Waiting(format!("the pool {pool} is gone")))
}

fn directory_id(text: &str) -> Result<Uuid, ActError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| Uuid::from_slice(&bytes).ok());
    bytes.ok_or_else(|| ActError::Application(format!("{text} is no directory id")))
}

/// The active controller is asked itself: it is the one who decides, also while no broker works.
async fn add_voter(
    kafka: &Dialer,
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    node: &str,
    id: i32,
    directory: &str,
) -> Result<(), ActError> {
    let directory = directory_id(directory)?;
    let endpoint = Endpoint {
        name: "CONTROLLER".to_owned(),
        host: desired.cluster.host(node),
        port: u16::try_from(CONTROLLER_PORT).unwrap_or_default(),
    };
    let cluster = desired.cluster_id().unwrap_or_default();
    let client = kafka.client(desired, &addresses(desired, &observed.children));
    let controllers = client.at(Route::Controllers);
    let endpoints = [endpoint];
    let added = controllers.add_voter(&cluster, id, directory, &endpoints);
    writer.guarded(added).await?.map_err(from_kafka)
}
