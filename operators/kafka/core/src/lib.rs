//! The pure half of the Kafka operator: no client, no clock, no randomness.
//!
//! | module | step of a pass |
//! |---|---|
//! | [`api`] | the resource type |
//! | [`validate`] | resource → [`validate::Desired`] |
//! | [`observed`] | what was seen of Kubernetes and of Kafka |
//! | [`plan`] | ([`validate::Desired`], [`observed::Observed`]) → plan |
//! | [`intent`] | what the operator can want |
//! | [`build`] | the objects of a cluster |
//! | `departing` | pools that are gone from the resource and have nodes |
//! | [`status`] | what users read |
//! | [`moving`], [`relocation`], [`progress`] | what has to be known to move replicas, why they move, and whether they get on |
//! | [`rebalance`] | where partitions go |
//! | [`canary`] | where records go that show whether brokers work, and what follows from them |
//! | [`versions`], [`settings`], [`jvm`] | what is known of Kafka's versions and configuration keys, and of flags of the JVM |

pub mod api;
pub mod build;
pub mod canary;
mod departing;
pub mod intent;
pub mod jvm;
pub mod moving;
pub mod observed;
pub mod plan;
pub mod progress;
pub mod rebalance;
pub mod relocation;
pub mod settings;
pub mod status;
pub mod validate;
pub mod versions;

/// Value of `app.kubernetes.io/name`, and the name of the container.
pub const APPLICATION: &str = "kafka";
/// Port for clients and between brokers.
pub const CLIENT_PORT: i32 = 9092;
/// Port of the controllers.
pub const CONTROLLER_PORT: i32 = 9093;
/// How many node ids a pool has: from its first one, so many.
pub const POOL_WIDTH: i32 = 100;
