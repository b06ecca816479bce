//! The operator's process with a real API server and controller manager, simulated kubelets and a simulated Kafka.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bed;
mod cluster;
mod crash;
