//! Where the nodes of a cluster are reached: at the addresses of their pods, whatever Kafka tells.

use std::{net::IpAddr, sync::Arc, time::Duration};

use ballast_kafka_core::{CLIENT_PORT, CONTROLLER_PORT, validate::Desired};

use crate::client::{Addresses, Client, Settings};

/// How long one request may take: a pass has ten seconds for everything.
const DEADLINE: Duration = Duration::from_secs(3);

/// Makes clients of clusters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dialer;

impl Dialer {
    /// A client of the nodes with these ids and addresses. It connects when it is first used, and is closed when it is dropped.
    pub fn client(self, desired: &Desired, running: &[(i32, String)]) -> Client {
        let mut addresses = Addresses::default();
        for (id, address) in running {
            let Some(pool) = desired.pool_of(*id) else { continue };
            if pool.broker {
                addresses.brokers.insert(*id, at(address, CLIENT_PORT));
            }
            if pool.controller {
                addresses.controllers.insert(*id, at(address, CONTROLLER_PORT));
            }
        }
        let settings = Settings {
            deadline: DEADLINE,
            client_id: "ballast-kafka-operator".to_owned(),
            ..Settings::default()
        };
        Client::new(Arc::new(addresses), settings)
    }
}

fn at(address: &str, port: i32) -> String {
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        _ => format!("{address}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families() {
        assert_eq!(at("10.0.0.1", 9092), "10.0.0.1:9092");
        assert_eq!(at("fd00::1", 9093), "[fd00::1]:9093");
    }
}
