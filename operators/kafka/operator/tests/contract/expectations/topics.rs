//! Making, finding and deleting topics.

use std::collections::BTreeMap;

use kafka_operator::client::{Layout, NewTopic, Source, code};

use crate::{
    servers::NODES,
    world::{World, refused, until, waits},
};

const UNKNOWN_TOPIC_ID: i16 = 100;

pub fn assigned(name: &str, partitions: &[&[i32]]) -> NewTopic {
    let partitions = partitions.iter().map(|nodes| nodes.to_vec()).collect();
    NewTopic { name: name.to_owned(), layout: Layout::Assigned(partitions), config: BTreeMap::new() }
}

fn counted(name: &str, partitions: i32, replication_factor: i16) -> NewTopic {
    let layout = Layout::Count { partitions, replication_factor };
    NewTopic { name: name.to_owned(), layout, config: BTreeMap::new() }
}

/// Waits until all brokers know a topic.
pub async fn known(world: &World, name: &str) {
    let names = [name.to_owned()];
    for node in NODES {
        until("all brokers know the topic", async || {
            let topics = world.broker(node).topics(Some(&names)).await.map_err(|error| error.to_string())?;
            if topics.found.len() == 1 { Ok(()) } else { Err(format!("{topics:?}")) }
        })
        .await;
    }
}

pub async fn made_and_deleted(world: &World) {
    let (brokers, controllers) = (world.brokers(), world.controllers());
    let mut topic = counted("first", 4, 3);
    topic.config.insert("min.insync.replicas".to_owned(), "2".to_owned());
    assert!(controllers.create_topic(&topic, true).await.unwrap().is_nil(), "it was only validated");
    let id = brokers.create_topic(&topic, false).await.unwrap();
    refused("a topic again", controllers.create_topic(&topic, false).await, code::TOPIC_ALREADY_EXISTS);
    let more = brokers.create_topic(&counted("wide", 1, 4), false).await;
    refused("more replicas than brokers", more, code::INVALID_REPLICATION_FACTOR);
    let nowhere = brokers.create_topic(&assigned("nowhere", &[&[1, 9]]), false).await;
    refused("a replica on no broker", nowhere, code::INVALID_REPLICA_ASSIGNMENT);
    topic = counted("odd", 1, 1);
    topic.config.insert("no.such.setting".to_owned(), "1".to_owned());
    refused("a setting that is none", brokers.create_topic(&topic, false).await, code::INVALID_CONFIG);

    known(world, "first").await;
    let found = brokers.topics(Some(&["first".to_owned(), "second".to_owned()])).await.unwrap();
    let missing = found.missing["second"].clone();
    waits("a topic that is none", Err::<(), _>(missing), code::UNKNOWN_TOPIC_OR_PARTITION);
    let [first] = found.found.as_slice() else { panic!("{found:?}") };
    assert_eq!((first.id, first.internal, first.partitions.len()), (id, false, 4));
    for partition in &first.partitions {
        assert_eq!(partition.replicas.len(), 3);
        assert!(partition.replicas.contains(&partition.leader.unwrap()));
        assert!(partition.offline.is_empty());
        assert_eq!(partition.eligible.as_deref(), Some(&[][..]), "all are in sync");
        assert_eq!(partition.last_eligible.as_deref(), Some(&[][..]));
    }
    let resource = kafka_operator::client::Resource::Topic("first".to_owned());
    let configs = brokers.describe_configs(&[resource], Some(&["min.insync.replicas"])).await.unwrap();
    let entry = configs[0].1.as_ref().unwrap()[0].clone();
    assert_eq!((entry.value.as_deref(), entry.source), (Some("2"), Source::Topic));

    controllers.delete_topic(id).await.unwrap();
    waits("delete it again", controllers.delete_topic(id).await, UNKNOWN_TOPIC_ID);
    until("the topic is gone", async || {
        let topics = brokers.topics(None).await.map_err(|error| error.to_string())?;
        if topics.found.is_empty() { Ok(()) } else { Err(format!("{topics:?}")) }
    })
    .await;
}

/// The client's pages hold three partitions here.
pub async fn pages(world: &World) {
    let brokers = world.brokers();
    for name in ["a", "b", "c"] {
        brokers.create_topic(&assigned(name, &[&[1, 2], &[2, 3], &[3, 1], &[2, 1]]), false).await.unwrap();
        known(world, name).await;
    }
    let topics = brokers.topics(None).await.unwrap();
    let places: Vec<_> = topics
        .found
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.name.as_str(), partition.index)))
        .collect();
    let expected: Vec<_> =
        ["a", "b", "c"].into_iter().flat_map(|name| (0..4).map(move |index| (name, index))).collect();
    assert_eq!(places, expected);
    assert_eq!(topics.found[0].partitions[3].replicas, [2, 1]);
    let two = brokers.topics(Some(&["c".to_owned(), "a".to_owned()])).await.unwrap();
    assert_eq!(two.found.iter().map(|topic| topic.partitions.len()).collect::<Vec<_>>(), [4, 4]);
    assert_eq!(brokers.topics(Some(&[])).await.unwrap().found, []);
    for topic in topics.found {
        brokers.delete_topic(topic.id).await.unwrap();
    }
}
