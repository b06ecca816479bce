//! Reassignments, and elections of preferred leaders.

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ApiKey, ElectLeadersRequest,
    ElectLeadersResponse, ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
    alter_partition_reassignments_response::{ReassignablePartitionResponse, ReassignableTopicResponse},
    elect_leaders_response::{PartitionResult, ReplicaElectionResult},
    list_partition_reassignments_response::{OngoingPartitionReassignment, OngoingTopicReassignment},
};

use super::{Asked, nodes, said, topic};
use crate::model::Partition;

pub(in crate::server) fn alter(
    asked: &mut Asked<'_>,
    request: &AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    let may_change = request.allow_replication_factor_change;
    let outcome = asked.through_controller(ApiKey::AlterPartitionReassignments, |kafka| {
        let mut responses = vec![];
        for of_topic in &request.topics {
            let mut partitions = vec![];
            for wanted in &of_topic.partitions {
                let target: Option<Vec<i32>> =
                    wanted.replicas.as_ref().map(|replicas| replicas.iter().map(|id| id.0).collect());
                let index = wanted.partition_index;
                let outcome = kafka.reassign(of_topic.name.as_str(), index, target.as_deref(), may_change);
                let (code, message) = said(&outcome);
                partitions.push(
                    ReassignablePartitionResponse::default()
                        .with_partition_index(index)
                        .with_error_code(code)
                        .with_error_message(message),
                );
            }
            responses.push(
                ReassignableTopicResponse::default()
                    .with_name(of_topic.name.clone())
                    .with_partitions(partitions),
            );
        }
        Ok(responses)
    });
    let (code, message) = said(&outcome);
    AlterPartitionReassignmentsResponse::default()
        .with_allow_replication_factor_change(may_change)
        .with_error_code(code)
        .with_error_message(message)
        .with_responses(outcome.unwrap_or_default())
}

fn ongoing(partition: &Partition) -> OngoingPartitionReassignment {
    OngoingPartitionReassignment::default()
        .with_partition_index(partition.index)
        .with_replicas(nodes(&partition.replicas))
        .with_adding_replicas(nodes(&partition.adding))
        .with_removing_replicas(nodes(&partition.removing))
}

pub(in crate::server) fn list(
    asked: &mut Asked<'_>,
    request: &ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    let wanted = |name: &str| {
        let topics = request.topics.as_ref();
        topics.is_none_or(|topics| topics.iter().any(|topic| topic.name.as_str() == name))
    };
    let outcome = asked.through_controller(ApiKey::ListPartitionReassignments, |kafka| {
        let mut found = vec![];
        for (name, of_topic) in kafka.topics.iter().filter(|(name, _)| wanted(name)) {
            let partitions: Vec<_> =
                of_topic.partitions.iter().filter(|partition| partition.moves()).map(ongoing).collect();
            if !partitions.is_empty() {
                found.push(
                    OngoingTopicReassignment::default().with_name(topic(name)).with_partitions(partitions),
                );
            }
        }
        Ok(found)
    });
    let (code, message) = said(&outcome);
    ListPartitionReassignmentsResponse::default()
        .with_error_code(code)
        .with_error_message(message)
        .with_topics(outcome.unwrap_or_default())
}

pub(in crate::server) fn elect(asked: &mut Asked<'_>, request: &ElectLeadersRequest) -> ElectLeadersResponse {
    let outcome = asked.through_controller(ApiKey::ElectLeaders, |kafka| {
        let mut results = BTreeMap::new();
        for of_topic in request.topic_partitions.iter().flatten() {
            let one = |index: &i32| {
                let (code, message) = said(&kafka.elect_preferred(of_topic.topic.as_str(), *index));
                PartitionResult::default()
                    .with_partition_id(*index)
                    .with_error_code(code)
                    .with_error_message(message)
            };
            results.insert(of_topic.topic.clone(), of_topic.partitions.iter().map(one).collect());
        }
        Ok(results)
    });
    let (code, _) = said(&outcome);
    let result = |(topic, partitions)| {
        ReplicaElectionResult::default().with_topic(topic).with_partition_result(partitions)
    };
    ElectLeadersResponse::default()
        .with_error_code(code)
        .with_replica_election_results(outcome.unwrap_or_default().into_iter().map(result).collect())
}
