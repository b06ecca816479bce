//! The admin client: typed questions and changes to the brokers and controllers of one Kafka cluster.
//!
//! [`Client::at`] says whom to ask ([`Route`]) and gives [`Admin`], which has all requests; they are in one file per subject.
//! Every request has one deadline for everything it takes: waiting for the connection, connecting, the answer, asking another
//! node. [`Error`] tells apart what may be concluded from a failure.
//!
//! Encoding is kafka-protocol's; its types stay in here. Dialling is behind [`Directory`], the bytes' way in `transport`.

mod address;
mod call;
mod cluster;
mod configs;
mod connection;
mod error;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fake;
mod features;
mod frame;
mod leaders;
mod log_dirs;
mod offsets;
mod outcomes;
mod pool;
mod quorum;
mod reassignments;
mod route;
mod topics;
mod transport;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

pub use self::{
    address::{Addresses, Directory, Listener},
    cluster::{Broker, Cluster},
    configs::{Change, Entry, Resource, Source},
    error::{Cause, Error, Refusal, Unknown, code},
    features::{FeatureUpdate, Features, KRAFT_VERSION, METADATA_VERSION, Step},
    frame::MAX_FRAME,
    log_dirs::{LogDir, Replica},
    offsets::Position,
    outcomes::Outcomes,
    quorum::{Endpoint, Quorum, Voter},
    reassignments::{Move, Reassignment},
    route::Route,
    topics::{Layout, NewTopic, Partition, Topic, Topics},
};
use self::{
    call::Call,
    pool::{Deadline, Pool},
    route::Memory,
};

/// Something for each of some partitions, by topic.
pub type ByTopic<T> = BTreeMap<String, Vec<T>>;

/// How long, how large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a request may take in all, unless [`Admin::within`] says otherwise.
    pub deadline: Duration,
    /// How long connecting to one node may take, with the question which versions it has.
    pub connect: Duration,
    /// The largest frame that is read or sent, in bytes; at most [`MAX_FRAME`].
    pub max_frame: usize,
    /// What Kafka's logs and quotas call this client.
    pub client_id: String,
    /// How many partitions are asked for in one page of a list of topics.
    pub page: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            connect: Duration::from_secs(2),
            max_frame: MAX_FRAME,
            client_id: "ballast-kafka".to_owned(),
            // Kafka's own limit (`max.request.partition.size.limit`).
            page: 2000,
        }
    }
}

/// The connections to one cluster. Cheap to clone; the clones share the connections, which close with the last one.
#[derive(Clone)]
pub struct Client {
    pool: Arc<Pool>,
    memory: Arc<Memory>,
}

/// The requests, sent one way.
#[derive(Clone)]
pub struct Admin {
    client: Client,
    route: Route,
    deadline: Duration,
}

impl Client {
    /// A client of the cluster whose nodes the directory knows. Connects to nothing yet.
    pub fn new(directory: Arc<dyn Directory>, mut settings: Settings) -> Self {
        settings.max_frame = settings.max_frame.min(MAX_FRAME);
        Self { pool: Arc::new(Pool::new(directory, settings)), memory: Arc::default() }
    }

    /// The requests, sent this way.
    pub fn at(&self, route: Route) -> Admin {
        Admin { client: self.clone(), route, deadline: self.pool.settings.deadline }
    }

    /// Closes the connections that are not in use; they open again when needed.
    pub fn close(&self) {
        self.pool.close();
    }
}

impl Admin {
    /// The same with another deadline for each request.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    async fn call<C: Call>(&self, request: &C) -> Result<C::Answer, Error> {
        self.call_until(request, Deadline::after(self.deadline)).await
    }

    async fn call_until<C: Call>(&self, request: &C, deadline: Deadline) -> Result<C::Answer, Error> {
        let Client { pool, memory } = &self.client;
        pool.call(memory, self.route, request, deadline).await
    }

    /// How long the server may take, in milliseconds: less than we wait, so that it is the server who tells that it is too late.
    fn server_timeout(&self) -> i32 {
        i32::try_from(self.deadline.as_millis() * 3 / 4).unwrap_or(i32::MAX)
    }
}
