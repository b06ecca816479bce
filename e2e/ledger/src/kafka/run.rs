//! The loops that write and read, and what people may ask of them meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use rdkafka::{
    consumer::StreamConsumer,
    error::KafkaError,
    producer::{FutureProducer, FutureRecord, future_producer::DeliveryFuture},
};
use serde::Serialize;
use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval, timeout},
};

use super::{
    client::{self, Topic},
    insync::{InSync, Watcher},
    record::{Ledger, Live, Place, Read, Verdict},
};

/// Records kept in memory, at most.
const RECORDS: usize = 1_000_000;
/// Time between two looks for, and later at, the topic.
const LOOK: Duration = Duration::from_millis(500);
/// Reading everything back may take this long without coming to the end.
const READ: Duration = Duration::from_secs(40);

/// One run of writing.
pub(super) struct Run {
    topic: Topic,
    interval: Duration,
    size: usize,
    patience: Duration,
    started: Instant,
    started_at: Timestamp,
    writing: watch::Sender<bool>,
    keys: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until the topic is there.
    ledger: Option<Ledger>,
    partitions: i32,
    live: Live,
    in_sync: InSync,
}

/// Figures of a run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stats {
    run: String,
    state: &'static str,
    started_at: String,
    partitions: i32,
    records: usize,
    acknowledged: u64,
    failed: u64,
    failures: BTreeMap<String, u64>,
    unknown: u64,
    longest_gap_ms: u64,
    longest_gap_at: Option<String>,
    last_acknowledged_at: Option<String>,
    last_error: Option<String>,
    last_error_at: Option<String>,
    live: Live,
    in_sync: InSync,
}

/// The verdict, with what the consumer saw that read meanwhile.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    #[serde(flatten)]
    verdict: Verdict,
    longest_gap_ms: u64,
    live: Live,
    in_sync: InSync,
}

