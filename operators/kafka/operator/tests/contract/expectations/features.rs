//! Levels of features, and what needs one.

use std::collections::BTreeMap;

use kafka_operator::client::{
    Admin, Change, FeatureUpdate, Features, KRAFT_VERSION, Layout, METADATA_VERSION, NewTopic, Resource,
    Source, Step, code,
};

use super::{
    settings::{change, reaches},
    topics::assigned,
};
use crate::{
    servers::NODES,
    world::{World, refused, until},
};

/// 4.1-IV1, as which both clusters were formatted.
const FORMATTED: i16 = 27;
/// 4.3-IV0: the first with cordons (KIP-1066).
const CORDONS: i16 = 30;
const LOG_DIRS: &str = "cordoned.log.dirs";

async fn update(
    admin: &Admin,
    level: i16,
    step: Step,
    validate_only: bool,
) -> Result<(), kafka_operator::client::Error> {
    let update = FeatureUpdate { feature: METADATA_VERSION.to_owned(), level, step };
    admin.update_features(&[update], validate_only).await
}

async fn features(admin: &Admin) -> Features {
    admin.features().await.unwrap()
}

pub async fn levels(world: &World) {
    let (brokers, controllers) = (world.brokers(), world.controllers());
    let mut highest = 0;
    for node in NODES {
        for admin in [world.broker(node), world.controller(node)] {
            let features = features(&admin).await;
            assert_eq!(features.level(METADATA_VERSION), Some(FORMATTED), "{features:?}");
            assert_eq!(features.level(KRAFT_VERSION), Some(1), "the quorum is dynamic: {features:?}");
            highest = features.supported[METADATA_VERSION].1;
        }
    }
    let newest = features(&brokers).await;
    eprintln!("  supported {:?}, finalized {:?} at {:?}", newest.supported, newest.finalized, newest.epoch);
    let beyond = update(&brokers, highest + 1, Step::Upgrade, false).await;
    refused("a level that no node has", beyond, code::INVALID_UPDATE_VERSION);
    let down = update(&brokers, FORMATTED - 2, Step::Upgrade, false).await;
    refused("down without saying so", down, code::INVALID_UPDATE_VERSION);
    let cordon = change(&world.broker(3), Resource::Broker(3), LOG_DIRS, Change::Set("*".to_owned())).await;
    if !world.servers.cordons() {
        assert_eq!(highest, FORMATTED);
        // A server that does not know the setting takes it, and takes no notice of it.
        cordon.unwrap();
        brokers.create_topic(&wide(), true).await.unwrap();
        change(&world.broker(3), Resource::Broker(3), LOG_DIRS, Change::Delete).await.unwrap();
        return;
    }
    refused("a cordon too early", cordon, code::INVALID_CONFIG);
    update(&controllers, highest, Step::Upgrade, true).await.unwrap();
    assert_eq!(
        features(&controllers).await.level(METADATA_VERSION),
        Some(FORMATTED),
        "it was only validated"
    );
    update(&controllers, highest, Step::Upgrade, false).await.unwrap();
    for node in NODES {
        until("all nodes know the level", async || {
            match features(&world.broker(node)).await.level(METADATA_VERSION) {
                Some(level) if level == highest => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
    assert!(highest >= CORDONS);
    let back = update(&controllers, FORMATTED, Step::SafeDowngrade, true).await;
    refused("down again", back, code::INVALID_UPDATE_VERSION);
    cordoned(world).await;
}

/// A topic that needs all three brokers.
fn wide() -> NewTopic {
    let layout = Layout::Count { partitions: 1, replication_factor: 3 };
    NewTopic { name: "wide".to_owned(), layout, config: BTreeMap::new() }
}

/// Broker 3 gets nothing new.
async fn cordoned(world: &World) {
    let (brokers, controllers) = (world.brokers(), world.controllers());
    // The controllers take away from the list only; the broker itself must be told to add to it.
    let all = || Change::Set("*".to_owned());
    let added = change(&controllers, Resource::Broker(3), LOG_DIRS, all()).await;
    refused("a cordon asked of a controller", added, code::INVALID_CONFIG);
    change(&world.broker(3), Resource::Broker(3), LOG_DIRS, all()).await.unwrap();
    reaches(world, 3, &Resource::Broker(3), LOG_DIRS, Some(("*", Source::Broker))).await;
    // The broker tells the controller with its next heartbeat.
    until("the controller knows of the cordon", async || match brokers.create_topic(&wide(), true).await {
        Err(error) if error.code() == Some(code::INVALID_REPLICATION_FACTOR) => {
            eprintln!("  three replicas with one broker cordoned: {error}");
            Ok(())
        }
        other => Err(format!("{other:?}")),
    })
    .await;
    let placed = brokers.create_topic(&assigned("placed", &[&[1, 3]]), true).await;
    refused("a replica placed on a cordoned broker", placed, code::INVALID_REPLICA_ASSIGNMENT);
    change(&controllers, Resource::Broker(3), LOG_DIRS, Change::Delete).await.unwrap();
    until("the cordon is gone", async || {
        brokers.create_topic(&wide(), true).await.map(drop).map_err(|error| error.to_string())
    })
    .await;
}
