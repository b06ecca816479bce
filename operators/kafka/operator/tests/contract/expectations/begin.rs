//! Three nodes become one cluster: the first alone, the others let in through the client.

use kafka_operator::client::{Admin, Endpoint, Quorum, Voter, code};
use uuid::Uuid;

use crate::{
    servers::{CLUSTER, Format, NODES},
    world::{World, at_last, refused, until, waits},
};

pub async fn quorum(admin: &Admin) -> Result<Quorum, String> {
    admin.describe_quorum().await.map_err(|error| error.to_string())
}

pub fn ids(voters: &[Voter]) -> Vec<i32> {
    voters.iter().map(|voter| voter.id).collect()
}

pub fn endpoints(world: &World, node: i32) -> Vec<Endpoint> {
    let (host, port) = world.servers.controller(node);
    vec![Endpoint { name: "CONTROLLER".to_owned(), host, port }]
}

/// Waits until the node follows as an observer and has everything; returns the id of its directory. The copy on a disk that is
/// gone is an observer for five minutes more.
pub async fn observer(world: &World, node: i32) -> Uuid {
    until("the node follows", async || {
        world.servers.check();
        let quorum = quorum(&world.brokers()).await?;
        let has_all =
            |observer: &&Voter| observer.id == node && observer.log_end >= Some(quorum.high_watermark);
        let own = quorum.observers.iter().find(has_all).map(|observer| observer.directory);
        own.filter(|directory| !directory.is_nil()).ok_or_else(|| format!("{quorum:?}"))
    })
    .await
}

/// Waits until the node votes.
pub async fn votes(world: &World, node: i32, directory: Uuid) {
    until("the node votes", async || {
        let quorum = quorum(&world.controllers()).await?;
        let own = |voter: &Voter| (voter.id, voter.directory) == (node, directory);
        if quorum.voters.iter().any(own) && !quorum.observers.iter().any(own) {
            Ok(())
        } else {
            Err(format!("{quorum:?}"))
        }
    })
    .await;
}

/// Waits until these brokers are registered and not fenced, and no others.
pub async fn serve(world: &World, nodes: &[i32]) {
    until("the brokers serve", async || {
        world.servers.check();
        let cluster = world.brokers().describe_cluster().await.map_err(|error| error.to_string())?;
        let serving = cluster.brokers.iter().filter(|broker| !broker.fenced).map(|broker| broker.id);
        if serving.eq(nodes.iter().copied()) && cluster.brokers.len() == nodes.len() {
            Ok(())
        } else {
            Err(format!("{cluster:?}"))
        }
    })
    .await;
}

pub async fn three_voters(world: &mut World) {
    let begun = std::time::Instant::now();
    world.servers.format(&[(1, Format::Standalone), (2, Format::Joining), (3, Format::Joining)]);
    eprintln!("  formatted in {:.1} s", begun.elapsed().as_secs_f32());
    for node in NODES {
        world.servers.start(node);
    }
    let alone = until("the first node leads", async || quorum(&world.controller(1)).await).await;
    assert_eq!((alone.leader, ids(&alone.voters)), (1, vec![1]));
    assert_ne!(alone.voters[0].directory, Uuid::nil());
    // In spite of what its schema says, the leader tells of itself that it fetches now.
    assert!(alone.voters[0].last_fetch.is_some() && alone.voters[0].last_caught_up.is_some());
    assert_eq!(alone.endpoints[&1], endpoints(world, 1));
    serve(world, &NODES).await;

    let (brokers, controllers) = (world.brokers(), world.controllers());
    let directory = observer(world, 2).await;
    let wrong = brokers.add_voter("AAAAAAAAAAAAAAAAAAAAAA", 2, directory, &endpoints(world, 2)).await;
    refused("a voter for another cluster", wrong, code::INCONSISTENT_CLUSTER_ID);
    for (node, admin) in [(2, &brokers), (3, &controllers)] {
        let directory = observer(world, node).await;
        at_last("the voter is added", async || {
            match admin.add_voter(CLUSTER, node, directory, &endpoints(world, node)).await {
                // What was not answered may have been applied.
                Err(error) if error.code() == Some(code::DUPLICATE_VOTER) => Ok(()),
                other => other,
            }
        })
        .await;
        votes(world, node, directory).await;
        let again = admin.add_voter(CLUSTER, node, directory, &endpoints(world, node)).await;
        refused("a voter again", again, code::DUPLICATE_VOTER);
    }
    let all = quorum(&brokers).await.unwrap();
    assert_eq!((ids(&all.voters), all.observers.as_slice()), (NODES.to_vec(), &[][..]));
    for node in NODES {
        assert_eq!(all.endpoints[&node], endpoints(world, node));
    }
    let nobody = brokers.remove_voter(CLUSTER, 2, Uuid::from_u128(7)).await;
    refused("remove the right node with another directory", nobody, code::VOTER_NOT_FOUND);
}

const MISMATCHED_ENDPOINT_TYPE: i16 = 114;

/// What each of the two listeners has.
pub async fn listeners(world: &World) {
    for admin in [world.brokers(), world.broker(3)] {
        let cluster = admin.describe_cluster().await.unwrap();
        assert_eq!(cluster.id, CLUSTER);
        let racks: Vec<_> =
            cluster.brokers.iter().map(|broker| (broker.id, broker.rack.clone().unwrap())).collect();
        assert_eq!(racks, NODES.map(|node| (node, format!("zone-{node}"))));
        assert!(NODES.contains(&cluster.controller.unwrap()));
    }
    let wrong = world.controllers().describe_cluster().await;
    refused("brokers asked of a controller", wrong, MISMATCHED_ENDPOINT_TYPE);
    let wrong = world.controllers().topics(None).await;
    refused("topics asked of a controller", wrong, code::UNSUPPORTED_VERSION);
    let wrong = world.controllers().log_dirs(None).await;
    refused("log directories asked of a controller", wrong, code::UNSUPPORTED_VERSION);
    // A controller that is not active says so, and the client goes on from there by itself.
    let leader = quorum(&world.controllers()).await.unwrap().leader;
    for node in NODES {
        let answer = world.controller(node).describe_quorum().await;
        if node == leader {
            assert_eq!(answer.unwrap().leader, leader);
        } else {
            waits("the quorum asked of a follower", answer, code::NOT_LEADER_OR_FOLLOWER);
        }
    }
}
