//! One list of expectations of etcd, asked of the simulated one and of real processes, for each line of versions that the operator
//! supports. Where the two differ, one of the tests fails.
//!
//! The real ones run on the loopback address, with short elections, in a temporary folder; they are killed at the end.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
// One future for each whole life of a cluster, four in all.
#![allow(clippy::large_futures)]

mod expectations;
mod real;
mod simulated;
mod world;

use ballast_lab::{Progress, folder_of};
use semver::Version;

const V35: Version = Version::new(3, 5, 33);
const V36: Version = Version::new(3, 6, 16);

#[tokio::test(flavor = "multi_thread")]
async fn simulated_3_5() {
    expectations::all(simulated::Simulated::new(V35).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn simulated_3_6() {
    expectations::all(simulated::Simulated::new(V36).await).await;
}

async fn real(folder: &str, version: Version) {
    let folder = folder_of(folder, &Progress::start()).unwrap();
    expectations::all(real::Real::new(&folder.join("etcd"), version)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_3_5() {
    real("etcd-3.5", V35).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn real_3_6() {
    real("etcd-3.6", V36).await;
}
