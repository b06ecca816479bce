//! Records, of which the model only knows how many there are and how large.

use crate::servers;

/// About as large as those that are written to real nodes.
const BYTES: u64 = 900_000;

/// Writes so many records to a partition that the node at `address` leads.
pub async fn produce(address: &str, topic: &str, partition: i32, records: usize) {
    let records = u64::try_from(records).unwrap();
    let written = servers::at(address)
        .edit(servers::NAMESPACE, |kafka| kafka.produce(topic, partition, records, records * BYTES));
    written.unwrap().unwrap();
    // As the one that talks to a real node.
    tokio::task::yield_now().await;
}
