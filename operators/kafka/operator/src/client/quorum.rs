//! The quorum of the controllers, and who is in it (KIP-595, KIP-836, KIP-853).

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    AddRaftVoterRequest, AddRaftVoterResponse, DescribeQuorumRequest, DescribeQuorumResponse,
    RemoveRaftVoterRequest, RemoveRaftVoterResponse, TopicName,
    add_raft_voter_request::Listener,
    describe_quorum_request::{PartitionData, TopicData},
    describe_quorum_response::ReplicaState,
};
use uuid::Uuid;

use super::{Admin, Error, call::call};

call!(DescribeQuorumRequest => DescribeQuorumResponse, DescribeQuorum, reads, 2, |answer| {
    let of_partition = answer.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
    if answer.error_code == 0 { of_partition.collect() } else { vec![answer.error_code] }
});
call!(AddRaftVoterRequest => AddRaftVoterResponse, AddRaftVoter, changes, 0, |answer| vec![answer.error_code]);
call!(RemoveRaftVoterRequest => RemoveRaftVoterResponse, RemoveRaftVoter, changes, 0, |answer| vec![answer.error_code]);

/// The topic that is the metadata log; it has one partition.
const METADATA: &str = "__cluster_metadata";

/// The quorum, as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// The active controller.
    pub leader: i32,
    /// How often there was an election.
    pub epoch: i32,
    /// Up to where the metadata log is committed.
    pub high_watermark: i64,
    /// Those whose copies count.
    pub voters: Vec<Voter>,
    /// Those who only follow: brokers, and controllers that are no voters. Each is listed for five minutes after it last asked for
    /// more, so that a node that has got a new disk is there twice: its old copy does not go on.
    pub observers: Vec<Voter>,
    /// Where the voters listen, by node.
    pub endpoints: BTreeMap<i32, Vec<Endpoint>>,
}

/// A copy of the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voter {
    /// The number of its node.
    pub id: i32,
    /// The id of its directory, which tells it from a copy on another disk of the same node; nil if the leader does not know it.
    pub directory: Uuid,
    /// Where its log ends; nothing if the leader does not know it.
    pub log_end: Option<i64>,
    /// When it last asked for more, in milliseconds on the leader's clock: now for the leader itself; nothing if it never did.
    pub last_fetch: Option<i64>,
    /// When it last had everything, in milliseconds on the leader's clock: now for the leader; nothing if it never had.
    pub last_caught_up: Option<i64>,
}

/// Where a controller listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The name of the listener, as `CONTROLLER`.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
}

fn voter(state: &ReplicaState) -> Voter {
    let known = |number: i64| Some(number).filter(|number| *number >= 0);
    Voter {
        id: state.replica_id.0,
        directory: state.replica_directory_id,
        log_end: known(state.log_end_offset),
        last_fetch: known(state.last_fetch_timestamp),
        last_caught_up: known(state.last_caught_up_timestamp),
    }
}

fn voters(states: &[ReplicaState]) -> Vec<Voter> {
    let mut voters: Vec<_> = states.iter().map(voter).collect();
    voters.sort_by_key(|voter| (voter.id, voter.directory));
    voters
}

impl Admin {
    /// The quorum, as its leader sees it; brokers and only the leader can be asked.
    pub async fn describe_quorum(&self) -> Result<Quorum, Error> {
        let topic = TopicData::default()
            .with_topic_name(TopicName(METADATA.to_owned().into()))
            .with_partitions(vec![PartitionData::default().with_partition_index(0)]);
        let answer = self.call(&DescribeQuorumRequest::default().with_topics(vec![topic])).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), false)?;
        let partition = answer.topics.first().and_then(|topic| topic.partitions.first());
        let partition = partition.ok_or_else(|| Error::incomplete("the metadata partition", false))?;
        Error::check(partition.error_code, partition.error_message.as_deref(), false)?;
        let endpoints = answer.nodes.iter().map(|node| {
            let endpoints = node.listeners.iter().map(|listener| Endpoint {
                name: listener.name.to_string(),
                host: listener.host.to_string(),
                port: listener.port,
            });
            (node.node_id.0, endpoints.collect())
        });
        Ok(Quorum {
            leader: partition.leader_id.0,
            epoch: partition.leader_epoch,
            high_watermark: partition.high_watermark,
            voters: voters(&partition.current_voters),
            observers: voters(&partition.observers),
            endpoints: endpoints.collect(),
        })
    }

    /// Lets an observer vote. It must have caught up, and no other change of the voters may be under way.
    ///
    /// `cluster`: refused if the cluster that is reached has another id. `endpoints`: where the other voters reach it.
    pub async fn add_voter(
        &self,
        cluster: &str,
        id: i32,
        directory: Uuid,
        endpoints: &[Endpoint],
    ) -> Result<(), Error> {
        let listener = |endpoint: &Endpoint| {
            Listener::default()
                .with_name(endpoint.name.clone().into())
                .with_host(endpoint.host.clone().into())
                .with_port(endpoint.port)
        };
        let request = AddRaftVoterRequest::default()
            .with_cluster_id(Some(cluster.to_owned().into()))
            .with_timeout_ms(self.server_timeout())
            .with_voter_id(id)
            .with_voter_directory_id(directory)
            .with_listeners(endpoints.iter().map(listener).collect());
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), true)
    }

    /// Takes a vote away. The node may run on as an observer; it must not be the last voter.
    pub async fn remove_voter(&self, cluster: &str, id: i32, directory: Uuid) -> Result<(), Error> {
        let request = RemoveRaftVoterRequest::default()
            .with_cluster_id(Some(cluster.to_owned().into()))
            .with_voter_id(id)
            .with_voter_directory_id(directory);
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), true)
    }
}
