//! Where the logs of partitions begin and end.

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    BrokerId, ListOffsetsRequest, ListOffsetsResponse, TopicName,
    list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic},
};

use super::{Admin, ByTopic, Error, Outcomes, call::call, outcomes::complete};

call!(ListOffsetsRequest => ListOffsetsResponse, ListOffsets, reads, 7, |_| vec![]);

/// The number that a client gives for itself where a replica would give its own.
const CLIENT: BrokerId = BrokerId(-1);
/// "Whatever the epoch of the leader is."
const ANY_EPOCH: i32 = -1;

/// Which end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The first record that is still there.
    Earliest,
    /// One after the last that is replicated (the high watermark).
    Latest,
}

impl Admin {
    /// One end of the logs of these partitions, in no particular order. To be asked of the node that leads them: others answer
    /// `NOT_LEADER_OR_FOLLOWER` for theirs, which is to wait.
    pub async fn list_offsets(
        &self,
        partitions: &ByTopic<i32>,
        position: Position,
    ) -> Result<Outcomes<i64>, Error> {
        // "Special timestamps" of the protocol.
        let timestamp = match position {
            Position::Earliest => -2,
            Position::Latest => -1,
        };
        let partition = |index: &i32| {
            ListOffsetsPartition::default()
                .with_partition_index(*index)
                .with_current_leader_epoch(ANY_EPOCH)
                .with_timestamp(timestamp)
        };
        let topics = partitions.iter().map(|(topic, indexes)| {
            ListOffsetsTopic::default()
                .with_name(TopicName(topic.clone().into()))
                .with_partitions(indexes.iter().map(partition).collect())
        });
        let request = ListOffsetsRequest::default().with_replica_id(CLIENT).with_topics(topics.collect());
        let answer = self.call(&request).await?;
        let mut found = BTreeMap::new();
        for topic in answer.topics {
            let offsets = topic.partitions.iter().map(|partition| {
                let offset = Error::check(partition.error_code, None, false).map(|()| partition.offset);
                (partition.partition_index, offset)
            });
            found.insert(topic.name.to_string(), offsets.collect());
        }
        let asked = partitions.iter().map(|(topic, indexes)| (topic, indexes.iter().copied()));
        Ok(complete(found, asked, false))
    }
}
