//! Replicas move from node to node, slowly, and leaders with them.

use kafka_operator::client::{Change, Move, Partition, Position, Resource, Source, code};

use super::{
    settings::{change, reaches},
    topics::{assigned, known},
};
use crate::{
    produce::produce,
    world::{World, only, outcome, refused, until, waits},
};

const TOPIC: &str = "moving";
const RECORDS: usize = 6;
/// Bytes per second: a record takes a minute.
const SLOW: &str = "15000";
const RATES: [&str; 2] = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"];
const THROTTLED: [(&str, &str); 2] =
    [("leader.replication.throttled.replicas", "0:1"), ("follower.replication.throttled.replicas", "0:3")];

fn to(replicas: Option<&[i32]>) -> kafka_operator::client::ByTopic<Move> {
    only(TOPIC, Move { partition: 0, replicas: replicas.map(<[i32]>::to_vec) })
}

async fn partition(world: &World) -> Result<Partition, String> {
    let topics =
        world.brokers().topics(Some(&[TOPIC.to_owned()])).await.map_err(|error| error.to_string())?;
    topics
        .found
        .into_iter()
        .next()
        .map(|mut topic| topic.partitions.remove(0))
        .ok_or_else(|| "no topic".to_owned())
}

async fn moved(world: &World, replicas: &[i32]) {
    until("the replicas are where they shall be", async || {
        let partition = partition(world).await?;
        let idle = world.brokers().list_reassignments().await.map_err(|error| error.to_string())?.is_empty();
        let in_sync = partition.isr.len() == replicas.len();
        if partition.replicas == replicas && in_sync && idle { Ok(()) } else { Err(format!("{partition:?}")) }
    })
    .await;
}

async fn filled(world: &World) {
    world.brokers().create_topic(&assigned(TOPIC, &[&[1, 2]]), false).await.unwrap();
    known(world, TOPIC).await;
    produce(&world.servers.addresses().brokers[&1], TOPIC, 0, RECORDS).await;
    let ask = only(TOPIC, 0);
    let earliest = world.broker(1).list_offsets(&ask, Position::Earliest).await.unwrap();
    assert_eq!(outcome(earliest, TOPIC), Ok(0));
    let latest = world.broker(1).list_offsets(&ask, Position::Latest).await.unwrap();
    assert_eq!(outcome(latest, TOPIC), Ok(i64::try_from(RECORDS).unwrap()));
    let elsewhere = world.broker(2).list_offsets(&ask, Position::Latest).await.unwrap();
    waits("offsets asked of a follower", outcome(elsewhere, TOPIC), code::NOT_LEADER_OR_FOLLOWER);
    let none = world.broker(1).list_offsets(&only("none", 0), Position::Latest).await.unwrap();
    waits("offsets of a topic that is none", outcome(none, "none"), code::UNKNOWN_TOPIC_OR_PARTITION);
    for node in [1, 2] {
        let [dir] = world.broker(node).log_dirs(None).await.unwrap().try_into().unwrap();
        assert_eq!(dir.error, None);
        assert!(dir.total.unwrap() > dir.usable.unwrap());
        let replica = dir.replicas[TOPIC][0];
        assert!(replica.size > 5_000_000 && replica.size < 6_000_000, "{replica:?}");
        assert_eq!((replica.partition, replica.offset_lag, replica.future), (0, 0, false));
    }
    let [asked] = world.broker(2).log_dirs(Some(&only(TOPIC, 0))).await.unwrap().try_into().unwrap();
    assert_eq!(asked.replicas.keys().collect::<Vec<_>>(), [TOPIC]);
    let [nothing] = world.broker(3).log_dirs(Some(&only(TOPIC, 0))).await.unwrap().try_into().unwrap();
    assert!(nothing.replicas.is_empty(), "{nothing:?}");
}

