//! What all runs share: one control plane and one simulated etcd.

use std::sync::{Arc, OnceLock};

use ballast_etcd_core::api::EtcdCluster;
use ballast_etcd_simulated::server::{Server, Settings};
use ballast_testbed::{Program, Testbed};
use kube::CustomResourceExt;
use tokio::sync::Semaphore;

/// Runs at the same time. Most of a run is waiting.
const AT_ONCE: usize = 10;

/// Simulated etcd, for all clusters of this binary.
pub fn etcd() -> &'static Arc<Server> {
    static ETCD: OnceLock<Arc<Server>> = OnceLock::new();
    ETCD.get_or_init(|| {
        // It outlives every test, so it has a runtime of its own.
        static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
        let runtime = RUNTIME.get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
        });
        Arc::new(runtime.block_on(Server::listen(Settings::quick())).unwrap())
    })
}

/// The control plane.
pub fn bed() -> &'static Testbed {
    static BED: OnceLock<Testbed> = OnceLock::new();
    BED.get_or_init(|| {
        Testbed::start(etcd().clone(), &[EtcdCluster::crd()])
            .unwrap_or_else(|error| panic!("no testbed: {error:#}"))
    })
}

/// Who may run now.
pub fn turns() -> &'static Semaphore {
    static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);
    &TURNS
}

/// One in so many of `all`, beginning at `BALLAST_CRASH_SEED`; `BALLAST_CRASH_EVERY` overrides `every`.
pub fn sample<T>(all: Vec<T>, every: usize) -> Vec<T> {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<usize>().ok();
    let every = number("BALLAST_CRASH_EVERY").unwrap_or(every).max(1);
    let seed = number("BALLAST_CRASH_SEED").unwrap_or_default();
    all.into_iter()
        .enumerate()
        .filter(|(index, _)| index % every == seed % every)
        .map(|(_, one)| one)
        .collect()
}

/// The operator, alone in its namespace and quick to look again.
pub fn operator() -> Program {
    operator_with("--leader-elect=false")
}

/// One of several replicas.
pub fn replica(namespace: &str, pod: &str) -> Program {
    operator_with(&format!("--leader-elect=true --pod-namespace {namespace} --pod-name {pod}"))
}

fn operator_with(election: &str) -> Program {
    let line = format!("--operator-image operator:test --resync 1 --dial {} {election}", etcd().address());
    Program {
        path: env!("CARGO_BIN_EXE_etcd-operator").into(),
        args: line.split(' ').map(str::to_owned).collect(),
        env: vec![],
    }
}
