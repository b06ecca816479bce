//! A simulated Kafka for tests. Development only.
//!
//! | module | what |
//! |---|---|
//! | [`model`] | pure: one cluster with its nodes, disks, votes, partitions and moves; takes the time as an argument |
//! | [`server`] | the nodes of all clusters of a test, each at the address of its pod, speaking Kafka's protocol |
//!
//! What the rules are is taken from Kafka 4.1 to 4.4. What is not modelled: records (a partition has a size), consumers,
//! transactions, several log directories of a node, and elections that take time.

pub mod model;
#[cfg(feature = "server")]
pub mod server;
