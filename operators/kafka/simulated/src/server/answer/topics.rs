//! Topics: described in pages, made, deleted.

use kafka_protocol::messages::{
    ApiKey, BrokerId, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    create_topics_request::CreatableTopic,
    create_topics_response::CreatableTopicResult,
    delete_topics_response::DeletableTopicResult,
    describe_topic_partitions_response::{
        Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
    },
};

use super::{Asked, nodes, said, topic};
use crate::model::{Code, Kafka, Partition, Refusal, topics::Layout};

/// The most partitions of a page (`max.request.partition.size.limit`).
const PAGE: usize = 2000;

fn described(kafka: &Kafka, partition: &Partition) -> DescribeTopicPartitionsResponsePartition {
    let away = |node: &&i32| !kafka.serves(**node);
    let offline: Vec<i32> = partition.replicas.iter().filter(away).copied().collect();
    DescribeTopicPartitionsResponsePartition::default()
        .with_partition_index(partition.index)
        .with_leader_id(BrokerId(partition.leader.unwrap_or(-1)))
        .with_leader_epoch(partition.epoch)
        .with_replica_nodes(nodes(&partition.replicas))
        .with_isr_nodes(nodes(&partition.isr))
        .with_eligible_leader_replicas(Some(nodes(&partition.eligible)))
        .with_last_known_elr(Some(vec![]))
        .with_offline_replicas(nodes(&offline))
}

fn missing(name: &str) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic::default()
        .with_name(Some(topic(name)))
        .with_error_code(Code::UnknownTopicOrPartition.number())
}

pub(in crate::server) fn describe(
    asked: &mut Asked<'_>,
    request: &DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let kafka = &asked.kafka;
    let mut names: Vec<String> = request.topics.iter().map(|wanted| wanted.name.to_string()).collect();
    if names.is_empty() {
        names.extend(kafka.topics.keys().cloned());
    }
    names.sort();
    names.dedup();
    let from = request.cursor.as_ref().map(|cursor| (cursor.topic_name.to_string(), cursor.partition_index));
    let (first, begin) = from.unwrap_or_default();
    let mut left = usize::try_from(request.response_partition_limit).unwrap_or(PAGE).clamp(1, PAGE);
    let mut topics = vec![];
    for name in names.iter().filter(|name| **name >= first) {
        let Some(found) = kafka.topics.get(name) else {
            topics.push(missing(name));
            continue;
        };
        let begin = if *name == first { begin } else { 0 };
        let mut rest = found.partitions.iter().filter(|partition| partition.index >= begin).peekable();
        let page: Vec<_> = rest.by_ref().take(left).map(|partition| described(kafka, partition)).collect();
        left -= page.len();
        if !page.is_empty() {
            let shown = DescribeTopicPartitionsResponseTopic::default()
                .with_name(Some(topic(name)))
                .with_topic_id(found.id)
                .with_partitions(page);
            topics.push(shown);
        }
        if let Some(next) = rest.peek() {
            let cursor = Cursor::default().with_topic_name(topic(name)).with_partition_index(next.index);
            return DescribeTopicPartitionsResponse::default()
                .with_topics(topics)
                .with_next_cursor(Some(cursor));
        }
    }
    DescribeTopicPartitionsResponse::default().with_topics(topics)
}

fn layout(wanted: &CreatableTopic) -> Layout {
    if wanted.assignments.is_empty() {
        return Layout::Count(wanted.num_partitions, wanted.replication_factor);
    }
    let mut assignments: Vec<_> = wanted.assignments.iter().collect();
    assignments.sort_by_key(|assignment| assignment.partition_index);
    let replicas = |ids: &[BrokerId]| ids.iter().map(|id| id.0).collect();
    Layout::Assigned(assignments.iter().map(|assignment| replicas(&assignment.broker_ids)).collect())
}

pub(in crate::server) fn create(
    asked: &mut Asked<'_>,
    request: &CreateTopicsRequest,
) -> CreateTopicsResponse {
    let mut results = vec![];
    for wanted in &request.topics {
        let configs = wanted.configs.iter();
        let configs = configs.filter_map(|it| Some((it.name.to_string(), it.value.as_ref()?.to_string())));
        let made = asked.through_controller(ApiKey::CreateTopics, |kafka| {
            kafka.create_topic(
                wanted.name.as_str(),
                &layout(wanted),
                configs.collect(),
                request.validate_only,
            )
        });
        let (code, message) = said(&made);
        results.push(
            CreatableTopicResult::default()
                .with_name(wanted.name.clone())
                .with_topic_id(made.unwrap_or_default())
                .with_error_code(code)
                .with_error_message(message),
        );
    }
    CreateTopicsResponse::default().with_topics(results)
}

pub(in crate::server) fn delete(
    asked: &mut Asked<'_>,
    request: &DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let mut responses = vec![];
    for wanted in &request.topics {
        let gone: Result<(), Refusal> =
            asked.through_controller(ApiKey::DeleteTopics, |kafka| kafka.delete_topic(wanted.topic_id));
        let (code, message) = said(&gone);
        responses.push(
            DeletableTopicResult::default()
                .with_topic_id(wanted.topic_id)
                .with_error_code(code)
                .with_error_message(message),
        );
    }
    DeleteTopicsResponse::default().with_responses(responses)
}
