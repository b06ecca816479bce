//! What has to be known to move replicas: all of it, or it counts as not known.

use std::collections::{BTreeMap, BTreeSet};

use ballast_kafka_core::{
    moving::{CORDONS, Disks, Lists, Moving, Reassignment},
    observed::{Answers, Partition},
};
use futures::future::try_join_all;

use crate::client::{Admin, Client, Entry, Error, Resource, Route, Source};

/// What leaders may send for throttled replicas, in bytes per second.
pub(crate) const LEADER_RATE: &str = "leader.replication.throttled.rate";
/// What followers may receive for throttled replicas, in bytes per second.
pub(crate) const FOLLOWER_RATE: &str = "follower.replication.throttled.rate";
/// Replicas of a topic that are throttled while they send.
pub(crate) const LEADER_LIST: &str = "leader.replication.throttled.replicas";
/// Replicas of a topic that are throttled while they receive.
pub(crate) const FOLLOWER_LIST: &str = "follower.replication.throttled.replicas";
/// Log directories of a broker that take nothing new (KIP-1066).
pub(crate) const CORDONED: &str = "cordoned.log.dirs";

/// Everything, if everyone answers.
pub(super) async fn ask(client: &Client, answers: &Answers) -> Option<Moving> {
    let serving: Vec<i32> =
        answers.brokers.as_ref()?.iter().filter(|broker| !broker.fenced).map(|broker| broker.id).collect();
    let partitions = answers.partitions.as_ref()?;
    let cordons = answers.metadata_level? >= CORDONS;
    let brokers = client.at(Route::Brokers);
    let (reassignments, rates, throttled, each) = tokio::join!(
        reassignments(&brokers),
        rates(&brokers),
        throttled(&brokers, partitions),
        try_join_all(serving.into_iter().map(|id| broker(client, id, cordons))),
    );
    let each = each.ok()?;
    let cordoned = each.iter().filter(|(_, _, cordoned)| *cordoned).map(|(id, _, _)| *id).collect();
    let disks =
        each.into_iter().map(|(id, disks, _)| Some((id, disks?))).collect::<Option<BTreeMap<_, _>>>()?;
    Some(Moving {
        reassignments: reassignments.ok()?,
        disks,
        rates: rates.ok()?,
        throttled: throttled.ok()?,
        cordoned,
    })
}

async fn reassignments(brokers: &Admin) -> Result<BTreeMap<(String, i32), Reassignment>, Error> {
    let found = brokers.list_reassignments().await?.into_iter();
    let of_topic = |(topic, flights): (String, Vec<crate::client::Reassignment>)| {
        flights.into_iter().map(move |flight| {
            let name = (topic.clone(), flight.partition);
            (name, Reassignment { adding: flight.adding, removing: flight.removing })
        })
    };
    Ok(found.flat_map(of_topic).collect())
}

/// What all brokers may send and receive.
async fn rates(brokers: &Admin) -> Result<(Option<u64>, Option<u64>), Error> {
    let names = [LEADER_RATE, FOLLOWER_RATE];
    let configs = brokers.describe_configs(&[Resource::Brokers], Some(&names)).await?;
    let mut entries = vec![];
    for (_, result) in configs {
        entries.extend(result?);
    }
    let rate = |name: &str| set(&entries, name, Source::Brokers).and_then(|value| value.parse().ok());
    Ok((rate(LEADER_RATE), rate(FOLLOWER_RATE)))
}

fn set<'a>(entries: &'a [Entry], name: &str, source: Source) -> Option<&'a str> {
    let entry = entries.iter().find(|entry| entry.name == name && entry.source == source)?;
    entry.value.as_deref().filter(|value| !value.is_empty())
}

async fn throttled(brokers: &Admin, partitions: &[Partition]) -> Result<BTreeMap<String, Lists>, Error> {
    let topics: BTreeSet<&str> = partitions.iter().map(|partition| partition.topic.as_str()).collect();
    let resources: Vec<Resource> =
        topics.into_iter().map(|topic| Resource::Topic(topic.to_owned())).collect();
    if resources.is_empty() {
        return Ok(BTreeMap::new());
    }
    let configs = brokers.describe_configs(&resources, Some(&[LEADER_LIST, FOLLOWER_LIST])).await?;
    let mut throttled = BTreeMap::new();
    for (resource, entries) in configs {
        // A topic that was deleted meanwhile has none.
        let (Resource::Topic(topic), Ok(entries)) = (resource, entries) else { continue };
        let list = |name: &str| set(&entries, name, Source::Topic).unwrap_or_default().to_owned();
        let lists = Lists { leaders: list(LEADER_LIST), followers: list(FOLLOWER_LIST) };
        if lists != Lists::default() {
            throttled.insert(topic, lists);
        }
    }
    Ok(throttled)
}

/// A broker's disks, if all of them work, and whether it is cordoned.
async fn broker(client: &Client, id: i32, cordons: bool) -> Result<(i32, Option<Disks>, bool), Error> {
    let broker = client.at(Route::Broker(id));
    let resource = [Resource::Broker(id)];
    let cordoned = async {
        if !cordons {
            return Ok(false);
        }
        let configs = broker.describe_configs(&resource, Some(&[CORDONED])).await?;
        let mut found = false;
        for (_, entries) in configs {
            found |= set(&entries?, CORDONED, Source::Broker).is_some();
        }
        Ok::<_, Error>(found)
    };
    let (directories, cordoned) = tokio::try_join!(broker.log_dirs(None), cordoned)?;
    let mut disks = Disks { total: Some(0), ..Disks::default() };
    for directory in directories {
        if directory.error.is_some() {
            return Ok((id, None, cordoned));
        }
        disks.total = disks.total.zip(directory.total).map(|(sum, more)| sum + more);
        for (topic, replicas) in directory.replicas {
            for replica in replicas {
                *disks.replicas.entry((topic.clone(), replica.partition)).or_default() += replica.size;
            }
        }
    }
    Ok((id, Some(disks), cordoned))
}
