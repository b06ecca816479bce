//! Requests to etcd: one client per member and request, always to a single endpoint, always with a time limit.
//!
//! etcd-client balances over all its endpoints, and its member list is serializable; a linearizable read through the same
//! single endpoint just before makes the list trustworthy.

use std::{net::SocketAddr, time::Duration};

use ballast_core::version::{self, Minor};
use ballast_etcd_core::{
    client_url,
    observed::{AlarmKind, Answer, Listed},
};
use etcd_client::{AlarmAction, AlarmType, Channel, Client, ConnectOptions, Error, MemberAddOptions};
use serde::Deserialize;
use tonic::transport::Endpoint;

/// Longest time for a request to one member; a pass asks twice at most and has ten seconds in all.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a request to etcd did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// etcd refuses for now and will accept later.
    #[error("etcd asks to wait: {0}")]
    NotYet(String),
    /// Anything else; whether the request had an effect is unknown.
    #[error("etcd: {0}")]
    Failed(String),
}

/// Messages with which etcd refuses what it will accept later (`server/etcdserver/errors`).
const NOT_YET: &[&str] = &[
    "unhealthy cluster",
    "re-configuration failed due to not enough started members",
    "can only promote a learner member which is in sync with leader",
    "too many learner members in cluster",
    "Peer URLs already exists",
    "member ID already exist",
    "not leader",
    "leader changed",
    "no leader",
    "bad leader transferee",
    "leader transfer failed",
    "request timed out",
];

impl From<Error> for EtcdError {
    fn from(error: Error) -> Self {
        let message = match &error {
            Error::GRpcStatus(status) => status.message().to_owned(),
            other => other.to_string(),
        };
        if NOT_YET.iter().any(|part| message.contains(part)) {
            Self::NotYet(message)
        } else {
            Self::Failed(message)
        }
    }
}

/// How members are reached. Nothing is kept open between requests: an operator may have thousands of members to ask.
#[derive(Clone, Debug)]
pub struct Dialer {
    dial: Option<SocketAddr>,
    http: reqwest::Client,
}

/// A connection to one member; it closes when this is dropped.
pub struct Connection {
    client: Client,
    dialer: Dialer,
    address: String,
}

/// A change that any voter may be asked for.
#[derive(Clone, Debug)]
pub enum Change {
    /// Add a learner with this peer URL.
    AddLearner(String),
    /// Let the learner with this id vote.
    Promote(u64),
    /// Remove the member with this id.
    Remove(u64),
    /// Disarm the CORRUPT alarm of the member with this id.
    DisarmCorrupt(u64),
}

impl Dialer {
    /// Members are reached at their own addresses, or all at `dial`, where the request's authority says which one is meant.
    pub fn new(dial: Option<SocketAddr>) -> Self {
        // Building fails for reasons of TLS only, which is not used; the default would keep connections open.
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap_or_default();
        Self { dial, http }
    }

    /// Connects to the member at this address (without scheme and port).
    pub async fn connect(&self, address: &str) -> Result<Connection, EtcdError> {
        let client = match self.dial {
            None => {
                let options =
                    ConnectOptions::new().with_connect_timeout(CONNECT_TIMEOUT).with_timeout(TIMEOUT);
                Client::connect([client_url(address)], Some(options)).await?
            }
            Some(dial) => Client::from_channel(through(dial, address)?, None).await?,
        };
        Ok(Connection { client, dialer: self.clone(), address: address.to_owned() })
    }

    /// Asks the member at this address over plain HTTP.
    async fn get(&self, address: &str, path: &str) -> Result<reqwest::Response, reqwest::Error> {
        let url = client_url(address);
        let request = match self.dial {
            None => self.http.get(format!("{url}{path}")),
            Some(dial) => {
                let host = url.rsplit("//").next().unwrap_or_default();
                self.http.get(format!("http://{dial}{path}")).header(reqwest::header::HOST, host)
            }
        };
        request.timeout(TIMEOUT).send().await?.error_for_status()
    }
}

/// A channel that connects to `dial` and asks for the member at this address.
fn through(dial: SocketAddr, address: &str) -> Result<Channel, EtcdError> {
    let failed = |error: &dyn std::fmt::Display| EtcdError::Failed(error.to_string());
    let origin = client_url(address).parse().map_err(|error| failed(&error))?;
    let endpoint = Endpoint::from_shared(format!("http://{dial}")).map_err(|error| failed(&error))?;
    let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT).origin(origin);
    Ok(Channel::Tonic(endpoint.connect_lazy()))
}

