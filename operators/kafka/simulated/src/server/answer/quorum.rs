//! The quorum, and who is in it.

use kafka_protocol::messages::{
    AddRaftVoterRequest, AddRaftVoterResponse, ApiKey, BrokerId, DescribeQuorumRequest,
    DescribeQuorumResponse, RemoveRaftVoterRequest, RemoveRaftVoterResponse,
    describe_quorum_response::{Listener, Node, PartitionData, ReplicaState, TopicData},
};

use super::{Asked, said, topic};
use crate::{model::Observer, server::connection::Port};

/// The topic that is the metadata log.
const METADATA: &str = "__cluster_metadata";
/// Name of the listener of the controllers.
const CONTROLLER: &str = "CONTROLLER";

fn state(copy: &Observer) -> ReplicaState {
    let moment = copy.caught_up.map_or(-1, jiff::Timestamp::as_millisecond);
    ReplicaState::default()
        .with_replica_id(BrokerId(copy.node))
        .with_replica_directory_id(copy.directory)
        .with_log_end_offset(copy.end.unwrap_or(-1))
        .with_last_fetch_timestamp(moment)
        .with_last_caught_up_timestamp(moment)
}

pub(in crate::server) fn describe(
    asked: &mut Asked<'_>,
    _: &DescribeQuorumRequest,
) -> DescribeQuorumResponse {
    let elsewhere = asked.elsewhere(ApiKey::DescribeQuorum).map_or(Ok(()), Err);
    let (code, message) = said(&elsewhere);
    let kafka = &asked.kafka;
    let mut partition = PartitionData::default()
        .with_error_code(code)
        .with_error_message(message)
        .with_leader_id(BrokerId(kafka.leader.unwrap_or(-1)))
        .with_leader_epoch(kafka.epoch);
    let mut nodes = vec![];
    if elsewhere.is_ok() {
        partition = partition
            .with_high_watermark(kafka.log)
            .with_current_voters(kafka.voting().iter().map(state).collect())
            .with_observers(kafka.observers().iter().map(state).collect());
        nodes.extend(kafka.voters.iter().map(|(node, voter)| {
            let listener = Listener::default()
                .with_name(CONTROLLER.to_owned().into())
                .with_host(voter.host.clone().into())
                .with_port(Port::Controllers.number());
            Node::default().with_node_id(BrokerId(*node)).with_listeners(vec![listener])
        }));
    }
    let metadata = TopicData::default().with_topic_name(topic(METADATA)).with_partitions(vec![partition]);
    DescribeQuorumResponse::default().with_topics(vec![metadata]).with_nodes(nodes)
}

pub(in crate::server) fn add(asked: &mut Asked<'_>, request: &AddRaftVoterRequest) -> AddRaftVoterResponse {
    let host = request.listeners.first().map(|listener| listener.host.to_string()).unwrap_or_default();
    let (cluster, directory) = (request.cluster_id.as_deref(), request.voter_directory_id);
    let outcome = asked.through_controller(ApiKey::AddRaftVoter, |kafka| {
        kafka.add_voter(cluster, request.voter_id, directory, &host)
    });
    let (code, message) = said(&outcome);
    AddRaftVoterResponse::default().with_error_code(code).with_error_message(message)
}

pub(in crate::server) fn remove(
    asked: &mut Asked<'_>,
    request: &RemoveRaftVoterRequest,
) -> RemoveRaftVoterResponse {
    let (cluster, directory) = (request.cluster_id.as_deref(), request.voter_directory_id);
    let outcome = asked.through_controller(ApiKey::RemoveRaftVoter, |kafka| {
        kafka.remove_voter(cluster, request.voter_id, directory)
    });
    let (code, message) = said(&outcome);
    RemoveRaftVoterResponse::default().with_error_code(code).with_error_message(message)
}
