//! Waiting, bounded, until a name resolves.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

const EVERY: Duration = Duration::from_millis(250);
const PROGRESS: Duration = Duration::from_secs(5);

/// Something that resolves names.
pub(super) trait Resolve {
    /// Whether `host` has an address now.
    fn resolves(&self, host: &str) -> impl Future<Output = bool>;
}

/// The system's resolver.
pub(super) struct System;

impl Resolve for System {
    async fn resolves(&self, host: &str) -> bool {
        tokio::net::lookup_host((host, 0)).await.is_ok_and(|mut addresses| addresses.next().is_some())
    }
}

/// Waits until `host` resolves, at most `limit`; whether it did.
pub(super) async fn wait(resolver: &impl Resolve, host: &str, limit: Duration) -> bool {
    let start = Instant::now();
    let mut told = start;
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let attempts = async {
        loop {
            tick.tick().await;
            if resolver.resolves(host).await {
                return;
            }
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                eprintln!("prepare: waiting until {host} resolves, {} s so far", start.elapsed().as_secs());
            }
        }
    };
    timeout_at(start + limit, attempts).await.is_ok()
}
