//! What is done to Kafka: a producer, a consumer, and how many partitions a topic has.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use rdkafka::{
    ClientConfig, Message, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer, StreamConsumer},
    error::KafkaError,
    message::BorrowedMessage,
    producer::FutureProducer,
};

use super::record::{Place, Read};

/// Metadata must be there after this.
pub(super) const METADATA: Duration = Duration::from_secs(5);

/// Where a topic is, and which run its records are of.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    /// Addresses, separated by commas.
    pub(super) bootstrap: String,
    pub(super) name: String,
    /// Records of other runs are not looked at.
    pub(super) run: String,
}

impl Topic {
    /// Quick to notice what is gone and what is back.
    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.bootstrap)
            .set("client.id", "ballast-ledger")
            .set("socket.connection.setup.timeout.ms", "5000")
            .set("socket.timeout.ms", "15000")
            .set("reconnect.backoff.max.ms", "1000");
        config
    }

    /// A producer that is acknowledged by all replicas in sync, keeps the order and writes nothing twice. It gives a record
    /// up after `patience`.
    pub(super) fn producer(&self, patience: Duration) -> Result<FutureProducer> {
        let producer = self
            .config()
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("request.timeout.ms", "10000")
            .set("delivery.timeout.ms", patience.as_millis().to_string())
            .create()?;
        Ok(producer)
    }

    /// A consumer of all partitions from their beginning, outside of any group's care: it never commits. `ends`: it also
    /// tells whenever a partition has come to its end.
    pub(super) fn consumer(&self, partitions: i32, ends: bool) -> Result<StreamConsumer> {
        let consumer: StreamConsumer = self
            .config()
            // Partitions can be assigned only to a member of some group.
            .set("group.id", format!("ballast-ledger-{}", self.run))
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("enable.partition.eof", ends.to_string())
            .set("auto.offset.reset", "earliest")
            .create()?;
        let mut assigned = TopicPartitionList::new();
        for partition in 0..partitions {
            assigned.add_partition_offset(&self.name, partition, Offset::Beginning)?;
        }
        consumer.assign(&assigned)?;
        Ok(consumer)
    }

    /// For questions about the topic.
    pub(super) fn client(&self) -> Result<BaseConsumer> {
        Ok(self.config().create()?)
    }

    /// How many partitions the topic has. Blocks for some seconds at most.
    pub(super) fn partitions(&self) -> Result<i32> {
        let client = self.client()?;
        let metadata = client.fetch_metadata(Some(&self.name), METADATA)?;
        let topic = metadata.topics().first().context("an answer without the topic")?;
        if let Some(error) = topic.error() {
            bail!("topic {}: {error:?}", self.name);
        }
        let partitions = i32::try_from(topic.partitions().len())?;
        anyhow::ensure!(partitions > 0, "topic {} has no partitions", self.name);
        Ok(partitions)
    }

    /// The value of a record: run and number, filled up to `size` bytes.
    pub(super) fn value(&self, number: u64, size: usize) -> String {
        let mut value = format!("{}/{number}/", self.run);
        value.extend(std::iter::repeat_n('x', size.saturating_sub(value.len())));
        value
    }

    /// A record of this run; `None` if it is of another.
    pub(super) fn read(&self, message: &BorrowedMessage<'_>) -> Option<Read> {
        let number = self.number(message.payload()?)?;
        Some(Read { place: Place { partition: message.partition(), offset: message.offset() }, number })
    }

    fn number(&self, value: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(value).ok()?;
        let rest = text.strip_prefix(&self.run)?.strip_prefix('/')?;
        rest.split('/').next()?.parse().ok()
    }
}

/// The code of an error, as librdkafka names it.
pub(super) fn code(error: &KafkaError) -> String {
    error.rdkafka_error_code().map_or_else(|| error.to_string(), |code| format!("{code:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_size_and_number_and_belong_to_a_run() {
        let topic = |run: &str| Topic { bootstrap: String::new(), name: "t".into(), run: run.into() };
        let value = topic("one").value(17, 100);
        assert_eq!(value.len(), 100);
        assert_eq!(topic("one").number(value.as_bytes()), Some(17));
        assert_eq!(topic("two").number(value.as_bytes()), None);
        assert_eq!(topic("one").number(topic("one").value(18, 0).as_bytes()), Some(18));
        assert_eq!(topic("one").number(b"one/x"), None);
    }
}
