//! Brokers that the cluster knows: in service, fenced, or forgotten.

use jiff::Timestamp;

use super::{Code, Kafka, Process, Refusal, Resource};

/// A broker that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Whether it is out of service: it leads nothing.
    pub fenced: bool,
    /// The host that it tells clients.
    pub host: String,
    /// Its rack.
    pub rack: Option<String>,
    /// The disk that it has.
    pub disk: String,
    /// Since when it is in service, or was.
    pub since: Timestamp,
    /// When it stopped, until it starts again.
    pub stopped: Option<Timestamp>,
}

impl Kafka {
    /// Who runs is let into service after a while, who does not is fenced. Nobody can tell while there is no active controller.
    pub(super) fn register(&mut self) {
        if self.leader.is_none() {
            return;
        }
        let (now, timing) = (self.now, self.timing);
        let works = |process: &&Process| !self.frozen.contains(&process.node);
        for process in self.running.values().filter(|process| process.broker).filter(works) {
            let started = now.duration_since(process.since) >= timing.start;
            let serves = self.brokers.get(&process.node).is_some_and(|broker| {
                !broker.fenced && broker.stopped.is_none() && broker.disk == process.disk
            });
            if started && !serves {
                let registration = Registration {
                    fenced: false,
                    host: process.host.clone(),
                    rack: process.rack.clone(),
                    disk: process.disk.clone(),
                    since: now,
                    stopped: None,
                };
                self.brokers.insert(process.node, registration);
                self.log += 1;
            }
        }
        let running: Vec<i32> = self.running.values().filter(works).map(|process| process.node).collect();
        for (node, broker) in &mut self.brokers {
            let noticed = broker.stopped.is_some_and(|stopped| now.duration_since(stopped) >= timing.notice);
            if noticed && !running.contains(node) && !broker.fenced {
                broker.fenced = true;
                self.log += 1;
            }
        }
    }

    /// Whether a broker is in service and runs. One that has just stopped is not, whether or not that was noticed: it said so.
    pub fn serves(&self, node: i32) -> bool {
        let broker = self.brokers.get(&node);
        broker.is_some_and(|broker| !broker.fenced && broker.stopped.is_none())
            && self.process(node).is_some()
    }

    /// A node does nothing any more: it takes connections and never answers, and the others notice after a while.
    pub fn freeze(&mut self, node: i32) {
        self.frozen.insert(node);
        let now = self.now;
        if let Some(broker) = self.brokers.get_mut(&node) {
            broker.stopped = Some(now);
        }
    }

    /// Whether a broker takes nothing new.
    pub fn cordoned(&self, node: i32) -> bool {
        let own = self.configs.get(&Resource::Broker(node));
        self.level >= super::levels::CORDONS
            && own.and_then(|own| own.get("cordoned.log.dirs")).is_some_and(|list| !list.is_empty())
    }

    /// Forgets a broker. Kafka does what it is told, also while the broker has replicas or runs.
    pub fn unregister(&mut self, node: i32) -> Result<(), Refusal> {
        if !self.brokers.contains_key(&node) {
            return Code::BrokerIdNotRegistered.because(format!("broker {node} is not registered"));
        }
        if self.holds(node) {
            self.violation(format!("broker {node} is unregistered and has replicas"));
        }
        if self.process(node).is_some() {
            self.violation(format!("broker {node} is unregistered and runs"));
        }
        if self.configs.contains_key(&Resource::Broker(node)) {
            self.violation(format!(
                "broker {node} is unregistered and has settings, which the next one would get"
            ));
        }
        self.brokers.remove(&node);
        self.logged();
        Ok(())
    }
}
