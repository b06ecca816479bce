//! Which nodes there are, and forgetting one.

use kafka_protocol::messages::{
    BrokerId, DescribeClusterRequest, UnregisterBrokerRequest, UnregisterBrokerResponse,
};

use super::{Admin, Error, call::call, route::BROKERS};

call!(UnregisterBrokerRequest => UnregisterBrokerResponse, UnregisterBroker, changes, 0, |answer| vec![answer.error_code]);

/// A cluster as one of its nodes sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The cluster's id, as it was formatted: 22 characters.
    pub id: String,
    /// Whom brokers name as the controller: one of the brokers, which passes requests on. The active controller is in
    /// [`super::Quorum`].
    pub controller: Option<i32>,
    /// The registered brokers, fenced ones too (KIP-1073).
    pub brokers: Vec<Broker>,
}

/// A registered broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// The node's number.
    pub id: i32,
    /// The host that it tells clients to connect to.
    pub host: String,
    /// The port that it tells clients to connect to.
    pub port: i32,
    /// Its rack, if it has one.
    pub rack: Option<String>,
    /// Whether it is fenced: it is stopped, or has not caught up with the metadata yet. It leads nothing and gets no new topics.
    pub fenced: bool,
}

impl Admin {
    /// The cluster's id and its registered brokers. At the listener for clients only.
    pub async fn describe_cluster(&self) -> Result<Cluster, Error> {
        let request =
            DescribeClusterRequest::default().with_endpoint_type(BROKERS).with_include_fenced_brokers(true);
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), false)?;
        let mut brokers: Vec<_> = answer
            .brokers
            .iter()
            .map(|broker| Broker {
                id: broker.broker_id.0,
                host: broker.host.to_string(),
                port: broker.port,
                rack: broker.rack.as_ref().map(ToString::to_string),
                fenced: broker.is_fenced,
            })
            .collect();
        brokers.sort_by_key(|broker| broker.id);
        let controller = Some(answer.controller_id.0).filter(|id| *id >= 0);
        Ok(Cluster { id: answer.cluster_id.to_string(), controller, brokers })
    }

    /// Forgets a broker that is gone for good, so that it gets no new replicas. Kafka accepts it also while partitions have replicas
    /// there: look before.
    pub async fn unregister_broker(&self, id: i32) -> Result<(), Error> {
        let answer = self.call(&UnregisterBrokerRequest::default().with_broker_id(BrokerId(id))).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), true)
    }
}
