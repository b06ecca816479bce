//! What all runs share: one control plane and one simulated Kafka.

use std::sync::{Arc, OnceLock};

use ballast_kafka_core::api::{KafkaCluster, kafka_rebalance::KafkaRebalance};
use ballast_kafka_simulated::{model::Timing, server::Server};
use ballast_testbed::{Program, Testbed};
use kube::CustomResourceExt;
use tokio::{runtime::Runtime, sync::Semaphore};

/// Runs at the same time. Most of a run is waiting.
const AT_ONCE: usize = 10;

/// Simulated Kafka, for all clusters of this binary.
pub fn kafka() -> &'static Arc<Server> {
    static KAFKA: OnceLock<Arc<Server>> = OnceLock::new();
    KAFKA.get_or_init(|| {
        // It outlives every test, so it has a runtime of its own.
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        let runtime = RUNTIME.get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
        });
        let _inside = runtime.enter();
        Arc::new(Server::new(Timing::default()))
    })
}

/// The control plane.
pub fn bed() -> &'static Testbed {
    static BED: OnceLock<Testbed> = OnceLock::new();
    BED.get_or_init(|| {
        Testbed::start(kafka().clone(), &[KafkaCluster::crd(), KafkaRebalance::crd()])
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
    let chosen = |(index, one)| (index % every == seed % every).then_some(one);
    all.into_iter().enumerate().filter_map(chosen).collect()
}

/// The operator, alone in its namespace and quick to look again.
pub fn operator() -> Program {
    let line = "--operator-image operator:test --resync 1 --leader-elect=false";
    Program {
        path: env!("CARGO_BIN_EXE_kafka-operator").into(),
        args: line.split(' ').map(str::to_owned).collect(),
        env: vec![],
    }
}
