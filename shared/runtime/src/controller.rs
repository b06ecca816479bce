//! The controller: watches wake the queue, the queue starts passes, each in its lane.
//!
//! Passes are independent: one that hangs, fails or panics never stops another. They begin when this replica leads;
//! until then it watches, so that it can take over at once.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use kube::{Client, Resource};
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error, info, info_span, warn};

use crate::{
    backoff,
    health::Health,
    lease::Standing,
    operator::{Operator, ResourceKey},
    pipeline::{Ended, Pipeline},
    queue::Queue,
    watch::{Namespaces, Wake, Watches, synced},
};

const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long running passes may still take when the process is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// One operator's controller.
pub struct Controller<O: Operator> {
    pipeline: Arc<Pipeline<O>>,
    queue: Arc<Queue>,
    health: Arc<Health>,
    client: Client,
    namespaces: Namespaces,
    standing: watch::Receiver<Standing>,
    passes: JoinSet<()>,
    number: u64,
}

struct Waker<O: Operator> {
    pipeline: Arc<Pipeline<O>>,
    queue: Arc<Queue>,
    listed: Arc<Notify>,
}

impl<O: Operator> Wake for Waker<O> {
    fn wake(&self, key: ResourceKey) {
        self.queue.notice(key);
    }

    fn listed(&self) {
        self.listed.notify_one();
    }

    fn is_echo(&self, key: &ResourceKey, status: &serde_json::Value) -> bool {
        self.pipeline.memories.sent(key, status)
    }
}

impl<O: Operator> Controller<O> {
    /// A controller that runs `pipeline` over the resources in `namespaces` (empty: all), once `standing` says that this
    /// process leads.
    pub(crate) fn new(
        pipeline: Pipeline<O>,
        client: Client,
        namespaces: Namespaces,
        health: Arc<Health>,
        standing: watch::Receiver<Standing>,
    ) -> Self {
        Self {
            pipeline: Arc::new(pipeline),
            queue: Arc::default(),
            health,
            client,
            namespaces,
            standing,
            passes: JoinSet::new(),
            number: 0,
        }
    }

    /// Runs until `stop`; then lets the running passes end, and closes the gate.
    ///
    /// Returns whether all passes have ended by themselves, so that nothing of them can be under way any more.
    pub async fn run(mut self, stop: CancellationToken) -> bool {
        let listed = Arc::new(Notify::new());
        let waker =
            Waker { pipeline: self.pipeline.clone(), queue: self.queue.clone(), listed: listed.clone() };
        let watches = Watches {
            client: self.client.clone(),
            application: O::APPLICATION,
            namespaces: self.namespaces.clone(),
            caches: self.pipeline.caches.clone(),
            metrics: self.pipeline.metrics.clone(),
            wake: Arc::new(waker),
        };
        let health = self.health.clone();
        let watches = tokio::spawn(async move {
            watches.run().await;
            health.watch_ended();
        });
        if self.fill(&stop, &listed).await && self.stand_by(&stop).await {
            info!(application = O::APPLICATION, "passes begin");
            self.turn(&stop).await;
        }
        self.health.set_ready(false);
        let ended = self.drain().await;
        self.pipeline.gate.close();
        watches.abort();
        ended
    }

    /// Waits until all caches are filled; false if the process is told to stop before.
    async fn fill(&self, stop: &CancellationToken, listed: &Notify) -> bool {
        let mut heartbeat = interval(HEARTBEAT);
        while !synced(&self.pipeline.caches, &self.namespaces) {
            tokio::select! {
                () = stop.cancelled() => return false,
                () = listed.notified() => {}
                _ = heartbeat.tick() => {}
            }
            self.health.beat();
        }
        true
    }

    /// Waits until this process leads; false if it is told to stop before.
    async fn stand_by(&mut self, stop: &CancellationToken) -> bool {
        let mut heartbeat = interval(HEARTBEAT);
        loop {
            let standing = self.standing.borrow_and_update().clone();
            self.health.set_standby(standing != Standing::Leading);
            // A replica that cannot even read the lease would never take over.
            self.health.set_ready(standing != Standing::Unknown);
            if standing == Standing::Leading {
                return true;
            }
            tokio::select! {
                () = stop.cancelled() => return false,
                Ok(()) = self.standing.changed() => {}
                _ = heartbeat.tick() => {}
            }
            self.health.beat();
        }
    }

    async fn turn(&mut self, stop: &CancellationToken) {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = heartbeat.tick() => self.health.beat(),
                Some(_) = self.passes.join_next(), if !self.passes.is_empty() => {}
                key = self.queue.next() => self.start(key, stop),
            }
        }
    }

    fn start(&mut self, key: ResourceKey, stop: &CancellationToken) {
        self.number += 1;
        let generation = self
            .pipeline
            .caches
            .resources
            .named(&key, &key.name)
            .and_then(|resource| resource.meta().generation);
        let span = info_span!(
            "reconcile",
            controller = O::APPLICATION,
            namespace = key.namespace,
            // Not `name`: in JSON that is the span's own.
            resource = key.name,
            generation,
            reconcile_id = self.number,
        );
        let pass = pass(self.pipeline.clone(), self.queue.clone(), key, stop.clone());
        self.passes.spawn(pass.instrument(span));
    }

    async fn drain(&mut self) -> bool {
        let all = async { while self.passes.join_next().await.is_some() {} };
        let ended = tokio::time::timeout(DRAIN, all).await.is_ok();
        if !ended {
            warn!(passes = self.passes.len(), "passes are still running and are given up");
            self.passes.abort_all();
        }
        ended
    }
}

async fn pass<O: Operator>(
    pipeline: Arc<Pipeline<O>>,
    queue: Arc<Queue>,
    key: ResourceKey,
    stop: CancellationToken,
) {
    let turn = tokio::select! {
        biased;
        () = stop.cancelled() => return,
        turn = pipeline.lanes.enter(&key) => turn,
    };
    queue.begin(&key);
    let running = pipeline.metrics.pass_begins();
    let start = Instant::now();
    let ended = AssertUnwindSafe(pipeline.pass(&key, &turn)).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        error!(panic = text, "the pass panicked");
        Ended::failed(backoff::after_failures(&key.name, u32::MAX))
    });
    pipeline.metrics.pass_ended(ended.result, start.elapsed());
    drop((running, turn));
    queue.done(key, ended.next);
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
