//! Carrying out a confirmed plan: applies, StatefulSets last, then prunes, then at most one intent, then stop.

use ballast_core::{
    object::{Children, Kind, Object},
    plan::{Intent, Plan},
};
use futures::future::{join_all, try_join_all};
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
    let look = |object: Object| async move {
        let (kind, name) = (object.kind(), object.name().to_owned());
        let live = match children.live(kind, &name) {
            Some(live) => Some(live),
            None => live_object(client, &key.namespace, kind, &name).await?,
        };
        let change = pending(object, live.as_ref());
        if let (Some(_), Some(live)) = (&change, &live) {
            ours(kind, live, resource_uid)?;
        }
        Ok::<_, Failure>(change)
    };
    // Reads only: nothing is lost when the others are given up at the first failure.
    let changes = try_join_all(apply.into_iter().map(look)).await?;
    Ok(changes.into_iter().flatten().collect())
}

/// Carries out `plan`, whose applies are confirmed; after a failure nothing more is begun.
pub(crate) async fn execute<O: Operator>(
    operator: &O,
    writer: &Writer,
    desired: &O::Desired,
    observed: &O::Observed,
    plan: &Plan<O::Intent>,
) -> Result<(), Failure> {
    let (sets, others): (Vec<&Object>, Vec<&Object>) =
        plan.apply.iter().partition(|object| object.kind() == Kind::StatefulSet);
    for together in [others, sets] {
        apply(writer, together).await?;
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

/// Applies objects that do not depend on each other: all at once, begun in their order.
async fn apply(writer: &Writer, objects: Vec<&Object>) -> Result<(), Failure> {
    // All of them end before the first failure is told: a write that was begun is not given up.
    join_all(objects.into_iter().map(|object| apply_one(writer, object))).await.into_iter().collect()
}

async fn apply_one(writer: &Writer, object: &Object) -> Result<(), Failure> {
    let (kind, name) = (object.kind().as_str(), object.name());
    let applied = writer.apply(object).await;
    applied.map_err(|source| Failure::Apply { kind, name: name.to_owned(), source })?;
    info!(kind, object = name, "applied");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::Ordering};

    use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::ConfigMap};
    use serde_json::json;

    use super::*;
    use crate::{
        fake_api::FakeApi,
        gate::Gate,
        metrics::Metrics,
        operator_tests::{Desired, Poke, ThingOperator},
    };

    async fn carried_out(api: &Arc<FakeApi>) -> (Result<(), Failure>, usize) {
        let gate = Arc::new(Gate::open());
        let writer = Writer::new(api.client(), "thing", "n", gate, Arc::new(Metrics::new("thing", "1")));
        let map = |name: &str| -> ConfigMap {
            serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
        };
        let set: StatefulSet = serde_json::from_value(json!({ "metadata": { "name": "s" } })).unwrap();
        let plan = Plan {
            apply: vec![map("a").into(), set.into(), map("b").into()],
            intent: Some(Poke),
            ..Plan::default()
        };
        let (operator, desired) = (ThingOperator::default(), Desired { config_map: map("a") });
        let outcome = execute(&operator, &writer, &desired, &Children::default(), &plan).await;
        (outcome, operator.pokes.load(Ordering::SeqCst))
    }

    #[tokio::test]
    async fn stateful_sets_come_last_and_the_intent_after_them() {
        let api = Arc::new(FakeApi::default());
        let (outcome, pokes) = carried_out(&api).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(
            (api.taken_log(), pokes),
            (["PATCH a", "PATCH b", "PATCH s"].map(str::to_owned).to_vec(), 1)
        );
    }

    #[tokio::test]
    async fn after_a_failure_nothing_more_is_begun() {
        let api = Arc::new(FakeApi::default());
        api.refuse(Some("/api/v1/namespaces/n/configmaps/a"));
        let (outcome, pokes) = carried_out(&api).await;
        assert!(matches!(outcome, Err(Failure::Apply { name, .. }) if name == "a"));
        assert_eq!((api.taken_log(), pokes), (["PATCH a", "PATCH b"].map(str::to_owned).to_vec(), 0));
    }
}
