//! Nodes of one simulated cluster, with the life that real processes have.
#![allow(clippy::unused_self, reason = "the same methods as those of the real servers")]

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::{Arc, Mutex, Weak},
};

use ballast_kafka_simulated::{
    model::{Boot, Process, Timing, levels},
    server::Server,
};
use jiff::Timestamp;
use kafka_operator::client::Addresses;

/// The id of every cluster here.
pub const CLUSTER: &str = "4L6g3nShT-eMCtK--X86sw";
pub const NODES: [i32; 3] = [1, 2, 3];
pub const NAMESPACE: &str = "contract";

const BROKER: u16 = 9092;
const CONTROLLER: u16 = 9093;

/// How a volume is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The first node of a new cluster, alone in its quorum.
    Standalone,
    /// A node that joins one.
    Joining,
}

/// Servers by the addresses of their brokers, for whoever knows only these.
static SERVERS: Mutex<BTreeMap<String, Weak<Server>>> = Mutex::new(BTreeMap::new());

/// The server that answers at this address.
pub fn at(address: &str) -> Arc<Server> {
    SERVERS.lock().unwrap()[address].upgrade().unwrap()
}

pub struct Servers {
    pub version: &'static str,
    /// As which release the volumes are formatted.
    release: Option<&'static str>,
    server: Arc<Server>,
    hosts: BTreeMap<i32, Ipv4Addr>,
    _block: ballast_testbed::Addresses,
    formatted: Mutex<BTreeMap<i32, Format>>,
    running: BTreeSet<i32>,
}

impl Servers {
    pub fn new(version: &'static str, release: Option<&'static str>) -> Self {
        let mut block = ballast_testbed::Addresses::new().unwrap();
        let servers = Self {
            version,
            release,
            server: Arc::new(Server::new(Timing::default())),
            hosts: NODES.iter().map(|node| (*node, block.take().unwrap())).collect(),
            _block: block,
            formatted: Mutex::default(),
            running: BTreeSet::new(),
        };
        let addresses = servers.addresses().brokers.into_values();
        let here = addresses.map(|address| (address, Arc::downgrade(&servers.server)));
        SERVERS.lock().unwrap().extend(here);
        servers
    }

    /// Whether this is 4.3 or newer.
    pub fn cordons(&self) -> bool {
        !self.version.starts_with("4.1.")
    }

    pub fn addresses(&self) -> Addresses {
        let at =
            |port: u16| self.hosts.iter().map(|(node, host)| (*node, format!("{host}:{port}"))).collect();
        Addresses { brokers: at(BROKER), controllers: at(CONTROLLER) }
    }

    /// Host and port of the node's listener for controllers.
    pub fn controller(&self, node: i32) -> (String, u16) {
        (self.hosts[&node].to_string(), CONTROLLER)
    }

    /// Formats the volumes.
    pub fn format(&self, volumes: &[(i32, Format)]) {
        self.formatted.lock().unwrap().extend(volumes.iter().copied());
    }

    pub fn start(&mut self, node: i32) {
        let host = self.hosts[&node].to_string();
        let process = Process {
            node,
            pod: pod(node),
            disk: disk(node),
            host: host.clone(),
            rack: Some(format!("zone-{node}")),
            broker: true,
            controller: true,
            newest_level: levels::newest(self.version).unwrap(),
            settings: BTreeMap::from([("node.id".to_owned(), node.to_string())]),
            loggers: BTreeMap::new(),
            since: Timestamp::now(),
        };
        let boot = match self.formatted.lock().unwrap().remove(&node) {
            Some(Format::Standalone) => Boot::Standalone,
            Some(Format::Joining) => Boot::Joining,
            None => Boot::Data,
        };
        self.server.boot((NAMESPACE, CLUSTER, CLUSTER), &host, process, boot).unwrap();
        if let Some(release) = self.release.filter(|_| boot == Boot::Standalone) {
            let level = levels::newest(&format!("{release}.")).unwrap();
            self.server.edit(NAMESPACE, |kafka| kafka.level = level).unwrap();
        }
        assert!(self.running.insert(node), "{node} runs");
    }

    /// Kills the node.
    pub fn kill(&mut self, node: i32) {
        self.server.halt(&pod(node));
        self.running.remove(&node);
    }

    /// The node stays, and does nothing any more, until it is killed.
    pub fn freeze(&self, node: i32) {
        self.server.edit(NAMESPACE, |kafka| kafka.freeze(node)).unwrap();
    }

    /// Takes everything from the disk of a node that does not run.
    pub fn wipe(&self, node: i32) {
        assert!(!self.running.contains(&node), "{node} runs");
        self.server.remove_disk(&disk(node));
    }

    /// Simulated nodes do not end by themselves.
    pub fn check(&self) {}

    /// They have no memory of their own.
    pub fn memory(&self) -> Vec<(i32, u64)> {
        vec![]
    }
}

fn pod(node: i32) -> String {
    format!("pod-{node}")
}

fn disk(node: i32) -> String {
    format!("disk-{node}")
}
