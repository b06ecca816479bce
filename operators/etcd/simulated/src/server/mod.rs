//! One listener for all members of all clusters: a member is named by the request's authority, which is the address of its pod
//! or its host name, so that no name needs to be resolved.
//!
//! | module | what |
//! |---|---|
//! | [`connection`] | accepting, and dropping a connection so that the client notices |
//! | [`dispatch`] | from a request to the member, with its fault |
//! | [`grpc`], [`http`] | the services that the operator uses, as etcd answers them |
//! | [`fault`] | what goes wrong between the operator and a member |
//! | [`testbed`] | the server as what the testbed's kubelet runs |

mod connection;
mod dispatch;
pub mod fault;
mod grpc;
mod http;
mod testbed;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

pub use self::fault::{Fault, Mix, Request, Rule};
pub use self::testbed::member;
use crate::model::{Boot, Endpoint, Etcd, HEALTH_INTERVAL, Process, Refusal, Running};
use fault::Faults;

/// How this etcd differs from a real one in time.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// For how long members must be connected before the list may change; etcd's own is five seconds.
    pub health_interval: SignedDuration,
    /// How long a learner takes to catch up.
    pub catch_up: SignedDuration,
    /// After how long etcd gives up on a majority: five seconds and twice the election time-out.
    pub request_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            health_interval: HEALTH_INTERVAL,
            catch_up: SignedDuration::ZERO,
            request_timeout: Duration::from_secs(7),
        }
    }
}

impl Settings {
    /// No waiting for members that are well.
    pub fn quick() -> Self {
        Self { health_interval: SignedDuration::ZERO, ..Self::default() }
    }
}

/// What the listener, its connections and its owner share.
#[derive(Debug)]
pub(crate) struct Shared {
    etcd: Mutex<Etcd>,
    /// Pods by what clients call them.
    names: Mutex<BTreeMap<String, String>>,
    faults: Mutex<Faults>,
    /// Something has changed: who waits for a majority looks again.
    changed: Notify,
    settings: Settings,
    connections: AtomicUsize,
}

/// A poisoned lock is taken all the same: the test that panicked has failed already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The process that a name means, if it runs.
    fn pod(&self, name: &str) -> Option<String> {
        let pod = lock(&self.names).get(name).cloned()?;
        lock(&self.etcd).running.contains_key(&pod).then_some(pod)
    }

    /// Asks the model, as of now, on behalf of the member in this pod.
    fn ask<T>(&self, pod: &str, question: impl FnOnce(&mut Etcd, Endpoint) -> T) -> Result<T, Refusal> {
        let mut etcd = lock(&self.etcd);
        let at = etcd.endpoint(pod).ok_or(Refusal::Unreachable)?;
        etcd.tick_one(Timestamp::now(), at.cluster);
        let answer = question(&mut etcd, at);
        // What was changed is replicated before anybody looks.
        etcd.tick_one(Timestamp::now(), at.cluster);
        drop(etcd);
        Ok(answer)
    }
}

/// All simulated etcd processes of a test, and their listener. It stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: JoinHandle<()>,
}

impl Server {
    /// Listens on a free port of the loopback address. Must be called within a runtime.
    pub async fn listen(settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let mut etcd = Etcd::new(Timestamp::now());
        etcd.health_interval = settings.health_interval;
        etcd.catch_up = settings.catch_up;
        let shared = Arc::new(Shared {
            etcd: Mutex::new(etcd),
            names: Mutex::default(),
            faults: Mutex::default(),
            changed: Notify::new(),
            settings,
            connections: AtomicUsize::new(0),
        });
        let listener = tokio::spawn(connection::accept(listener, Arc::clone(&shared)));
        Ok(Self { shared, address, listener })
    }

    /// Where all members answer.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// A member starts. An error is why it ends at once.
    pub fn boot(&self, process: &Process, boot: &Boot) -> Result<(), String> {
        self.edit(|etcd| {
            etcd.now = Timestamp::now();
            etcd.boot(process, boot)
        })?;
        let mut names = lock(&self.shared.names);
        for name in names_of(process) {
            names.insert(name, process.pod.clone());
        }
        Ok(())
    }

