//! Carries out one intent: its ordered requests, each safe to repeat, each through the gate.

mod start;

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
    client::{Endpoint, Error, Route},
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
    }
}

fn named<'a>(desired: &'a Desired, pool: &str) -> Result<&'a Pool, ActError> {
    desired.pool(pool).ok_or_else(|| ActError::Waiting(format!("the pool {pool} is gone")))
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
    let bytes = URL_SAFE_NO_PAD.decode(directory).ok().and_then(|bytes| Uuid::from_slice(&bytes).ok());
    let directory = bytes.ok_or_else(|| ActError::Application(format!("{directory} is no directory id")))?;
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
