//! Operates Apache Kafka clusters on Kubernetes.

mod act;
pub mod canary;
pub mod client;
pub mod nodes;
mod observe;
pub mod operator;
pub mod plan_command;
