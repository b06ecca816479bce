//! Elections of preferred leaders (KIP-460).

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    ElectLeadersRequest, ElectLeadersResponse, TopicName, elect_leaders_request::TopicPartitions,
};

use super::{Admin, ByTopic, Error, Outcomes, call::call, error::code, outcomes::complete};

call!(ElectLeadersRequest => ElectLeadersResponse, ElectLeaders, changes, 2, |answer| vec![answer.error_code]);

/// The kind of election that never loses anything.
const PREFERRED: i8 = 0;

impl Admin {
    /// Has these partitions led by the first of their replicas. Each has its own outcome; that it is so already is success.
    pub async fn elect_preferred_leaders(&self, partitions: &ByTopic<i32>) -> Result<Outcomes<()>, Error> {
        let topics = partitions.iter().map(|(topic, indexes)| {
            TopicPartitions::default()
                .with_topic(TopicName(topic.clone().into()))
                .with_partitions(indexes.clone())
        });
        let request = ElectLeadersRequest::default()
            .with_election_type(PREFERRED)
            .with_timeout_ms(self.server_timeout())
            .with_topic_partitions(Some(topics.collect()));
        let answer = self.call(&request).await?;
        Error::check(answer.error_code, None, true)?;
        let mut outcomes = BTreeMap::new();
        for topic in answer.replica_election_results {
            let partitions = topic.partition_result.iter().map(|partition| {
                let outcome = match partition.error_code {
                    code::ELECTION_NOT_NEEDED => Ok(()),
                    other => Error::check(other, partition.error_message.as_deref(), true),
                };
                (partition.partition_id, outcome)
            });
            outcomes.insert(topic.topic.to_string(), partitions.collect());
        }
        let asked = partitions.iter().map(|(topic, indexes)| (topic, indexes.iter().copied()));
        Ok(complete(outcomes, asked, true))
    }
}
