//! Settings that are kept in the cluster (KIP-226, KIP-339): of brokers, of all brokers, of topics.

use std::collections::BTreeMap;

use super::{Code, Kafka, Process, Refusal, levels, topics::MIN_ISR};

/// Log directories of a broker that take nothing new (KIP-1066).
const CORDONED: &str = "cordoned.log.dirs";
/// Settings of brokers whose value is a number.
const NUMBERS: [&str; 4] = [
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "log.cleaner.threads",
    "num.io.threads",
];
/// Settings that topics have, as far as tests set them.
const OF_TOPICS: [&str; 8] = [
    MIN_ISR,
    LISTS[0],
    LISTS[1],
    "cleanup.policy",
    "max.message.bytes",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
];
/// Settings of topics that are lists.
const LISTS: [&str; 2] = ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"];

/// Whose settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// One broker's.
    Broker(i32),
    /// Those of all brokers that have none of their own.
    Brokers,
    /// A topic's.
    Topic(String),
    /// The levels of a broker's loggers, which are gone when it stops (KIP-412).
    Logger(i32),
}

/// A change of one setting; `None` takes it back.
pub type Change = Option<String>;

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Source {
    /// Set for the topic.
    Topic = 1,
    /// Set for the broker.
    Broker = 2,
    /// Set for all brokers.
    Brokers = 3,
    /// In the node's file.
    File = 4,
    /// Set by nobody.
    Default = 5,
    /// Set for the logger.
    Logger = 6,
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where the value is from.
    pub source: Source,
    /// Whether only the file can change it.
    pub read_only: bool,
}

impl Kafka {
    /// Changes settings. `broker`: the broker that was asked, if it was not a controller.
    pub fn alter(
        &mut self,
        resource: &Resource,
        changes: &[(String, Change)],
        broker: Option<i32>,
        validate_only: bool,
    ) -> Result<(), Refusal> {
        match resource {
            Resource::Topic(name) if !self.topics.contains_key(name) => {
                return Code::UnknownTopicOrPartition.because(format!("there is no topic {name}"));
            }
            Resource::Broker(node) | Resource::Logger(node) if broker.is_some_and(|asked| asked != *node) => {
                return Code::InvalidRequest.because(format!("unexpected broker id {node}"));
            }
            _ => {}
        }
        for (name, change) in changes {
            match resource {
                Resource::Topic(_) => check_topic(name)?,
                Resource::Broker(_) | Resource::Brokers => self.check(name, change.as_deref(), broker)?,
                Resource::Logger(_) => {}
            }
        }
        if validate_only {
            return Ok(());
        }
        let own = match resource {
            Resource::Logger(node) => {
                let process = self.running.values_mut().find(|process| process.node == *node);
                process.map(|process| &mut process.loggers)
            }
            _ => Some(self.configs.entry(resource.clone()).or_default()),
        };
        let Some(own) = own else { return Code::InvalidRequest.because("the broker does not run") };
        for (name, change) in changes {
            match change {
                Some(value) => drop(own.insert(name.clone(), value.clone())),
                None => drop(own.remove(name)),
            }
        }
        self.configs.retain(|_, own| !own.is_empty());
        self.logged();
        Ok(())
    }

    fn check(&self, name: &str, value: Option<&str>, broker: Option<i32>) -> Result<(), Refusal> {
        let Some(value) = value else { return Ok(()) };
        // Controllers keep whatever they are told; a broker looks whether it could take it.
        if NUMBERS.contains(&name) && broker.is_some() && value.parse::<u64>().is_err() {
            return Code::InvalidRequest.because(format!("{value} is no value of {name}"));
        }
        if name == "node.id" && broker.is_some() {
            return Code::InvalidRequest.because("node.id can only be changed in the file");
        }
        // Versions before that take what they do not know, and take no notice of it.
        let known = self.running.values().any(|process| process.newest_level >= levels::CORDONS);
        if name == CORDONED && known && self.level < levels::CORDONS {
            return Code::InvalidConfig
                .because(format!("{CORDONED} needs metadata.version {}", levels::CORDONS));
        }
        if name == CORDONED && known && broker.is_none() {
            return Code::InvalidConfig
                .because("only the broker itself adds to its cordoned log directories");
        }
        Ok(())
    }

    /// The settings of a resource, as the node in `asked` tells them at its listener for clients or for controllers.
    pub fn describe(
        &self,
        resource: &Resource,
        asked: &Process,
        at_controller: bool,
    ) -> Result<Vec<Entry>, Refusal> {
        match resource {
            Resource::Topic(name) if !self.topics.contains_key(name) => {
                Code::UnknownTopicOrPartition.because(format!("there is no topic {name}"))
            }
            Resource::Topic(_) if at_controller => Code::InvalidRequest.because("topics are for brokers"),
            Resource::Broker(node) | Resource::Logger(node) if *node != asked.node => {
                Code::InvalidRequest.because(format!("unexpected broker id {node}, this is {}", asked.node))
            }
            Resource::Topic(_) => Ok(self.topic_entries(resource, asked)),
            Resource::Broker(_) => Ok(self.broker_entries(resource, asked)),
            Resource::Logger(_) => Ok(layered([(Source::Logger, Some(&asked.loggers))])),
            Resource::Brokers => Ok(layered([(Source::Brokers, self.configs.get(resource))])),
        }
    }

    fn topic_entries(&self, resource: &Resource, asked: &Process) -> Vec<Entry> {
        let mut entries = layered([(Source::Topic, self.configs.get(resource))]);
        for (name, default) in LISTS.map(|list| (list, "")).into_iter().chain([(MIN_ISR, "1")]) {
            if entries.iter().any(|entry| entry.name == name) {
                continue;
            }
            let set = |source, from: Option<&BTreeMap<String, String>>| {
                Some((source, from.and_then(|from| from.get(name))?.clone()))
            };
            let (source, value) = set(Source::Brokers, self.configs.get(&Resource::Brokers))
                .or_else(|| set(Source::File, Some(&asked.settings)))
                .unwrap_or_else(|| (Source::Default, default.to_owned()));
            entries.push(Entry { name: name.to_owned(), value, source, read_only: false });
        }
        entries
    }

    fn broker_entries(&self, resource: &Resource, asked: &Process) -> Vec<Entry> {
        let mut entries = layered([
            (Source::Broker, self.configs.get(resource)),
            (Source::Brokers, self.configs.get(&Resource::Brokers)),
            (Source::File, Some(&asked.settings)),
        ]);
        if !entries.iter().any(|entry| entry.name == CORDONED) {
            let name = CORDONED.to_owned();
            entries.push(Entry { name, value: String::new(), source: Source::Default, read_only: false });
        }
        entries
    }
}

/// Whether topics have such a setting.
pub(super) fn check_topic(name: &str) -> Result<(), Refusal> {
    if OF_TOPICS.contains(&name) {
        Ok(())
    } else {
        Code::InvalidConfig.because(format!("unknown topic setting {name}"))
    }
}

/// The first that has a setting decides.
fn layered<const N: usize>(layers: [(Source, Option<&BTreeMap<String, String>>); N]) -> Vec<Entry> {
    let mut entries: BTreeMap<&String, Entry> = BTreeMap::new();
    for (source, layer) in layers {
        for (name, value) in layer.into_iter().flatten() {
            entries.entry(name).or_insert_with(|| Entry {
                name: name.clone(),
                value: value.clone(),
                source,
                read_only: name == "node.id",
            });
        }
    }
    entries.into_values().collect()
}
