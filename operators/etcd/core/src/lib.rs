//! The pure half of the etcd operator.
//!
//! | module | step of a pass |
//! |---|---|
//! | [`api`] | the resource type |
//! | [`validate`] | resource → [`validate::Desired`] |
//! | [`observed`] | what was seen of Kubernetes and of etcd |
//! | [`plan`] | ([`validate::Desired`], [`observed::Observed`], now) → plan |
//! | [`intent`] | what the operator can want |
//! | [`build`] | the objects of a cluster |
//! | [`status`] | what users read |
//! | [`versions`], [`settings`] | what is known of etcd's versions and configuration keys |

pub mod api;
pub mod build;
pub mod intent;
pub mod observed;
pub mod plan;
mod references;
pub mod settings;
pub mod status;
pub mod validate;
pub mod versions;

/// Value of `app.kubernetes.io/name`, and the name of the container.
pub const APPLICATION: &str = "etcd";
/// Port for clients, health and metrics.
pub const CLIENT_PORT: i32 = 2379;
/// Port between members.
pub const PEER_PORT: i32 = 2380;

/// Scheme, host and port where clients reach `host`. TLS follows; every URL is made here or in [`peer_url`].
pub fn client_url(host: &str) -> String {
    format!("http://{host}:{CLIENT_PORT}")
}

/// Where other members reach the member on `host`.
pub fn peer_url(host: &str) -> String {
    format!("http://{host}:{PEER_PORT}")
}
