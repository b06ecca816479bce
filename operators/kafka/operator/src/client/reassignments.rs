//! Moving replicas from node to node (KIP-455).

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, BrokerId,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, TopicName,
    alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic},
};

use super::{Admin, ByTopic, Error, Outcomes, call::call, outcomes::complete};

call!(ListPartitionReassignmentsRequest => ListPartitionReassignmentsResponse, ListPartitionReassignments, reads, 0,
    |answer| vec![answer.error_code]);
call!(AlterPartitionReassignmentsRequest => AlterPartitionReassignmentsResponse, AlterPartitionReassignments, changes, 0,
|answer| vec![answer.error_code],
// Version 0 (Kafka 4.0) has no such protection (KIP-860).
fn fit(self, version: i16) -> Self {
    let allowed = self.allow_replication_factor_change || version == 0;
    self.with_allow_replication_factor_change(allowed)
});

/// A reassignment that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignment {
    /// The number of the partition.
    pub partition: i32,
    /// All its replicas for now: the old and the new ones.
    pub replicas: Vec<i32>,
    /// Those of them that are being added.
    pub adding: Vec<i32>,
    /// Those of them that go when the others are in sync.
    pub removing: Vec<i32>,
}

/// Where the replicas of a partition shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The number of the partition.
    pub partition: i32,
    /// The nodes that shall have it, the preferred leader first; nothing cancels the reassignment that is under way.
    pub replicas: Option<Vec<i32>>,
}

fn nodes(ids: &[BrokerId]) -> Vec<i32> {
    ids.iter().map(|id| id.0).collect()
}

fn reassignable((topic, moves): (&String, &Vec<Move>)) -> ReassignableTopic {
    let partitions = moves.iter().map(|wanted| {
        let replicas = wanted.replicas.as_ref().map(|nodes| nodes.iter().copied().map(BrokerId).collect());
        ReassignablePartition::default().with_partition_index(wanted.partition).with_replicas(replicas)
    });
    ReassignableTopic::default()
        .with_name(TopicName(topic.clone().into()))
        .with_partitions(partitions.collect())
}

impl Admin {
    /// The reassignments that are under way.
    pub async fn list_reassignments(&self) -> Result<ByTopic<Reassignment>, Error> {
        let request = ListPartitionReassignmentsRequest::default()
            .with_timeout_ms(self.server_timeout())
            .with_topics(None);
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), false)?;
        let mut found = BTreeMap::new();
        for topic in answer.topics {
            let partitions = topic.partitions.iter().map(|partition| Reassignment {
                partition: partition.partition_index,
                replicas: nodes(&partition.replicas),
                adding: nodes(&partition.adding_replicas),
                removing: nodes(&partition.removing_replicas),
            });
            found.insert(topic.name.to_string(), partitions.collect());
        }
        Ok(found)
    }

    /// Begins, changes or cancels reassignments; each partition has its own outcome. At most some 500 partitions: the controller
    /// writes no more than 10,000 records for one request.
    ///
    /// `may_change_factor`: whether the number of replicas may differ. Kafka 4.0 cannot be told not to.
    pub async fn alter_reassignments(
        &self,
        moves: &ByTopic<Move>,
        may_change_factor: bool,
    ) -> Result<Outcomes<()>, Error> {
        let request = AlterPartitionReassignmentsRequest::default()
            .with_timeout_ms(self.server_timeout())
            .with_allow_replication_factor_change(may_change_factor)
            .with_topics(moves.iter().map(reassignable).collect());
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, answer.error_message.as_deref(), true)?;
        let mut outcomes = BTreeMap::new();
        for topic in answer.responses {
            let partitions = topic.partitions.iter().map(|partition| {
                let outcome = Error::check(partition.error_code, partition.error_message.as_deref(), true);
                (partition.partition_index, outcome)
            });
            outcomes.insert(topic.name.to_string(), partitions.collect());
        }
        let asked = moves.iter().map(|(topic, moves)| (topic, moves.iter().map(|wanted| wanted.partition)));
        Ok(complete(outcomes, asked, true))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::call::Call, *};

    #[test]
    fn the_oldest_version_cannot_forbid() {
        let forbid =
            AlterPartitionReassignmentsRequest::default().with_allow_replication_factor_change(false);
        assert!(forbid.clone().fit(0).allow_replication_factor_change);
        assert!(!forbid.fit(1).allow_replication_factor_change);
    }
}
