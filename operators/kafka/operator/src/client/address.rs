//! Where nodes are reached: told by whoever uses the client, never learned from Kafka.
//!
//! Kafka's answers name the advertised addresses of nodes. The client ignores those: the operator knows its pods, tests and
//! `--dial` send everything elsewhere, and an address in an answer could lead anywhere.

use std::collections::BTreeMap;

/// Which of a node's two ports: brokers serve clients at one, controllers serve brokers and administrators at the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Listener {
    /// The listener for clients.
    Broker,
    /// The listener for controllers (KIP-919 lets administrators use it).
    Controller,
}

/// Tells the addresses of a cluster's nodes. Asked for every request, so the nodes may change.
pub trait Directory: Send + Sync {
    /// The numbers of all nodes with this listener.
    fn nodes(&self, listener: Listener) -> Vec<i32>;

    /// `host:port` of a node's listener; nothing if there is no such node or it has no such listener.
    fn address(&self, node: i32, listener: Listener) -> Option<String>;
}

/// Addresses that do not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// `host:port` of the listener for clients, by node.
    pub brokers: BTreeMap<i32, String>,
    /// `host:port` of the listener for controllers, by node.
    pub controllers: BTreeMap<i32, String>,
}

impl Addresses {
    fn of(&self, listener: Listener) -> &BTreeMap<i32, String> {
        match listener {
            Listener::Broker => &self.brokers,
            Listener::Controller => &self.controllers,
        }
    }
}

impl Directory for Addresses {
    fn nodes(&self, listener: Listener) -> Vec<i32> {
        self.of(listener).keys().copied().collect()
    }

    fn address(&self, node: i32, listener: Listener) -> Option<String> {
        self.of(listener).get(&node).cloned()
    }
}
