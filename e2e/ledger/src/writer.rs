//! The loop that writes, and what people may ask of it meanwhile.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::{
    etcd::Etcd,
    record::{Ledger, Verdict},
};

/// One run of writing.
pub(crate) struct Writer {
    run: String,
    started: Instant,
    started_at: Timestamp,
    interval: Duration,
    ledger: Mutex<Ledger>,
    writing: watch::Sender<bool>,
    /// Held during each request: who has it knows that no write is on its way.
    etcd: AsyncMutex<Etcd>,
}

/// Figures of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    run: String,
    state: State,
    started_at: String,
    acknowledged: u64,
    failed: u64,
    longest_gap_ms: u64,
    longest_gap_at: Option<String>,
    last_acknowledged_at: Option<String>,
    last_error: Option<String>,
    last_error_at: Option<String>,
    records: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Writing,
    Paused,
    /// The records that may be kept in memory are used up: nothing is written any more.
    Full,
}

impl Writer {
    /// Writes nothing before [`Writer::work`] is awaited.
    pub(crate) fn new(run: String, ledger: Ledger, etcd: Etcd, interval: Duration) -> Self {
        Self {
            run,
            started: Instant::now(),
            started_at: Timestamp::now(),
            interval,
            ledger: Mutex::new(ledger),
            writing: watch::Sender::new(true),
            etcd: AsyncMutex::new(etcd),
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The wall-clock time of a moment of this run.
    fn wall(&self, moment: u64) -> Option<String> {
        let offset = SignedDuration::from_millis(i64::try_from(moment).ok()?);
        let time = self.started_at.checked_add(offset).ok()?;
        Some(format!("{time:.3}"))
    }

    /// Writes until the ledger is full; never returns before.
    pub(crate) async fn work(&self) {
        let mut writing = self.writing.subscribe();
        let mut was_failing = false;
        while writing.wait_for(|writing| *writing).await.is_ok() {
            let next = Instant::now() + self.interval;
            {
                let mut etcd = self.etcd.lock().await;
                // Paused while waiting for the turn.
                if !*self.writing.borrow() {
                    continue;
                }
                if !self.write(&mut etcd, &mut was_failing).await {
                    tracing::warn!("the ledger is full: nothing is written any more");
                    return;
                }
            }
            tokio::time::sleep_until(next.into()).await;
        }
    }

    async fn write(&self, etcd: &mut Etcd, was_failing: &mut bool) -> bool {
        let (attempt, key) = {
            let mut ledger = self.ledger();
            let Some(attempt) = ledger.next() else { return false };
            let key = ledger.key(&attempt);
            (attempt, key)
        };
        let answer = etcd.put(key, Ledger::value(&attempt)).await;
        let now = self.now();
        match answer {
            Ok(acknowledgement) => {
                self.ledger().acknowledge(&attempt, acknowledgement, now);
                if std::mem::take(was_failing) {
                    tracing::info!("writes are acknowledged again");
                }
            }
            Err(error) => {
                let error = format!("{error:#}");
                if !std::mem::replace(was_failing, true) {
                    tracing::warn!("a write failed: {error}");
                }
                self.ledger().fail(&attempt, error, now);
            }
        }
        true
    }

    /// Stops writing; a request on its way is finished first.
    pub(crate) async fn pause(&self) {
        self.writing.send_replace(false);
        let _turn = self.etcd.lock().await;
        let now = self.now();
        self.ledger().pause(now);
    }

    /// Writes again.
    pub(crate) fn resume(&self) {
        let now = self.now();
        self.ledger().resume(now);
        self.writing.send_replace(true);
    }

    /// Forgets the longest gap.
    pub(crate) fn reset_gap(&self) {
        let now = self.now();
        self.ledger().reset_gap(now);
    }

    /// Stops writing, and compares everything that was acknowledged with what can be read.
    pub(crate) async fn verify(&self) -> Verdict {
        self.pause().await;
        let prefix = self.ledger().prefix().to_owned();
        let read = self.etcd.lock().await.read_all(&prefix).await;
        let ledger = self.ledger();
        match read {
            Ok(stored) => ledger.verify(&stored, vec![]),
            Err(error) => ledger.verify(&std::collections::BTreeMap::new(), vec![format!("{error:#}")]),
        }
    }

    /// Figures up to now.
    pub(crate) fn stats(&self) -> Stats {
        let now = self.now();
        let ledger = self.ledger();
        let gap = ledger.gap(now);
        let error = ledger.last_error();
        Stats {
            run: self.run.clone(),
            state: match *self.writing.borrow() {
                _ if ledger.is_full() => State::Full,
                true => State::Writing,
                false => State::Paused,
            },
            started_at: format!("{:.3}", self.started_at),
            acknowledged: ledger.acknowledged(),
            failed: ledger.failed(),
            longest_gap_ms: gap.longest(),
            longest_gap_at: gap.ended().and_then(|moment| self.wall(moment)),
            last_acknowledged_at: ledger.last_acknowledged().and_then(|moment| self.wall(moment)),
            last_error: error.map(|(_, error)| error.to_owned()),
            last_error_at: error.and_then(|(moment, _)| self.wall(moment)),
            records: ledger.records(),
        }
    }
}