/// What etcd answers on `/version`.
#[derive(Deserialize)]
struct Versions {
    etcdcluster: String,
}

impl Connection {
    /// The member's own view, and whether a linearizable read through it succeeds.
    pub async fn ask(&mut self) -> Result<Answer, EtcdError> {
        let status = self.client.status().await?;
        let header =
            status.header().ok_or_else(|| EtcdError::Failed("an answer without a header".to_owned()))?;
        let version =
            version::parse(status.version()).map_err(|error| EtcdError::Failed(error.to_string()))?;
        let mut answer = Answer {
            id: header.member_id(),
            cluster_id: header.cluster_id(),
            version,
            leader: status.leader(),
            raft_index: status.raft_index(),
            applied_index: status.raft_applied_index(),
            db_size: status.db_size(),
            linearizable: false,
        };
        if !status.is_learner() {
            answer.linearizable = self.read().await.is_ok();
        }
        Ok(answer)
    }

    /// A linearizable read.
    pub async fn read(&mut self) -> Result<(), EtcdError> {
        self.client.get("ballast.dev/probe", None).await?;
        Ok(())
    }

    /// etcd's member list; only to be believed right after a linearizable read through this connection.
    pub async fn list(&mut self) -> Result<Vec<Listed>, EtcdError> {
        let response = self.client.member_list().await?;
        Ok(response.members().iter().map(listed).collect())
    }

    /// Alarms that are raised.
    pub async fn alarms(&mut self) -> Result<Vec<(u64, AlarmKind)>, EtcdError> {
        let response = self.client.alarm(AlarmAction::Get, AlarmType::None, None).await?;
        let known = response.alarms().iter().filter_map(|alarm| match alarm.alarm() {
            AlarmType::None => None,
            AlarmType::Nospace => Some((alarm.member_id(), AlarmKind::NoSpace)),
            AlarmType::Corrupt => Some((alarm.member_id(), AlarmKind::Corrupt)),
        });
        Ok(known.collect())
    }

    /// The version on which the members have agreed.
    pub async fn cluster_version(&self) -> Result<Minor, EtcdError> {
        let failed = |error: &dyn std::fmt::Display| EtcdError::Failed(error.to_string());
        let answer = self.dialer.get(&self.address, "/version").await.map_err(|error| failed(&error))?;
        let versions: Versions = answer.json().await.map_err(|error| failed(&error))?;
        let version = version::parse(&versions.etcdcluster).map_err(|error| failed(&error))?;
        Ok(Minor::from(&version))
    }

    /// Makes a change; returns the member list after an addition, else nothing.
    pub async fn change(&mut self, change: &Change) -> Result<Vec<Listed>, EtcdError> {
        match change {
            Change::AddLearner(peer_url) => return self.add_learner(peer_url).await,
            Change::Promote(id) => self.promote(*id).await?,
            Change::Remove(id) => self.remove(*id).await?,
            Change::DisarmCorrupt(id) => self.disarm_corrupt(*id).await?,
        }
        Ok(vec![])
    }

    /// Adds a learner; returns the list with it.
    async fn add_learner(&mut self, peer_url: &str) -> Result<Vec<Listed>, EtcdError> {
        let options = MemberAddOptions::new().with_is_learner();
        let response = self.client.member_add([peer_url], Some(options)).await?;
        Ok(response.member_list().iter().map(listed).collect())
    }

    /// Removes a member by id. That it is gone already is success.
    async fn remove(&mut self, id: u64) -> Result<(), EtcdError> {
        match self.client.member_remove(id).await {
            Ok(_) => Ok(()),
            Err(Error::GRpcStatus(status)) if status.message().contains("member not found") => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a learner vote.
    async fn promote(&mut self, id: u64) -> Result<(), EtcdError> {
        self.client.member_promote(id).await?;
        Ok(())
    }

    /// Moves leadership; to be sent to the leader itself.
    pub async fn move_leader(&mut self, to: u64) -> Result<(), EtcdError> {
        self.client.move_leader(to).await?;
        Ok(())
    }

    /// Disarms the CORRUPT alarm of one member.
    async fn disarm_corrupt(&mut self, id: u64) -> Result<(), EtcdError> {
        let mut options = etcd_client::AlarmOptions::new();
        options.with_member(id);
        self.client.alarm(AlarmAction::Deactivate, AlarmType::Corrupt, Some(options)).await?;
        Ok(())
    }
}

fn listed(member: &etcd_client::Member) -> Listed {
    Listed {
        id: member.id(),
        name: member.name().to_owned(),
        peer_urls: member.peer_urls().to_vec(),
        learner: member.is_learner(),
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
