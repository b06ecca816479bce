//! What is on a broker's disks.

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    DescribeLogDirsRequest, DescribeLogDirsResponse, TopicName,
    describe_log_dirs_request::DescribableLogDirTopic,
    describe_log_dirs_response::{DescribeLogDirsPartition, DescribeLogDirsResult},
};

use super::{Admin, ByTopic, Error, call::call};

call!(DescribeLogDirsRequest => DescribeLogDirsResponse, DescribeLogDirs, reads, 4, |answer| vec![answer.error_code]);

/// A log directory of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDir {
    /// Its path on the broker.
    pub path: String,
    /// What is wrong with it; then nothing else is known of it.
    pub error: Option<Error>,
    /// The size of its volume in bytes, if the broker knows it (KIP-827).
    pub total: Option<u64>,
    /// What is free of that, in bytes.
    pub usable: Option<u64>,
    /// The replicas in it.
    pub replicas: ByTopic<Replica>,
}

/// A replica on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The number of its partition.
    pub partition: i32,
    /// How large its segments are together, in bytes.
    pub size: u64,
    /// How many records it lacks: against the high watermark for a replica in its place, against that one for a future replica.
    /// As the broker itself has heard: zero also for a copy that has not begun. Progress is seen in the size.
    pub offset_lag: i64,
    /// Whether it is being copied here from another directory of the same broker, which it will take the place of (KIP-113).
    pub future: bool,
}

fn bytes(size: i64) -> Option<u64> {
    u64::try_from(size).ok()
}

fn replica(partition: &DescribeLogDirsPartition) -> Replica {
    Replica {
        partition: partition.partition_index,
        size: bytes(partition.partition_size).unwrap_or(0),
        offset_lag: partition.offset_lag,
        future: partition.is_future_key,
    }
}

fn log_dir(result: &DescribeLogDirsResult) -> LogDir {
    let topics = result
        .topics
        .iter()
        .map(|topic| (topic.name.to_string(), topic.partitions.iter().map(replica).collect()));
    LogDir {
        path: result.log_dir.to_string(),
        error: Error::answered(result.error_code, None, false),
        total: bytes(result.total_bytes),
        usable: bytes(result.usable_bytes),
        replicas: topics.collect(),
    }
}

impl Admin {
    /// The log directories of one broker, with all replicas or those of these partitions. The directory of the metadata log does
    /// not count the metadata itself. To be asked of that broker.
    pub async fn log_dirs(&self, partitions: Option<&ByTopic<i32>>) -> Result<Vec<LogDir>, Error> {
        let topic = |(topic, indexes): (&String, &Vec<i32>)| {
            DescribableLogDirTopic::default()
                .with_topic(TopicName(topic.clone().into()))
                .with_partitions(indexes.clone())
        };
        let request = DescribeLogDirsRequest::default().with_topics(
            partitions.map(|partitions: &BTreeMap<_, _>| partitions.iter().map(topic).collect()),
        );
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, None, false)?;
        Ok(answer.results.iter().map(log_dir).collect())
    }
}
