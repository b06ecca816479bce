//! The simulated Kafka is asked what `tests/contract` asks the real one, by the same code: where it answers otherwise, this fails.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
// One future for the whole life of a cluster.
#![allow(clippy::large_futures)]

#[path = "../../contract/expectations/mod.rs"]
mod expectations;
mod produce;
#[path = "../../contract/proxy.rs"]
mod proxy;
mod servers;
#[path = "../../contract/world.rs"]
mod world;

use servers::Servers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simulated_4_1() {
    expectations::all(Servers::new("4.1.2", None)).await;
}

/// Formatted as if it came from 4.1, so that there is something to upgrade.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simulated_4_4() {
    expectations::all(Servers::new("4.4.0", Some("4.1"))).await;
}
