//! The canary: beside the passes, a task for each cluster that wants it writes a record through each broker and reads it back.
//!
//! The leading replica starts it at the end of a pass, and ends it with the cluster, with the wish, or with itself. Whatever it sends, it asks the
//! gate before.

mod figures;
mod probe;
mod round;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ballast_core::bootstrap::Record;
use ballast_kafka_core::{
    build,
    canary::Outcomes,
    observed::{Observed, addresses},
    validate::Desired,
};
use ballast_runtime::{operator::ResourceKey, writer::Writer};
use prometheus_client::registry::Registry;
use tokio::{sync::watch, task::JoinHandle};

use crate::{client::Client, nodes::Dialer};

use figures::Figures;
pub use probe::Probe;
pub use round::{Found, Round};

/// What is older than so many intervals tells nothing.
const STALE: u32 = 3;

/// What a task has to know of its cluster; told anew by each pass.
#[derive(Clone)]
pub struct Wanted {
    /// Reaches the brokers at the addresses of their pods.
    pub client: Client,
    /// `host:port` of brokers, separated by commas.
    pub bootstrap: String,
    /// The brokers through which records are to go.
    pub brokers: BTreeSet<i32>,
    /// Whether it is known which brokers are being emptied, so that the topic may be made.
    pub settled: bool,
    /// From record to record.
    pub interval: Duration,
    /// What everything that is sent has to pass.
    pub writer: Writer,
}

/// The canaries of all clusters.
#[derive(Debug, Default)]
pub struct Canaries {
    running: Mutex<BTreeMap<ResourceKey, Running>>,
    figures: Figures,
}

/// What the last round led to, and when.
type Last = Arc<Mutex<Option<(Instant, Outcomes)>>>;

#[derive(Debug)]
struct Running {
    uid: String,
    wanted: watch::Sender<Wanted>,
    interval: Duration,
    last: Last,
    task: JoinHandle<()>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").field("brokers", &self.brokers).finish_non_exhaustive()
    }
}

impl Canaries {
    /// Adds their metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        self.figures.register(registry);
    }

    /// What became of the last records of the cluster with this uid; `None`: there were none, or not for long.
    pub(crate) fn outcomes(&self, uid: &str) -> Option<Outcomes> {
        let all = self.all();
        let running = all.values().find(|running| running.uid == uid)?;
        let last = running.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, outcomes) = last.as_ref()?;
        (at.elapsed() <= running.interval * STALE + round::LONGEST).then(|| outcomes.clone())
    }

    /// Starts the canary of a cluster, tells it what is wanted now, or ends it.
    pub(crate) fn tend(
        &self,
        key: &ResourceKey,
        desired: &Desired,
        observed: &Observed,
        kafka: Dialer,
        writer: &Writer,
    ) {
        let started = observed.record.as_ref().ok().and_then(Option::as_ref);
        let started = started.is_some_and(|found| matches!(found.record, Record::Started { .. }));
        let (Some(interval), true) = (desired.canary, started && !desired.paused) else {
            return self.forget(key);
        };
        let all = desired.with_departing(&observed.children);
        let wanted = Wanted {
            client: kafka.client(&all, &addresses(&all, &observed.children)),
            bootstrap: build::bootstrap_servers(desired),
            brokers: observed.canary_brokers(desired),
            settled: !matches!(observed.relocation, Some(Err(_))),
            interval,
            writer: writer.clone(),
        };
        let uid = &desired.cluster.labels.uid;
        if let Some(running) = self.all().get_mut(key).filter(|running| running.uid == *uid) {
            running.interval = interval;
            running.wanted.send_replace(wanted);
            return;
        }
        self.forget(key);
        let last = Last::default();
        let (sender, receiver) = watch::channel(wanted);
        let task = tokio::spawn(watch_over(receiver, last.clone(), self.figures.clone(), key.clone()));
        let running = Running { uid: uid.clone(), wanted: sender, interval, last, task };
        self.all().insert(key.clone(), running);
    }

    /// Ends the canary of a cluster. Its metrics go with it, when its last round is over.
    pub(crate) fn forget(&self, key: &ResourceKey) {
        // The task ends when nobody can tell it any more what is wanted.
        drop(self.all().remove(key).map(|running| running.task));
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ResourceKey, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Round after round, until nothing is wanted any more.
async fn watch_over(mut wanted: watch::Receiver<Wanted>, last: Last, figures: Figures, key: ResourceKey) {
    let mut round = Round::default();
    loop {
        let now = wanted.borrow_and_update().clone();
        let next = tokio::time::Instant::now() + now.interval;
        let found = round.run(&now).await;
        figures.count(&key, &found, &now.brokers);
        let outcomes = found.into_iter().map(|(id, found)| (id, found.outcome)).collect();
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), outcomes));
        let ended = async { while wanted.changed().await.is_ok() {} };
        if tokio::time::timeout_at(next, ended).await.is_ok() {
            break;
        }
    }
    round.end().await;
    figures.forget(&key);
}
