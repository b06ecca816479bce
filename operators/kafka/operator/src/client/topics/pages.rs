//! Topics in pages (`DescribeTopicPartitions`, KIP-966), or in one piece where a node does not have that (`Metadata`).

use std::collections::{BTreeMap, btree_map::Entry};

use kafka_protocol::messages::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, MetadataRequest, MetadataResponse,
    describe_topic_partitions_request::{Cursor, TopicRequest},
    describe_topic_partitions_response::{
        DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
    },
    metadata_request::MetadataRequestTopic,
    metadata_response::{MetadataResponsePartition, MetadataResponseTopic},
};

use super::{
    super::{Admin, Cause, Error, Unknown, call::call, error::code, pool::Deadline},
    Partition, Topic, Topics, name, nodes,
};

call!(DescribeTopicPartitionsRequest => DescribeTopicPartitionsResponse, DescribeTopicPartitions, reads, 0, |_| vec![]);
call!(MetadataRequest => MetadataResponse, Metadata, reads, 12, |_| vec![]);

/// What the pages have brought so far.
#[derive(Default)]
struct Found {
    topics: BTreeMap<String, Topic>,
    missing: BTreeMap<String, Error>,
}

impl Found {
    fn add(&mut self, topic: DescribeTopicPartitionsResponseTopic) -> Result<(), Error> {
        let name = topic.name.ok_or_else(|| Error::incomplete("the name of a topic", false))?.to_string();
        if let Some(error) = Error::answered(topic.error_code, None, false) {
            self.missing.insert(name, error);
            return Ok(());
        }
        let partitions = topic.partitions.iter().map(described);
        match self.topics.entry(name) {
            Entry::Vacant(entry) => {
                let name = entry.key().clone();
                let (id, internal) = (topic.topic_id, topic.is_internal);
                entry.insert(Topic { name, id, internal, partitions: partitions.collect() });
            }
            // The rest of one that did not fit into the page before.
            Entry::Occupied(mut entry) if entry.get().id == topic.topic_id => {
                entry.get_mut().partitions.extend(partitions);
            }
            Entry::Occupied(_) => {
                return Err(unparsable(format!(
                    "topic {} has changed its id from page to page",
                    topic.topic_id
                )));
            }
        }
        Ok(())
    }

    fn done(self) -> Topics {
        let mut found: Vec<_> = self.topics.into_values().collect();
        for topic in &mut found {
            topic.partitions.sort_by_key(|partition| partition.index);
        }
        Topics { found, missing: self.missing }
    }
}

fn unparsable(why: String) -> Error {
    Unknown { cause: Cause::Unparsable(why), may_have_been_applied: false }.into()
}

fn described(partition: &DescribeTopicPartitionsResponsePartition) -> Partition {
    Partition {
        index: partition.partition_index,
        leader: Some(partition.leader_id.0).filter(|id| *id >= 0),
        leader_epoch: partition.leader_epoch,
        replicas: nodes(&partition.replica_nodes),
        isr: nodes(&partition.isr_nodes),
        eligible: partition.eligible_leader_replicas.as_deref().map(nodes),
        last_eligible: partition.last_known_elr.as_deref().map(nodes),
        offline: nodes(&partition.offline_replicas),
    }
}

fn listed(partition: &MetadataResponsePartition) -> Partition {
    Partition {
        index: partition.partition_index,
        leader: Some(partition.leader_id.0).filter(|id| *id >= 0),
        leader_epoch: partition.leader_epoch,
        replicas: nodes(&partition.replica_nodes),
        isr: nodes(&partition.isr_nodes),
        eligible: None,
        last_eligible: None,
        offline: nodes(&partition.offline_replicas),
    }
}

impl Admin {
    pub(super) async fn topics_in_pages(&self, names: Option<&[String]>) -> Result<Topics, Error> {
        if names.is_some_and(<[String]>::is_empty) {
            // No names at all would mean every topic.
            return Ok(Topics::default());
        }
        let deadline = Deadline::after(self.deadline);
        let request = DescribeTopicPartitionsRequest::default()
            .with_response_partition_limit(self.client.pool.settings.page)
            .with_topics(
                names
                    .unwrap_or_default()
                    .iter()
                    .map(|topic| TopicRequest::default().with_name(name(topic)))
                    .collect(),
            );
        let mut found = Found::default();
        let mut cursor: Option<Cursor> = None;
        loop {
            let page = match self.call_until(&request.clone().with_cursor(cursor.clone()), deadline).await {
                Err(Error::Refused(refusal))
                    if refusal.code == code::UNSUPPORTED_VERSION && cursor.is_none() =>
                {
                    return self.topics_in_one(names, deadline).await;
                }
                other => other?,
            };
            for topic in page.topics {
                found.add(topic)?;
            }
            let Some(next) = page.next_cursor else { return Ok(found.done()) };
            let next =
                Cursor::default().with_topic_name(next.topic_name).with_partition_index(next.partition_index);
            if cursor.is_some_and(|before| place(&before) >= place(&next)) {
                return Err(unparsable("the pages of topics do not go on".to_owned()));
            }
            cursor = Some(next);
        }
    }

    async fn topics_in_one(&self, names: Option<&[String]>, deadline: Deadline) -> Result<Topics, Error> {
        let topic = |topic: &String| MetadataRequestTopic::default().with_name(Some(name(topic)));
        let request = MetadataRequest::default()
            .with_topics(names.map(|names| names.iter().map(topic).collect()))
            .with_allow_auto_topic_creation(false);
        let answer = self.call_until(&request, deadline).await?;
        Error::check(answer.error_code, None, false)?;
        let mut found = Found::default();
        for MetadataResponseTopic { error_code, name, topic_id, is_internal, partitions, .. } in answer.topics
        {
            let name = name.ok_or_else(|| Error::incomplete("the name of a topic", false))?.to_string();
            if let Some(error) = Error::answered(error_code, None, false) {
                found.missing.insert(name, error);
                continue;
            }
            let partitions = partitions.iter().map(listed).collect();
            found
                .topics
                .insert(name.clone(), Topic { name, id: topic_id, internal: is_internal, partitions });
        }
        Ok(found.done())
    }
}

/// Topics come in the order of their names.
fn place(cursor: &Cursor) -> (&str, i32) {
    (cursor.topic_name.as_str(), cursor.partition_index)
}
