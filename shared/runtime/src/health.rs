//! What the probes of the operator's own pod ask.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The controller's loop shows a sign of life more often than this.
const SILENCE: Duration = Duration::from_mins(1);

/// Liveness and readiness of this process.
#[derive(Debug)]
pub struct Health {
    ready: AtomicBool,
    standby: AtomicBool,
    watching: AtomicBool,
    beat: Mutex<Instant>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            ready: AtomicBool::new(false),
            standby: AtomicBool::new(false),
            watching: AtomicBool::new(true),
            beat: Mutex::new(Instant::now()),
        }
    }
}

impl Health {
    /// The controller's loop is alive.
    pub fn beat(&self) {
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// All caches are filled (so the resource's definition is established), this replica leads or knows that another
    /// may, and the process is not going down.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }

    /// Whether this replica is ready to take over, but does not lead.
    pub fn set_standby(&self, standby: bool) {
        self.standby.store(standby, Ordering::Relaxed);
    }

    /// A watch ended for good, which nothing in this process can mend.
    pub fn watch_ended(&self) {
        self.watching.store(false, Ordering::Relaxed);
    }

    /// Whether this replica does its work, or could at once.
    pub fn ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether another replica leads, or nobody does.
    pub fn standby(&self) -> bool {
        self.standby.load(Ordering::Relaxed)
    }

    /// Why this process should be restarted, if it should.
    ///
    /// Watches where nothing happens, and an API server that is away, are no reason.
    pub fn dead(&self) -> Option<&'static str> {
        if !self.watching.load(Ordering::Relaxed) {
            return Some("a watch ended");
        }
        let silent = self.beat.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > SILENCE;
        silent.then_some("the controller's loop does not move")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn dead_is_only_what_a_restart_would_mend() {
        let health = Health::default();
        assert!(!health.ready());
        assert_eq!(health.dead(), None);
        tokio::time::advance(SILENCE * 2).await;
        assert!(health.dead().is_some());
        health.beat();
        assert_eq!(health.dead(), None);
        health.watch_ended();
        assert_eq!(health.dead(), Some("a watch ended"));
    }
}
