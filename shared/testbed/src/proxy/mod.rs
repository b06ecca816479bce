//! A proxy between one operator and the API server, which sees everything and can disturb it.
//!
//! The operator speaks HTTP with it on loopback; the proxy speaks TLS with the API server, as its administrator. All
//! that an operator does to a cluster passes here, so nothing in the operator has to be changed to be tested.
//!
//! | module | what |
//! |---|---|
//! | `request` | what a request is about |
//! | `disturbance` | what can be done to an operator |
//! | `record` | what was seen, and what is still to be done |
//! | `forward` | one request |
//! | `watch` | events as they pass |

mod disturbance;
mod forward;
mod record;
mod request;
mod watch;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ballast_lab::certificate;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use crate::ControlPlane;
use record::Record;

pub use disturbance::{Disturbance, Fault, Moment, Point};
pub use record::{Read, Write};
pub use request::{Class, Reading};

/// What kills the operator: it returns when the process is gone.
pub type Kill = Arc<dyn Fn() + Send + Sync>;

pub(crate) struct Proxy {
    client: Client,
    kill: Kill,
    record: Mutex<Record>,
}

impl Proxy {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running proxy. It ends, and cuts all its connections, when this is dropped.
pub struct ApiProxy {
    proxy: Arc<Proxy>,
    kubeconfig: PathBuf,
    address: SocketAddr,
    task: AbortHandle,
}

impl std::fmt::Debug for ApiProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ApiProxy {
    /// Starts a proxy in front of `plane` that disturbs nothing. `kill` ends the operator that uses it.
    pub async fn start(plane: &ControlPlane, kill: Kill) -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
        let address = listener.local_addr()?;
        let proxy = Arc::new(Proxy { client: plane.client().await?, kill, record: Mutex::default() });
        let kubeconfig = plane.folder().join(format!("proxy-{}.yaml", address.port()));
        let cluster = json!({"server": format!("http://{address}")});
        std::fs::write(&kubeconfig, certificate::kubeconfig("proxy", "operator", &cluster, &json!({}))?)
            .with_context(|| format!("cannot write {}", kubeconfig.display()))?;
        let task = tokio::spawn(serve(listener, proxy.clone())).abort_handle();
        Ok(Self { proxy, kubeconfig, address, task })
    }

    /// The kubeconfig for the operator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// From now on this is done to the operator, instead of what was done before. What is done once and was done is
    /// not done again; numbers go on.
    pub fn disturb(&self, disturbances: Vec<Disturbance>) {
        self.proxy.record().disturbances = disturbances;
    }

    /// All mutating requests so far, in the order in which they came.
    pub fn writes(&self) -> Vec<Write> {
        self.proxy.record().writes.clone()
    }

    /// The writes of objects and of statuses so far: where a crash matrix kills.
    pub fn points(&self) -> Vec<Point> {
        let writes = self.writes().into_iter().map(|write| write.point);
        writes.filter(|point| matches!(point.class, Class::Object | Class::Status)).collect()
    }

    /// How long the operator has written no object and no status; `None`: it never has. One that is done writes nothing.
    pub fn quiet_for(&self) -> Option<Duration> {
        self.proxy.record().last_write.map(|last| last.elapsed())
    }

    /// All other requests so far.
    pub fn reads(&self) -> Vec<Read> {
        self.proxy.record().reads.clone()
    }

    /// How many events came about each object, by kind and masked name: what [`Disturbance::HideEvent`] takes.
    pub fn events(&self) -> BTreeMap<String, usize> {
        self.proxy.record().events.clone()
    }

    /// Kills that were done: a test that ordered one must see it here.
    pub fn kills(&self) -> Vec<(Moment, Point)> {
        self.proxy.record().kills.clone()
    }
}

impl Drop for ApiProxy {
    fn drop(&mut self) {
        self.task.abort();
        // Its folder goes with the control plane anyway.
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

async fn serve(listener: TcpListener, proxy: Arc<Proxy>) {
    // Connections end with this task.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        // Without it small answers wait for the acknowledgement of others; then it is only slower.
        let _ = stream.set_nodelay(true);
        let proxy = proxy.clone();
        connections.spawn(async move {
            // A task of its own: what is under way arrives, also when the operator is gone before it is answered.
            let service = service_fn(move |request| {
                let answered = tokio::spawn(forward::answer(proxy.clone(), request));
                async move { answered.await? }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            // It fails when the operator is gone, or on purpose.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
