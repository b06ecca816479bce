//! The operator's process with a real API server and controller manager, simulated kubelets and a simulated etcd.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bed;
mod cluster;
#[path = "../../../core/tests/corpus/mod.rs"]
mod corpus;
mod crash;
mod sweep;
