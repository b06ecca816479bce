//! One pass over one resource.
//!
//! Validate, observe with the caches, plan. If the plan holds anything, or has waited for long: read everything again
//! live, plan again, and carry out *that* plan. Last, the status. A pass never waits for something to become true; it says when to look
//! again.

use std::{sync::Arc, time::Duration};

use ballast_core::{
    invalid::Invalid,
    object::{Children, Kind, Object},
    plan::{Intent, Plan},
};
use kube::{Client, Resource, ResourceExt};

use crate::{
    cache::Caches,
    events::Events,
    execute::{Failure, confirmed, execute},
    gate::Gate,
    lane::{Lanes, Turn},
    memory::{Memories, Memory},
    metrics::Metrics,
    observe::{live_children, live_object, live_resource},
    operator::{Operator, ResourceKey},
    pending::pending,
    server_time::ServerTime,
    writer::Writer,
};

/// How long a pass may take, without the time that it waits for its turn.
const DEADLINE: Duration = Duration::from_secs(10);

/// Everything that a pass needs.
#[derive(Debug)]
pub struct Pipeline<O: Operator> {
    pub(crate) operator: O,
    pub(crate) caches: Arc<Caches<O::Resource>>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Events,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) memories: Memories<O::Resource>,
    pub(crate) time: Arc<ServerTime>,
    pub(crate) resync: Duration,
    client: SilentClient,
}

/// A client that has nothing to say for itself.
struct SilentClient(Client);

impl std::fmt::Debug for SilentClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When to look again if nothing changes; `None`: not before something does.
    pub next: Option<Duration>,
    /// `success`, `requeue_after` or `error`, as in controller-runtime's metric.
    pub result: &'static str,
}

impl Ended {
    pub(crate) const AWAIT_CHANGE: Self = Self { next: None, result: "success" };

    pub(crate) fn after(delay: Duration) -> Self {
        Self { next: Some(delay), result: "requeue_after" }
    }

    pub(crate) fn failed(delay: Duration) -> Self {
        Self { next: Some(delay), result: "error" }
    }
}

/// What one look at a resource led to.
pub(crate) struct Planned<O: Operator> {
    pub(crate) desired: O::Desired,
    pub(crate) observed: O::Observed,
    pub(crate) plan: Plan<O::Intent>,
}

/// What a pass did, to be told in the status, in events and in metrics.
pub(crate) enum Done<O: Operator> {
    Invalid(Vec<Invalid>),
    Planned {
        planned: Planned<O>,
        failure: Option<Failure>,
        /// Whether something was sent.
        acted: bool,
    },
}

impl<O: Operator> Pipeline<O> {
    /// A pipeline for `operator`.
    pub fn new(
        operator: O,
        client: Client,
        caches: Arc<Caches<O::Resource>>,
        gate: Arc<Gate>,
        metrics: Arc<Metrics>,
        time: Arc<ServerTime>,
        resync: Duration,
    ) -> Self {
        let events = Events::spawn(client.clone(), O::APPLICATION, gate.clone());
        let lanes = Arc::new(Lanes::default());
        let client = SilentClient(client);
        Self {
            operator,
            caches,
            gate,
            metrics,
            events,
            lanes,
            memories: Memories::default(),
            time,
            resync,
            client,
        }
    }

    /// One pass over `key`, in its turn.
    pub async fn pass(&self, key: &ResourceKey, turn: &Turn) -> Ended {
        let Some(resource) = self.resource(key) else {
            self.tell_companions_without_cluster(key).await;
            return Ended::AWAIT_CHANGE;
        };
        let uid = resource.uid().unwrap_or_default();
        let memory = self.memories.of(key, &uid);
        let mut memory = memory.lock().await;
        if memory.uid != uid {
            *memory = Memory::of(uid);
        }
        let resource = memory.newest(resource);
        let reference = resource.object_ref(&());
        // On the heap only while it runs: passes that wait for their turn stay small.
        let steps = Box::pin(self.steps(key, resource, &mut memory, turn));
        match turn.within(DEADLINE, steps).await {
            Ok(ended) => ended,
            Err(late) => self.failed(&mut memory, "PassDeadline", &late.to_string(), &reference),
        }
    }

    /// The resource as the cache has it, unless it is gone, going, or cannot be read.
    fn resource(&self, key: &ResourceKey) -> Option<O::Resource> {
        let Some(guarded) = self.caches.resources.named(key, &key.name) else {
            self.forget(key);
            return None;
        };
        match &guarded.0 {
            Ok(resource) if resource.meta().deletion_timestamp.is_some() => {
                self.forget(key);
                None
            }
            Ok(resource) => {
                self.metrics.set_unparsable(key, false);
                Some(resource.clone())
            }
            Err(invalid) => {
                self.unparsable(key, invalid);
                None
            }
        }
    }

