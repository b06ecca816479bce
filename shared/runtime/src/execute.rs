//! Carrying out a confirmed plan: applies in order, then prunes, then at most one intent, then stop.

use ballast_core::{
    object::{Children, Object},
    plan::{Intent, Plan},
};
use kube::Client;
use tracing::info;

use crate::{
    observe::{ReadError, live_object},
    operator::{ActError, Operator, ResourceKey},
    pending::{NameTaken, ours, pending},
    writer::{WriteError, Writer},
};

/// Why a pass did not do all that it planned.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    #[error("cannot apply {kind} {name}: {source}")]
    Apply { kind: &'static str, name: String, source: WriteError },
    #[error("cannot delete {kind} {name}: {source}")]
    Prune { kind: &'static str, name: String, source: WriteError },
    #[error("{reason} failed: {source}")]
    Intent { reason: &'static str, source: ActError },
}

/// What a failure means for the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Back off; tell people.
    Error,
    /// What was read is not so any more: back off, tell no one.
    Stale,
    /// Not yet; look again soon.
    Waiting,
    /// This process may not write any more.
    GateClosed,
}

impl Failure {
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Intent { source: ActError::Waiting(_), .. } => Class::Waiting,
            Self::Apply { source, .. }
            | Self::Prune { source, .. }
            | Self::Intent { source: ActError::Write(source), .. } => match source {
                WriteError::GateClosed(_) => Class::GateClosed,
                WriteError::Conflict(_) => Class::Stale,
                _ => Class::Error,
            },
            _ => Class::Error,
        }
    }

    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Read(_) => "ReadFailed",
            Self::NameTaken(_) => "NameTaken",
            Self::Apply { .. } => "ApplyFailed",
            Self::Prune { .. } => "DeleteFailed",
            Self::Intent { .. } => "IntentFailed",
        }
    }
}

/// The applies that would change something, judged by live reads; refuses what belongs to something else.
pub(crate) async fn confirmed(
    client: &Client,
    key: &ResourceKey,
    resource_uid: &str,
    children: &Children,
    apply: Vec<Object>,
) -> Result<Vec<Object>, Failure> {
    let mut changes = vec![];
    for object in apply {
        let (kind, name) = (object.kind(), object.name().to_owned());
        let live = match children.live(kind, &name) {
            Some(live) => Some(live),
            None => live_object(client, &key.namespace, kind, &name).await?,
        };
        if let Some(object) = pending(object, live.as_ref()) {
            if let Some(live) = &live {
                ours(kind, live, resource_uid)?;
            }
            changes.push(object);
        }
    }
    Ok(changes)
}

/// Carries out `plan`, whose applies are confirmed; stops at the first failure.
pub(crate) async fn execute<O: Operator>(
    operator: &O,
    writer: &Writer,
    desired: &O::Desired,
    observed: &O::Observed,
    plan: &Plan<O::Intent>,
) -> Result<(), Failure> {
    for object in &plan.apply {
        let (kind, name) = (object.kind().as_str(), object.name());
        writer.apply(object).await.map_err(|source| Failure::Apply {
            kind,
            name: name.to_owned(),
            source,
        })?;
        info!(kind, object = name, "applied");
    }
    for object in &plan.prune {
        let (kind, name) = (object.kind.as_str(), object.name.as_str());
        writer.delete(object).await.map_err(|source| Failure::Prune {
            kind,
            name: name.to_owned(),
            source,
        })?;
        info!(kind, object = name, uid = object.uid, "deleted");
    }
    if let Some(intent) = &plan.intent {
        let reason = intent.reason();
        info!(reason, "{}", intent.message());
        operator
            .act(writer, desired, observed, intent)
            .await
            .map_err(|source| Failure::Intent { reason, source })?;
    }
    Ok(())
}
