//! Lanes: clusters that do not answer delay no one.
//!
//! A pass needs a permit for the work it does with the API server. The fast lane has many, the slow lane few; a
//! cluster whose application did not answer last time, or whose pass ran out of time, waits in the slow lane. While
//! a pass waits for an application, which costs nothing, it keeps its permit only for a moment ([`PATIENCE`]), so
//! that many clusters that fall silent at the same time do not hold up the first pass of the others.
//!
//! A pass also has a deadline; the time it waits for a permit does not count.

use std::{
    collections::HashSet,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep_until, timeout},
};

use crate::operator::ResourceKey;

/// Passes at the same time of clusters that answer.
pub const FAST: usize = 8;
/// Passes at the same time of clusters that do not.
pub const SLOW: usize = 2;
/// How long a pass may wait for an application and keep its permit.
pub const PATIENCE: Duration = Duration::from_millis(200);

/// The pass took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pass deadline: it did not end within {} s", .0.as_secs())]
pub struct DeadlinePassed(pub Duration);

/// Both lanes, and who belongs to the slow one.
#[derive(Debug)]
pub struct Lanes {
    fast: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    silent: Mutex<HashSet<ResourceKey>>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            fast: Arc::new(Semaphore::new(FAST)),
            slow: Arc::new(Semaphore::new(SLOW)),
            silent: Mutex::new(HashSet::new()),
        }
    }
}

impl Lanes {
    /// Waits for a permit of the lane that `key` belongs to.
    pub async fn enter(self: &Arc<Self>, key: &ResourceKey) -> Turn {
        let permit = self.permit(key).await;
        let (clock, _) = watch::channel(Clock::Waiting(Duration::ZERO));
        Turn { lanes: self.clone(), key: key.clone(), permit: Mutex::new(permit), clock }
    }

    /// The resource is gone.
    pub fn forget(&self, key: &ResourceKey) {
        self.silent().remove(key);
    }

    /// Whether `key` belongs to the slow lane.
    pub fn is_slow(&self, key: &ResourceKey) -> bool {
        self.silent().contains(key)
    }

    fn mark(&self, key: &ResourceKey, answered: bool) {
        if answered {
            self.silent().remove(key);
        } else {
            self.silent().insert(key.clone());
        }
    }

    async fn permit(&self, key: &ResourceKey) -> Option<OwnedSemaphorePermit> {
        let lane = if self.is_slow(key) { &self.slow } else { &self.fast };
        // The semaphores are never closed, so there always is a permit in the end.
        lane.clone().acquire_owned().await.ok()
    }

    fn silent(&self) -> MutexGuard<'_, HashSet<ResourceKey>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one pass; ends when it is dropped.
#[derive(Debug)]
pub struct Turn {
    lanes: Arc<Lanes>,
    key: ResourceKey,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    clock: watch::Sender<Clock>,
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    /// The deadline, while the pass works.
    Running(Instant),
    /// What is left, while the pass waits for a permit.
    Waiting(Duration),
}

impl Turn {
    /// Runs a pass until its deadline; a pass that misses it sends its cluster to the slow lane.
    pub async fn within<T>(
        &self,
        deadline: Duration,
        pass: impl Future<Output = T>,
    ) -> Result<T, DeadlinePassed> {
        let ticking = self.clock.subscribe();
        self.clock.send_replace(Clock::Running(Instant::now() + deadline));
        tokio::select! {
            biased;
            result = pass => Ok(result),
            () = expired(ticking) => {
                self.lanes.mark(&self.key, false);
                Err(DeadlinePassed(deadline))
            }
        }
    }

    /// Waits for an application, and notes in which lane its cluster belongs from now on.
    pub async fn probe<T>(&self, probe: impl Future<Output = T>, answered: impl FnOnce(&T) -> bool) -> T {
        let was_slow = self.lanes.is_slow(&self.key);
        let mut probe = pin!(probe);
        let patient = timeout(PATIENCE, &mut probe).await;
        let gave_back = patient.is_err();
        let value = match patient {
            Ok(value) => value,
            Err(_elapsed) => {
                self.hold(None);
                probe.await
            }
        };
        let answered = answered(&value);
        self.lanes.mark(&self.key, answered);
        if gave_back || (!answered && !was_slow) {
            self.hold(None);
            self.pause_for_permit().await;
        }
        value
    }

    async fn pause_for_permit(&self) {
        self.clock.send_modify(|clock| {
            if let Clock::Running(at) = *clock {
                *clock = Clock::Waiting(at.saturating_duration_since(Instant::now()));
            }
        });
        let permit = self.lanes.permit(&self.key).await;
        self.hold(permit);
        self.clock.send_modify(|clock| {
            if let Clock::Waiting(left) = *clock {
                *clock = Clock::Running(Instant::now() + left);
            }
        });
    }

    fn hold(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

async fn expired(mut clock: watch::Receiver<Clock>) {
    loop {
        let now = *clock.borrow_and_update();
        let changed = async {
            if clock.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        match now {
            Clock::Running(at) => {
                tokio::select! {
                    () = changed => {}
                    () = sleep_until(at) => return,
                }
            }
            Clock::Waiting(_) => changed.await,
        }
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
