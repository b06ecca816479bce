//! What is on a broker's disk, and where its logs begin and end.

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    DescribeLogDirsRequest, DescribeLogDirsResponse, ListOffsetsRequest, ListOffsetsResponse,
    describe_log_dirs_response::{DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic},
    list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse},
};

use super::{Asked, said, topic};
use crate::model::{Code, Refusal};

/// The only log directory of a node.
const DIRECTORY: &str = "/data/kafka";
/// The size of every volume.
const TOTAL: u64 = 1 << 40;
/// "The first that is still there" where a time is asked for.
const EARLIEST: i64 = -2;

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

pub(in crate::server) fn describe(
    asked: &mut Asked<'_>,
    request: &DescribeLogDirsRequest,
) -> DescribeLogDirsResponse {
    let disk = asked.kafka.disks.get(&asked.process.disk);
    let replicas = disk.map(|disk| disk.replicas.clone()).unwrap_or_default();
    let used: u64 = replicas.values().sum();
    let wanted = |(name, index): &(String, i32)| {
        request.topics.as_ref().is_none_or(|topics| {
            topics.iter().any(|topic| topic.topic.as_str() == name && topic.partitions.contains(index))
        })
    };
    let mut by_topic: BTreeMap<String, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for ((name, index), bytes) in replicas.into_iter().filter(|(name, _)| wanted(name)) {
        let one = DescribeLogDirsPartition::default()
            .with_partition_index(index)
            .with_partition_size(signed(bytes))
            .with_offset_lag(0);
        by_topic.entry(name).or_default().push(one);
    }
    let topics = by_topic
        .into_iter()
        .map(|(name, partitions)| {
            DescribeLogDirsTopic::default().with_name(topic(&name)).with_partitions(partitions)
        })
        .collect();
    let directory = DescribeLogDirsResult::default()
        .with_log_dir(DIRECTORY.to_owned().into())
        .with_topics(topics)
        .with_total_bytes(signed(TOTAL))
        .with_usable_bytes(signed(TOTAL.saturating_sub(used).saturating_sub(1)));
    DescribeLogDirsResponse::default().with_results(vec![directory])
}

pub(in crate::server) fn offsets(asked: &mut Asked<'_>, request: &ListOffsetsRequest) -> ListOffsetsResponse {
    let (kafka, node) = (&asked.kafka, asked.process.node);
    let offset = |name: &str, index: i32, timestamp: i64| -> Result<i64, Refusal> {
        let partition = kafka.partition(name, index)?;
        if partition.leader != Some(node) {
            return Code::NotLeaderOrFollower.because("another node leads it");
        }
        Ok(if timestamp == EARLIEST { 0 } else { signed(partition.records) })
    };
    let topics = request.topics.iter().map(|of_topic| {
        let partitions = of_topic.partitions.iter().map(|asked_for| {
            let found = offset(of_topic.name.as_str(), asked_for.partition_index, asked_for.timestamp);
            ListOffsetsPartitionResponse::default()
                .with_partition_index(asked_for.partition_index)
                .with_error_code(said(&found).0)
                .with_offset(found.unwrap_or(-1))
        });
        ListOffsetsTopicResponse::default()
            .with_name(of_topic.name.clone())
            .with_partitions(partitions.collect())
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}