    /// The process in this pod is gone, at once and without a farewell.
    pub fn halt(&self, pod: &str) {
        self.edit(|etcd| {
            let cluster = etcd.endpoint(pod).map(|at| at.cluster);
            etcd.halt(pod);
            if let Some(cluster) = cluster {
                etcd.tick_one(Timestamp::now(), cluster);
            }
        });
        lock(&self.shared.names).retain(|_, named| named != pod);
    }

    /// The disk is gone, with what was on it.
    pub fn remove_disk(&self, disk: &str) {
        self.edit(|etcd| etcd.wipe(disk));
    }

    /// Whether the readiness probe of the member in this pod succeeds.
    pub fn is_ready(&self, pod: &str) -> bool {
        self.shared
            .ask(pod, |etcd, _| etcd.running.get(pod).is_some_and(|running| etcd.is_ready(running)))
            .unwrap_or(false)
    }

    /// Pods whose etcd has ended by itself since this was last asked.
    pub fn take_ended(&self) -> Vec<String> {
        let ended = self.edit(|etcd| {
            for cluster in etcd.leaving() {
                etcd.tick_one(Timestamp::now(), cluster);
            }
            etcd.take_ended()
        });
        if !ended.is_empty() {
            lock(&self.shared.names).retain(|_, pod| !ended.contains(pod));
        }
        ended
    }

    /// Looks at the model.
    pub fn look<T>(&self, question: impl FnOnce(&Etcd) -> T) -> T {
        question(&lock(&self.shared.etcd))
    }

    /// Changes the model: members that hang, are cut off from the others or lag, alarms, and so on. Who waits for a majority
    /// looks again.
    pub fn edit<T>(&self, change: impl FnOnce(&mut Etcd) -> T) -> T {
        let done = change(&mut lock(&self.shared.etcd));
        self.shared.changed.notify_waiters();
        done
    }

    /// The process of a member, by what it is called in the whole world.
    pub fn running(&self, member: &str) -> Option<Running> {
        self.look(|etcd| etcd.running.values().find(|running| running.process.member == member).cloned())
    }

    /// What must never happen and did, to clusters that have a process in this namespace.
    pub fn violations(&self, namespace: &str) -> Vec<String> {
        let members = member(namespace, "");
        self.look(|etcd| {
            let running = etcd.running.values();
            let clusters: BTreeSet<u64> = running
                .filter(|running| running.process.member.starts_with(&members))
                .map(|running| running.cluster)
                .collect();
            let here = etcd.violations.iter().filter(|violation| clusters.contains(&violation.cluster));
            here.map(|violation| violation.what.clone()).collect()
        })
    }

    /// From now on, requests that the rule matches meet its fault. Earlier rules come first.
    pub fn inject(&self, rule: Rule) {
        lock(&self.shared.faults).rules.push(rule);
    }

    /// From now on, requests that no rule matches meet random faults; `None` ends that.
    pub fn mix(&self, mix: Option<Mix>) {
        lock(&self.shared.faults).mix(mix);
    }

    /// No faults from now on.
    pub fn heal(&self) {
        *lock(&self.shared.faults) = Faults::default();
        self.edit(|etcd| {
            etcd.hung.clear();
            etcd.partitioned.clear();
            etcd.slow.clear();
            etcd.unready.clear();
        });
    }

    /// Which faults requests have met so far, with the member.
    pub fn met(&self) -> Vec<(String, Request, Fault)> {
        lock(&self.shared.faults).met.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// What clients call a process: its address, and its host name with and without the cluster's domain.
fn names_of(process: &Process) -> Vec<String> {
    let mut names = vec![process.address.clone()];
    let host = process.client_url.rsplit("//").next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    names.push(host.to_owned());
    if labels.get(3) == Some(&"svc") {
        names.push(labels[..4].join("."));
        names.push(labels[..3].join("."));
    }
    names
}
