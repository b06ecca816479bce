//! Making and deleting a topic.

use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig},
    delete_topics_request::DeleteTopicState,
};
use uuid::Uuid;

use super::{
    super::{Admin, Error, call::call},
    Layout, NewTopic, name,
};

call!(CreateTopicsRequest => CreateTopicsResponse, CreateTopics, changes, 7,
    |answer| answer.topics.iter().map(|topic| topic.error_code).collect());
call!(DeleteTopicsRequest => DeleteTopicsResponse, DeleteTopics, changes, 6,
    |answer| answer.responses.iter().map(|topic| topic.error_code).collect());

/// What `CreateTopics` takes for "see the assignments".
const ASSIGNED: i16 = -1;

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic.config.iter().map(|(name, value)| {
        CreatableTopicConfig::default().with_name(name.clone().into()).with_value(Some(value.clone().into()))
    });
    let request = CreatableTopic::default().with_name(name(&topic.name)).with_configs(configs.collect());
    match &topic.layout {
        Layout::Count { partitions, replication_factor } => {
            request.with_num_partitions(*partitions).with_replication_factor(*replication_factor)
        }
        Layout::Assigned(partitions) => {
            let assignments = (0..).zip(partitions).map(|(index, nodes)| {
                CreatableReplicaAssignment::default()
                    .with_partition_index(index)
                    .with_broker_ids(nodes.iter().copied().map(BrokerId).collect())
            });
            request
                .with_num_partitions(ASSIGNED.into())
                .with_replication_factor(ASSIGNED)
                .with_assignments(assignments.collect())
        }
    }
}

impl Admin {
    /// Makes a topic and returns its id. `validate_only`: says whether it would, and makes none; the id is nil then.
    pub async fn create_topic(&self, topic: &NewTopic, validate_only: bool) -> Result<Uuid, Error> {
        let request = CreateTopicsRequest::default()
            .with_timeout_ms(self.server_timeout())
            .with_topics(vec![creatable(topic)])
            .with_validate_only(validate_only);
        let answer = self.call(&request).await?;
        let [made] = answer.topics.as_slice() else { return Err(Error::incomplete("one topic", true)) };
        Error::check(made.error_code, made.error_message.as_deref(), true)?;
        // Kafka makes up an id also where it makes no topic.
        Ok(if validate_only { Uuid::nil() } else { made.topic_id })
    }

    /// Deletes the topic with this id, and with it its data; another one that has the same name by now stays.
    pub async fn delete_topic(&self, id: Uuid) -> Result<(), Error> {
        let request = DeleteTopicsRequest::default()
            .with_timeout_ms(self.server_timeout())
            .with_topics(vec![DeleteTopicState::default().with_topic_id(id)]);
        let answer = self.call(&request).await?;
        let [gone] = answer.responses.as_slice() else { return Err(Error::incomplete("one topic", true)) };
        Error::check(gone.error_code, gone.error_message.as_deref(), true)
    }
}
