//! A simulated etcd for tests. Development only.
//!
//! | module | what |
//! |---|---|
//! | [`model`] | pure: clusters, members, disks, and the rules by which a member list changes; takes the time as an argument |
//! | [`server`] | one listener that answers for all members of all clusters as etcd does, and with faults when told to |
//!
//! The rules and the messages are those of etcd 3.5.33 and 3.6.16; `tests/contract` asks a real etcd and this one the same
//! questions, and fails where the answers differ. What is not modelled: watches, leases, transactions, users,
//! compaction, snapshots, and a log that can be lost in part.

pub mod model;
#[cfg(feature = "server")]
pub mod server;
