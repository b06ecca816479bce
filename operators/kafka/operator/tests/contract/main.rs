//! What the operator relies on of real Kafka, asked through its own client: three nodes that are brokers and controllers at once, in
//! the oldest and in the newest version that is fetched for tests.
//!
//! The servers run on the loopback address in a temporary folder and are killed at the end. Their jars come from
//! `scripts/kafka.sh`; without them the tests fail.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
// One future for the whole life of a cluster.
#![allow(clippy::large_futures)]

mod expectations;
mod produce;
mod proxy;
mod servers;
mod world;

use servers::Servers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_4_1() {
    expectations::all(Servers::new("4.1.2", None)).await;
}

/// Formatted as if it came from 4.1, so that there is something to upgrade.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_4_4() {
    expectations::all(Servers::new("4.4.0", Some("4.1"))).await;
}
