//! The nodes of all clusters of a test. Each listens at the address of its pod, with the ports that Kafka has there, so that
//! nothing in the operator has to be changed to be tested.
//!
//! | module | what |
//! |---|---|
//! | [`connection`] | listening, frames, and what becomes of a request |
//! | [`dispatch`] | which requests a node has, and who answers them |
//! | [`answer`] | the answers, from the model |
//! | [`journal`] | the requests that change something, and what is done around one of them |
//! | [`properties`] | a node's file |
//! | [`testbed`] | the server as what the testbed's kubelet runs |

mod answer;
mod connection;
mod dispatch;
pub mod journal;
mod properties;
mod testbed;

use std::{
    collections::BTreeMap,
    net::TcpListener,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use tokio::{runtime::Handle, task::AbortHandle};

pub use self::journal::{Moment, Strike};
use self::{connection::Port, journal::Journal};
use crate::model::{Boot, Kafka, Process, Timing};

/// A listener has closed after this, however busy the machine is.
const CLOSES: Duration = Duration::from_secs(5);

/// What the listeners, their connections and their owner share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    journal: Mutex<Journal>,
}

#[derive(Debug, Default)]
struct State {
    /// By uid of the resource.
    clusters: BTreeMap<String, Cluster>,
    /// By uid of the pod.
    pods: BTreeMap<String, Pod>,
}

#[derive(Debug)]
struct Cluster {
    namespace: String,
    kafka: Kafka,
}

/// A pod in which a node runs.
#[derive(Debug)]
struct Pod {
    cluster: String,
    listeners: Vec<AbortHandle>,
}

impl Drop for Pod {
    fn drop(&mut self) {
        for listener in &self.listeners {
            listener.abort();
        }
    }
}

/// A poisoned lock is taken all the same: the test that panicked has failed already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn of_pod(&mut self, pod: &str) -> Option<&mut Cluster> {
        self.clusters.get_mut(&self.pods.get(pod)?.cluster)
    }
}

/// All simulated nodes of a test. They are gone when this is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    runtime: Handle,
    timing: Timing,
}

impl Server {
    /// No node yet. Must be called within the runtime that the nodes are to live in.
    pub fn new(timing: Timing) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), journal: Mutex::default() });
        Self { shared, runtime: Handle::current(), timing }
    }

    /// A node of a cluster starts: `cluster` is the uid of its resource, `id` its own id. An error is why it ends at once.
    pub fn boot(
        &self,
        (namespace, cluster, id): (&str, &str, &str),
        address: &str,
        process: Process,
        boot: Boot,
    ) -> Result<(), String> {
        let now = Timestamp::now();
        let mut ports = vec![];
        for (has, port) in [(process.broker, Port::Clients), (process.controller, Port::Controllers)] {
            if has {
                ports.push((port, listen(address, port)?));
            }
        }
        let pod = process.pod.clone();
        let mut state = lock(&self.shared.state);
        let found = state.clusters.entry(cluster.to_owned()).or_insert_with(|| Cluster {
            namespace: namespace.to_owned(),
            kafka: Kafka::new(id, self.timing, now),
        });
        found.kafka.tick(now);
        found.kafka.boot(process, boot)?;
        let mut listeners = vec![];
        for (port, listener) in ports {
            let accept = connection::accept(listener, Arc::clone(&self.shared), pod.clone(), port);
            listeners.push(self.runtime.spawn(accept).abort_handle());
        }
        state.pods.insert(pod, Pod { cluster: cluster.to_owned(), listeners });
        Ok(())
    }

    /// The node in this pod is gone: when this returns, nobody listens at its address any more. Must not be called on the only
    /// thread of the runtime in which the nodes live.
    pub fn halt(&self, pod: &str) {
        let gone = {
            let mut state = lock(&self.shared.state);
            if let Some(cluster) = state.of_pod(pod) {
                cluster.kafka.tick(Timestamp::now());
                cluster.kafka.halt(pod);
            }
            state.pods.remove(pod)
        };
        let Some(listeners) = gone.map(|pod| pod.listeners.clone()) else { return };
        let begun = Instant::now();
        while !listeners.iter().all(AbortHandle::is_finished) && begun.elapsed() < CLOSES {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the readiness probe of the node in this pod succeeds: a broker is in service, a controller listens.
    pub fn is_ready(&self, pod: &str) -> bool {
        let mut state = lock(&self.shared.state);
        let Some(cluster) = state.of_pod(pod) else { return false };
        cluster.kafka.tick(Timestamp::now());
        let process = cluster.kafka.running.get(pod);
        process.is_some_and(|process| !process.broker || cluster.kafka.serves(process.node))
    }

    /// A disk is gone, with what was on it.
    pub fn remove_disk(&self, disk: &str) {
        for cluster in lock(&self.shared.state).clusters.values_mut() {
            cluster.kafka.remove_disk(disk);
        }
    }

    /// Looks at, or changes, the cluster in this namespace, as of now; `None` if no node of one has started yet.
    pub fn edit<T>(&self, namespace: &str, change: impl FnOnce(&mut Kafka) -> T) -> Option<T> {
        let mut state = lock(&self.shared.state);
        let cluster = state.clusters.values_mut().find(|cluster| cluster.namespace == namespace)?;
        cluster.kafka.tick(Timestamp::now());
        let done = change(&mut cluster.kafka);
        cluster.kafka.tick(Timestamp::now());
        Some(done)
    }

    /// What must never happen and did, to the clusters in this namespace.
    pub fn violations(&self, namespace: &str) -> Vec<String> {
        let state = lock(&self.shared.state);
        let here = state.clusters.values().filter(|cluster| cluster.namespace == namespace);
        here.flat_map(|cluster| cluster.kafka.violations.clone()).collect()
    }

    /// The requests so far that changed something, or would have, to the clusters in this namespace.
    pub fn writes(&self, namespace: &str) -> Vec<String> {
        lock(&self.shared.journal).writes(namespace)
    }

    /// Something is done around one of the next requests that change something.
    pub fn strike(&self, namespace: &str, strike: Strike) {
        lock(&self.shared.journal).strike(namespace, strike);
    }

    /// How many of what was to be done was done.
    pub fn struck(&self, namespace: &str) -> usize {
        lock(&self.shared.journal).struck(namespace)
    }
}

fn listen(address: &str, port: Port) -> Result<TcpListener, String> {
    let place = format!("{address}:{}", port.number());
    let bound = TcpListener::bind(&place).and_then(|listener| {
        // The runtime wants it so.
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|error| format!("cannot listen on {place}: {error}"))
}
