//! A producer and a consumer of one cluster: librdkafka's, whose threads end with [`Probe::end`].

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use ballast_kafka_core::canary::TOPIC;
use futures::future::join_all;
use rdkafka::{
    ClientConfig, Message, Offset, TopicPartitionList,
    consumer::{Consumer, StreamConsumer},
    error::KafkaError,
    producer::{FutureProducer, FutureRecord},
};
use tokio::task::spawn_blocking;

/// How long writing a record may take: less than what the gate gives a request.
const WRITE: Duration = Duration::from_secs(4);
/// How long reading the records of a round may take.
const READ: Duration = Duration::from_secs(5);

/// Writes and reads the records of one cluster.
pub struct Probe {
    producer: FutureProducer,
    consumer: Arc<StreamConsumer>,
    bootstrap: String,
    number: u64,
}

/// Where a record is, and when it began to be written.
struct Written {
    offset: i64,
    begun: Instant,
    value: String,
}

impl Probe {
    /// A probe that connects when it is first used. `bootstrap`: `host:port` of brokers, separated by commas.
    pub fn new(bootstrap: &str) -> Result<Self, KafkaError> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", bootstrap)
            .set("client.id", "ballast-kafka-canary")
            .set("socket.connection.setup.timeout.ms", "4000")
            .set("socket.timeout.ms", "4000")
            .set("reconnect.backoff.max.ms", "2000");
        // The broker that is tried answers alone: others that are slow are theirs to tell.
        let producer = config
            .clone()
            .set("acks", "1")
            .set("linger.ms", "0")
            .set("queue.buffering.max.kbytes", "1024")
            .set("request.timeout.ms", "4000")
            .set("message.timeout.ms", WRITE.as_millis().to_string())
            .create()?;
        let consumer = config
            // Partitions can be assigned only to a member of some group; it never joins and commits nothing.
            .set("group.id", "ballast-kafka-canary")
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("queued.max.messages.kbytes", "1024")
            .set("fetch.message.max.bytes", "65536")
            .create()?;
        Ok(Self { producer, consumer: Arc::new(consumer), bootstrap: bootstrap.to_owned(), number: 0 })
    }

    /// The addresses that it was made with.
    pub(super) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Writes a record to each of the partitions, which are by broker: where it is, or why it is not written. Bounded.
    pub(super) async fn write(
        &mut self,
        partitions: &BTreeMap<i32, i32>,
    ) -> Vec<(i32, Result<Record, String>)> {
        self.number += 1;
        let producer = &self.producer;
        let number = self.number;
        let one = |(broker, partition): (&i32, &i32)| {
            let (broker, partition) = (*broker, *partition);
            let (key, value) = (broker.to_string(), format!("{}/{number}/{broker}", std::process::id()));
            async move {
                let begun = Instant::now();
                let record = FutureRecord::to(TOPIC).partition(partition).key(&key).payload(&value);
                let sent = match producer.send_result(record) {
                    Ok(sent) => sent.await,
                    Err((error, _)) => return (broker, Err(format!("no record could be written: {error}"))),
                };
                let outcome = match sent {
                    Ok(Ok(delivery)) => {
                        Ok(Record { partition, written: Written { offset: delivery.offset, begun, value } })
                    }
                    Ok(Err((error, _))) => Err(format!("no record could be written: {error}")),
                    Err(_gone) => Err("no record could be written".to_owned()),
                };
                (broker, outcome)
            }
        };
        join_all(partitions.iter().map(one)).await
    }

    /// Reads the records back: how long it took since they began to be written, or why they are not there. Bounded.
    pub(super) async fn read(
        &self,
        records: BTreeMap<i32, Record>,
    ) -> BTreeMap<i32, Result<Duration, String>> {
        let mut left: BTreeMap<i32, (i32, Written)> = records
            .into_iter()
            .map(|(broker, record)| (record.partition, (broker, record.written)))
            .collect();
        let mut found = BTreeMap::new();
        let mut assigned = TopicPartitionList::new();
        for (partition, (_, written)) in &left {
            let _ = assigned.add_partition_offset(TOPIC, *partition, Offset::Offset(written.offset));
        }
        let until = tokio::time::Instant::now() + READ;
        let mut why = "the record that was written is not read back".to_owned();
        if let Err(error) = self.assign(assigned).await {
            why = format!("{why}: {error}");
        } else {
            while !left.is_empty() {
                let Ok(message) = tokio::time::timeout_at(until, self.consumer.recv()).await else { break };
                // It goes on trying by itself.
                let Ok(message) = message else { continue };
                let mine = left.get(&message.partition()).is_some_and(|(_, written)| {
                    written.offset == message.offset() && message.payload() == Some(written.value.as_bytes())
                });
                if mine && let Some((broker, written)) = left.remove(&message.partition()) {
                    found.insert(broker, Ok(written.begun.elapsed()));
                }
            }
        }
        // Nothing is fetched between rounds.
        let _ = self.assign(TopicPartitionList::new()).await;
        found.extend(left.into_values().map(|(broker, _)| (broker, Err(why.clone()))));
        found
    }

    /// It waits for a thread of the consumer's.
    async fn assign(&self, partitions: TopicPartitionList) -> Result<(), String> {
        let consumer = self.consumer.clone();
        let assigned = spawn_blocking(move || consumer.assign(&partitions)).await;
        assigned.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Ends all threads, and waits for that where nobody is held up.
    pub async fn end(self) {
        let _ = spawn_blocking(move || drop(self)).await;
    }
}

/// A record that was written.
pub(super) struct Record {
    partition: i32,
    written: Written,
}
