//! Nodes that do not answer, are gone, and come back with another disk.

use std::time::{Duration, Instant};

use kafka_operator::client::{Cause, Change, Error, NewTopic, Resource, Unknown, code};

use super::{
    begin::{endpoints, ids, observer, quorum, serve, votes},
    settings::change,
    topics::{assigned, known},
};
use crate::{
    servers::{CLUSTER, Format, NODES},
    world::{World, at_last, refused, until},
};

const TOPIC: &str = "eligible";
/// Something that is harmless to change.
const RATE: &str = "leader.replication.throttled.rate";

fn others(node: i32) -> Vec<i32> {
    NODES.into_iter().filter(|other| *other != node).collect()
}

async fn changes(world: &World) -> Result<(), Error> {
    change(&world.controllers(), Resource::Brokers, RATE, Change::Delete).await
}

/// A node takes connections and says nothing. Returns its number.
pub async fn frozen(world: &mut World) -> i32 {
    let leader = quorum(&world.brokers()).await.unwrap().leader;
    let lost = others(leader)[0];
    let topic = NewTopic {
        config: [("min.insync.replicas".to_owned(), "2".to_owned())].into(),
        ..assigned(TOPIC, &[&[leader, lost]])
    };
    world.brokers().create_topic(&topic, false).await.unwrap();
    known(world, TOPIC).await;
    world.servers.freeze(lost);

    let (begun, limit) = (Instant::now(), Duration::from_secs(1));
    let error = world.broker(lost).within(limit).features().await.unwrap_err();
    assert_eq!(
        error,
        Error::Unknown(Unknown { cause: Cause::Deadline(limit), may_have_been_applied: false })
    );
    let took = begun.elapsed();
    assert!(took >= limit && took < 10 * limit, "{took:?}");
    let error =
        change(&world.broker(lost).within(limit), Resource::Brokers, RATE, Change::Delete).await.unwrap_err();
    eprintln!("  a change asked of a frozen node: {error}");
    assert!(!error.may_have_been_applied(), "it does not even tell its versions: {error}");
    // Nobody else suffers from it.
    world.brokers().topics(None).await.unwrap();
    for node in others(lost) {
        world.broker(node).log_dirs(None).await.unwrap();
    }
    changes(world).await.unwrap();

    until("the frozen broker is fenced", async || {
        let cluster = world.brokers().describe_cluster().await.map_err(|error| error.to_string())?;
        let fenced = cluster.brokers.iter().any(|broker| broker.id == lost && broker.fenced);
        if fenced { Ok(()) } else { Err(format!("{cluster:?}")) }
    })
    .await;
    until("the replica is offline and may lead", async || {
        let topics =
            world.brokers().topics(Some(&[TOPIC.to_owned()])).await.map_err(|error| error.to_string())?;
        let partition = &topics.found[0].partitions[0];
        let offline = (partition.isr.as_slice(), partition.offline.as_slice()) == (&[leader], &[lost]);
        let eligible = partition.eligible.as_deref() == Some(&[lost]);
        if offline && eligible { Ok(()) } else { Err(format!("{partition:?}")) }
    })
    .await;
    world.servers.kill(lost);
    let begun = Instant::now();
    let error = world.broker(lost).features().await.unwrap_err();
    eprintln!("  a killed node: {error}");
    assert!(matches!(error, Error::Unknown(Unknown { cause: Cause::Connect(_), .. })), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    lost
}

/// The lost node comes back with an empty disk: another voter, the same broker.
pub async fn wiped(world: &mut World, lost: i32) {
    let (brokers, controllers) = (world.brokers(), world.controllers());
    let before = quorum(&controllers).await.unwrap();
    let old = before.voters.iter().find(|voter| voter.id == lost).unwrap().directory;
    at_last("the lost voter is removed", async || match controllers.remove_voter(CLUSTER, lost, old).await {
        Err(error) if error.code() == Some(code::VOTER_NOT_FOUND) => Ok(()),
        other => other,
    })
    .await;
    refused("remove it again", brokers.remove_voter(CLUSTER, lost, old).await, code::VOTER_NOT_FOUND);
    assert_eq!(ids(&quorum(&brokers).await.unwrap().voters), others(lost));

    controllers.unregister_broker(lost).await.unwrap();
    refused("unregister it again", brokers.unregister_broker(lost).await, code::BROKER_ID_NOT_REGISTERED);
    serve(world, &others(lost)).await;

    world.servers.wipe(lost);
    world.servers.format(&[(lost, Format::Joining)]);
    world.servers.start(lost);
    world.done("the lost node started");
    let new = observer(world, lost).await;
    world.done("the lost node follows");
    assert_ne!(new, old);
    at_last("the new voter is added", async || {
        match brokers.add_voter(CLUSTER, lost, new, &endpoints(world, lost)).await {
            Err(error) if error.code() == Some(code::DUPLICATE_VOTER) => Ok(()),
            other => other,
        }
    })
    .await;
    world.done("the lost node is added");
    votes(world, lost, new).await;
    serve(world, &NODES).await;
}

/// The client finds the next one by itself.
pub async fn active_controller(world: &mut World) {
    changes(world).await.unwrap();
    let before = quorum(&world.controllers()).await.unwrap();
    world.servers.kill(before.leader);
    let begun = Instant::now();
    at_last("a change is accepted", async || changes(world).await).await;
    eprintln!("  the next controller after {:.1} s", begun.elapsed().as_secs_f32());
    let after = quorum(&world.brokers()).await.unwrap();
    assert_ne!(after.leader, before.leader);
    assert!(after.epoch > before.epoch);
    assert_eq!(ids(&after.voters), NODES);
}