impl Run {
    /// Does nothing before [`Run::work`] is awaited.
    pub(super) fn new(topic: Topic, interval: Duration, keys: u64, size: usize, patience: Duration) -> Self {
        Self {
            topic,
            interval,
            size,
            patience,
            started: Instant::now(),
            started_at: Timestamp::now(),
            writing: watch::Sender::new(true),
            keys,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wall(&self, moment: u64) -> Option<String> {
        let offset = SignedDuration::from_millis(i64::try_from(moment).ok()?);
        Some(format!("{:.3}", self.started_at.checked_add(offset).ok()?))
    }

    /// Waits for the topic, then writes until it is stopped or the ledger is full, and reads for ever.
    pub(super) async fn work(self: Arc<Self>) -> Result<()> {
        let partitions = self.find().await?;
        {
            let mut state = self.state();
            state.partitions = partitions;
            state.ledger = Some(Ledger::new(partitions, self.keys, RECORDS));
        }
        let producer = self.topic.producer(self.patience)?;
        let consumer = self.topic.consumer(partitions, false)?;
        let watcher = Watcher::new(&self.topic)?;
        tokio::select! {
            () = self.watch(&watcher) => Ok(()),
            never = self.read(&consumer) => never,
            () = self.write(&producer) => self.read(&consumer).await,
        }
    }

    /// Looks how many replicas are in sync, until writing has been stopped; then it never returns.
    async fn watch(&self, watcher: &Watcher) {
        let mut tick = interval(LOOK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while *self.writing.borrow() {
            tick.tick().await;
            if let Some(partitions) = watcher.look(&self.topic.name).await {
                self.state().in_sync.see(&partitions);
            }
        }
        std::future::pending::<()>().await;
    }

    async fn find(&self) -> Result<i32> {
        let mut told = false;
        loop {
            let topic = self.topic.clone();
            match spawn_blocking(move || topic.partitions()).await? {
                Ok(partitions) => return Ok(partitions),
                Err(error) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!("waiting for the topic: {error:#}");
                    }
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    async fn write(self: &Arc<Self>, producer: &FutureProducer) {
        let mut tick = interval(self.interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut writing = self.writing.subscribe();
        loop {
            tokio::select! {
                biased;
                _ = writing.wait_for(|writing| !writing) => return,
                _ = tick.tick() => {}
            }
            let attempt = self.state().ledger.as_mut().and_then(Ledger::next);
            let Some(attempt) = attempt else {
                tracing::warn!("the ledger is full: nothing is written any more");
                return;
            };
            let (key, value) = (format!("{:08}", attempt.key), self.topic.value(attempt.number, self.size));
            let record =
                FutureRecord::to(&self.topic.name).partition(attempt.partition).key(&key).payload(&value);
            match producer.send_result(record) {
                Ok(delivery) => drop(tokio::spawn(Arc::clone(self).settle(attempt.number, delivery))),
                Err((error, _)) => self.failed(attempt.number, &error),
            }
        }
    }

    async fn settle(self: Arc<Self>, number: u64, delivery: DeliveryFuture) {
        match delivery.await {
            Ok(Ok(delivery)) => {
                let place = Place { partition: delivery.partition, offset: delivery.offset };
                let now = self.now();
                if let Some(ledger) = &mut self.state().ledger {
                    ledger.acknowledge(number, place, now);
                }
            }
            Ok(Err((error, _))) => self.failed(number, &error),
            // The producer is gone: nothing was heard of it, and nothing will be.
            Err(_) => {}
        }
    }

    fn failed(&self, number: u64, error: &KafkaError) {
        let now = self.now();
        if let Some(ledger) = &mut self.state().ledger {
            if ledger.failures().is_empty() {
                tracing::warn!("record {number} failed: {error}");
            }
            ledger.fail(number, client::code(error), now);
        }
    }

    async fn read(&self, consumer: &StreamConsumer) -> Result<()> {
        let mut last_error = None;
        loop {
            match consumer.recv().await {
                Ok(message) => {
                    if let Some(read) = self.topic.read(&message) {
                        self.state().live.see(read);
                    }
                }
                Err(error) => {
                    // It goes on by itself; told once for each kind.
                    let code = client::code(&error);
                    if last_error.as_ref() != Some(&code) {
                        tracing::warn!("the consumer: {error}");
                        last_error = Some(code);
                    }
                }
            }
        }
    }

    /// Stops writing. What is on its way goes on: `unknown` of the figures tells when it is 0.
    pub(super) fn stop(&self) {
        let now = self.now();
        if self.writing.send_replace(false)
            && let Some(ledger) = &mut self.state().ledger
        {
            ledger.stop(now);
        }
    }

    /// Forgets the longest gap.
    pub(super) fn reset_gap(&self) {
        let now = self.now();
        if let Some(ledger) = &mut self.state().ledger {
            ledger.reset_gap(now);
        }
    }

    /// Stops writing, and compares everything with what the topic holds.
    pub(super) async fn verify(&self) -> Report {
        self.stop();
        let (partitions, ends) = {
            let state = self.state();
            (state.partitions, state.ledger.as_ref().map(Ledger::ends))
        };
        let read = match ends {
            Some(ends) => self.read_all(partitions, &ends).await,
            None => Err(anyhow::anyhow!("the topic {} was never there", self.topic.name)),
        };
        let (read, errors) = match read {
            Ok(read) => (read, vec![]),
            Err(error) => (vec![], vec![format!("{error:#}")]),
        };
        let now = self.now();
        let state = self.state();
        let none = Ledger::new(0, 0, 0);
        let ledger = state.ledger.as_ref().unwrap_or(&none);
        Report {
            verdict: ledger.verify(&read, errors),
            longest_gap_ms: ledger.gap(now).longest(),
            live: state.live.clone(),
            in_sync: state.in_sync.clone(),
        }
    }

    /// Everything in the topic. What is not there when a partition has ended before `ends` may still come after a change of
    /// leaders: it is waited for, as long as reading may take. An end that was not reached for another reason is an error.
    async fn read_all(&self, partitions: i32, ends: &BTreeMap<i32, i64>) -> Result<Vec<Read>> {
        let consumer = self.topic.consumer(partitions, true)?;
        let mut read = vec![];
        let mut next: BTreeMap<i32, i64> = BTreeMap::new();
        let mut ended: BTreeSet<i32> = BTreeSet::new();
        let mut last_error = None;
        let all = timeout(READ, async {
            let done = |next: &BTreeMap<i32, i64>, ended: &BTreeSet<i32>| {
                ends.iter().all(|(partition, end)| {
                    ended.contains(partition) && next.get(partition).copied().unwrap_or(0) >= *end
                })
            };
            while !done(&next, &ended) {
                match consumer.recv().await {
                    Ok(message) => {
                        let partition = rdkafka::Message::partition(&message);
                        next.insert(partition, rdkafka::Message::offset(&message) + 1);
                        ended.remove(&partition);
                        read.extend(self.topic.read(&message));
                    }
                    Err(KafkaError::PartitionEOF(partition)) => {
                        ended.insert(partition);
                    }
                    Err(error) => last_error = Some(error),
                }
            }
        })
        .await;
        // Its end waits for a thread.
        spawn_blocking(move || drop(consumer)).await?;
        if all.is_err() && ended.len() < ends.len() {
            let why = last_error.map_or_else(|| "it took too long".into(), |error| error.to_string());
            anyhow::bail!(
                "read {} of {} partitions to their end within {READ:?}: {why}",
                ended.len(),
                ends.len()
            );
        }
        Ok(read)
    }

    /// Figures up to now.
    pub(super) fn stats(&self) -> Stats {
        let now = self.now();
        let state = self.state();
        let mut figures = Stats {
            run: self.topic.run.clone(),
            state: "Waiting",
            started_at: format!("{:.3}", self.started_at),
            partitions: state.partitions,
            live: state.live.clone(),
            in_sync: state.in_sync.clone(),
            ..Stats::default()
        };
        let Some(ledger) = &state.ledger else { return figures };
        let gap = ledger.gap(now);
        figures.state = match *self.writing.borrow() {
            _ if ledger.is_full() => "Full",
            true => "Writing",
            false => "Stopped",
        };
        figures.records = ledger.records();
        figures.acknowledged = ledger.acknowledged();
        figures.failed = ledger.failures().values().sum();
        figures.failures.clone_from(ledger.failures());
        figures.unknown = ledger.unknown();
        figures.longest_gap_ms = gap.longest();
        figures.longest_gap_at = gap.ended().and_then(|moment| self.wall(moment));
        figures.last_acknowledged_at = ledger.last_acknowledged().and_then(|moment| self.wall(moment));
        figures.last_error = ledger.last_error().map(|(_, code)| code.to_owned());
        figures.last_error_at = ledger.last_error().and_then(|(moment, _)| self.wall(moment));
        figures
    }
}
