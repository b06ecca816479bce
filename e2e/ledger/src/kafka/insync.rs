//! How few replicas of a partition were ever in sync: what clients were nearly, or really, denied.

use std::sync::Arc;

use rdkafka::consumer::{BaseConsumer, Consumer};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::client::{METADATA, Topic};

/// The least that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InSync {
    /// Looks that were answered.
    pub(super) looks: u64,
    /// Replicas in sync of the partition that ever had the fewest; of partitions without a leader it is not known.
    pub(super) fewest: Option<usize>,
    /// Which one.
    pub(super) partition: Option<i32>,
}

impl InSync {
    /// Counts a look: partitions with the number of their replicas in sync.
    pub(super) fn see(&mut self, partitions: &[(i32, usize)]) {
        self.looks += 1;
        for (partition, count) in partitions {
            if self.fewest.is_none_or(|fewest| *count < fewest) {
                (self.fewest, self.partition) = (Some(*count), Some(*partition));
            }
        }
    }
}

/// Asks Kafka again and again.
pub(super) struct Watcher(Arc<BaseConsumer>);

impl Watcher {
    pub(super) fn new(topic: &Topic) -> anyhow::Result<Self> {
        Ok(Self(Arc::new(topic.client()?)))
    }

    /// One look; `None` if nobody answers in time, or not for the topic.
    pub(super) async fn look(&self, topic: &str) -> Option<Vec<(i32, usize)>> {
        let (client, topic) = (Arc::clone(&self.0), topic.to_owned());
        let look = move || {
            let metadata = client.fetch_metadata(Some(&topic), METADATA).ok()?;
            let topic = metadata.topics().first().filter(|topic| topic.error().is_none())?;
            let told = topic.partitions().iter().filter(|partition| partition.error().is_none());
            Some(told.map(|partition| (partition.id(), partition.isr().len())).collect())
        };
        spawn_blocking(look).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_of_all_looks_are_kept() {
        let mut seen = InSync::default();
        for look in [[(0, 3), (1, 3)], [(0, 3), (1, 2)], [(0, 3), (1, 3)]] {
            seen.see(&look);
        }
        assert_eq!(seen, InSync { looks: 3, fewest: Some(2), partition: Some(1) });
    }
}