    async fn steps(
        &self,
        key: &ResourceKey,
        resource: O::Resource,
        memory: &mut Memory<O::Resource>,
        turn: &Turn,
    ) -> Ended {
        let done = match self.look(&resource, self.caches.children(key), turn).await {
            Err(invalid) => Done::Invalid(invalid),
            Ok(mut planned) => match self.changes(key, &mut planned.plan).await {
                Err(failure) => Done::Planned { planned, failure: Some(failure), acted: false },
                Ok(()) if !memory.patience.is_over(&planned.plan, self.resync) && planned.plan.is_empty() => {
                    Done::Planned { planned, failure: None, acted: false }
                }
                Ok(()) => match self.confirm(key, &resource, turn).await {
                    Err(failure) => Done::Planned { planned, failure: Some(failure), acted: false },
                    Ok(None) => return Ended::AWAIT_CHANGE,
                    Ok(Some((fresh, Err(invalid)))) => {
                        return self.finish(key, &fresh, memory, Done::Invalid(invalid)).await;
                    }
                    Ok(Some((fresh, Ok(planned)))) => {
                        let done = self.carry_out(key, &fresh, memory, planned).await;
                        return self.finish(key, &fresh, memory, done).await;
                    }
                },
            },
        };
        self.finish(key, &resource, memory, done).await
    }

    /// Validates, observes and plans.
    async fn look(
        &self,
        resource: &O::Resource,
        children: Children,
        turn: &Turn,
    ) -> Result<Planned<O>, Vec<Invalid>> {
        let desired = self.operator.validate(resource)?;
        let observed = turn
            .probe(self.operator.observe(resource, &desired, children), |seen| self.operator.answered(seen))
            .await;
        let plan = self.operator.plan(&desired, &observed, self.time.now());
        Ok(Planned { desired, observed, plan })
    }

    /// Leaves in `plan` only the applies that would change something, as far as the caches know.
    async fn changes(&self, key: &ResourceKey, plan: &mut Plan<O::Intent>) -> Result<(), Failure> {
        let mut changes: Vec<Object> = vec![];
        for object in std::mem::take(&mut plan.apply) {
            changes.extend(match object.kind() {
                Kind::Secret => {
                    let name = object.name();
                    let live = live_object(&self.client.0, &key.namespace, Kind::Secret, name).await?;
                    pending(object, live.as_ref())
                }
                _ => self.caches.pending(key, object),
            });
        }
        plan.apply = changes;
        Ok(())
    }

    /// Looks again with live reads only; `None` when the resource is gone, going, or another one.
    #[allow(clippy::type_complexity)]
    async fn confirm(
        &self,
        key: &ResourceKey,
        resource: &O::Resource,
        turn: &Turn,
    ) -> Result<Option<(O::Resource, Result<Planned<O>, Vec<Invalid>>)>, Failure> {
        let client = &self.client.0;
        let kinds = self.companion_kinds();
        let children = Box::pin(live_children(client, O::APPLICATION, &kinds, key));
        let (fresh, children) = tokio::join!(live_resource::<O::Resource>(client, key), children);
        let Some(fresh) = fresh? else { return Ok(None) };
        if fresh.uid() != resource.uid() || fresh.meta().deletion_timestamp.is_some() {
            return Ok(None);
        }
        let children = children?;
        let mut planned = match self.look(&fresh, children.clone(), turn).await {
            Ok(planned) => planned,
            Err(invalid) => return Ok(Some((fresh, Err(invalid)))),
        };
        let apply = std::mem::take(&mut planned.plan.apply);
        let uid = fresh.uid().unwrap_or_default();
        planned.plan.apply = confirmed(client, key, &uid, &children, apply).await?;
        Ok(Some((fresh, Ok(planned))))
    }

    async fn carry_out(
        &self,
        key: &ResourceKey,
        resource: &O::Resource,
        memory: &mut Memory<O::Resource>,
        planned: Planned<O>,
    ) -> Done<O> {
        if planned.plan.is_empty() {
            return Done::Planned { planned, failure: None, acted: false };
        }
        self.announce(resource, memory, &planned.plan);
        let writer = self.writer(key);
        let Planned { desired, observed, plan } = &planned;
        let result = execute(&self.operator, &writer, desired, observed, plan).await;
        if let (Ok(()), Some(intent)) = (&result, &plan.intent) {
            self.metrics.intended(intent.reason());
        }
        Done::Planned { planned, failure: result.err(), acted: true }
    }

    pub(crate) fn writer(&self, key: &ResourceKey) -> Writer {
        let (gate, metrics) = (self.gate.clone(), self.metrics.clone());
        Writer::new(self.client.0.clone(), O::APPLICATION, &key.namespace, gate, metrics)
    }

    fn forget(&self, key: &ResourceKey) {
        self.memories.forget(key);
        self.metrics.forget(key);
        self.lanes.forget(key);
        self.operator.forget(key);
    }
}

#[cfg(test)]
#[path = "pipeline_tests.rs"]
mod tests;