pub async fn reassigned(world: &World) {
    filled(world).await;
    let (brokers, controllers) = (world.brokers(), world.controllers());
    let topic = Resource::Topic(TOPIC.to_owned());
    for rate in RATES {
        change(&controllers, Resource::Brokers, rate, Change::Set(SLOW.to_owned())).await.unwrap();
    }
    for (name, value) in THROTTLED {
        change(&controllers, topic.clone(), name, Change::Set(value.to_owned())).await.unwrap();
    }
    for node in [1, 3] {
        for rate in RATES {
            reaches(world, node, &Resource::Broker(node), rate, Some((SLOW, Source::Brokers))).await;
        }
        for (name, value) in THROTTLED {
            reaches(world, node, &topic, name, Some((value, Source::Topic))).await;
        }
    }
    let wrong = controllers.alter_reassignments(&to(Some(&[1, 9])), false).await.unwrap();
    refused("to no broker", outcome(wrong, TOPIC), code::INVALID_REPLICA_ASSIGNMENT);
    let wrong = controllers.alter_reassignments(&to(Some(&[1, 2, 3])), false).await.unwrap();
    refused("another number of replicas", outcome(wrong, TOPIC), code::INVALID_REPLICATION_FACTOR);
    let none = brokers.alter_reassignments(&to(None), false).await.unwrap();
    refused("nothing to cancel", outcome(none, TOPIC), code::NO_REASSIGNMENT_IN_PROGRESS);
    let none = only("none", Move { partition: 0, replicas: Some(vec![1]) });
    let none = brokers.alter_reassignments(&none, false).await.unwrap();
    waits("a topic that is none", outcome(none, "none"), code::UNKNOWN_TOPIC_OR_PARTITION);
    assert!(brokers.list_reassignments().await.unwrap().is_empty());

    let begun = controllers.alter_reassignments(&to(Some(&[1, 3])), false).await.unwrap();
    outcome(begun, TOPIC).unwrap();
    for admin in [&brokers, &controllers] {
        let under_way = admin.list_reassignments().await.unwrap();
        let [one] = under_way[TOPIC].as_slice() else { panic!("{under_way:?}") };
        assert_eq!((one.partition, one.adding.as_slice(), one.removing.as_slice()), (0, &[3][..], &[2][..]));
        assert_eq!(one.replicas, [1, 3, 2]);
    }
    let copy = until("the copy is begun", async || {
        let [dir] =
            world.broker(3).log_dirs(None).await.map_err(|error| error.to_string())?.try_into().unwrap();
        dir.replicas.get(TOPIC).map(|replicas| replicas[0]).ok_or_else(|| format!("{dir:?}"))
    })
    .await;
    eprintln!("  the copy while it is throttled: {copy:?}");
    // Its lag may be zero: it is measured against what the copy itself has heard of the leader.
    assert!(copy.size < 5_000_000 && !copy.future, "{copy:?}");
    outcome(brokers.alter_reassignments(&to(None), false).await.unwrap(), TOPIC).unwrap();
    moved(world, &[1, 2]).await;

    for rate in RATES {
        change(&brokers, Resource::Brokers, rate, Change::Delete).await.unwrap();
    }
    for (name, _) in THROTTLED {
        change(&brokers, topic.clone(), name, Change::Delete).await.unwrap();
    }
    for node in [1, 3] {
        reaches(world, node, &Resource::Broker(node), RATES[0], None).await;
        reaches(world, node, &topic, THROTTLED[0].0, None).await;
    }
    outcome(brokers.alter_reassignments(&to(Some(&[1, 3])), false).await.unwrap(), TOPIC).unwrap();
    moved(world, &[1, 3]).await;
    outcome(brokers.alter_reassignments(&to(Some(&[1, 3, 2])), true).await.unwrap(), TOPIC).unwrap();
    moved(world, &[1, 3, 2]).await;
}

/// Another order of the same replicas moves nothing, and an election follows it.
pub async fn led(world: &World) {
    let brokers = world.brokers();
    outcome(brokers.alter_reassignments(&to(Some(&[3, 1, 2])), false).await.unwrap(), TOPIC).unwrap();
    moved(world, &[3, 1, 2]).await;
    assert_eq!(partition(world).await.unwrap().leader, Some(1), "nobody was elected");
    for admin in [&brokers, &world.controllers()] {
        outcome(admin.elect_preferred_leaders(&only(TOPIC, 0)).await.unwrap(), TOPIC).unwrap();
    }
    until("the first replica leads", async || {
        let partition = partition(world).await?;
        if partition.leader == Some(3) { Ok(()) } else { Err(format!("{partition:?}")) }
    })
    .await;
    let none = brokers.elect_preferred_leaders(&only("none", 0)).await.unwrap();
    waits("a topic that is none", outcome(none, "none"), code::UNKNOWN_TOPIC_OR_PARTITION);
}
