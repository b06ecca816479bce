//! Settings that are changed while everything runs.

use kafka_operator::client::{Admin, Change, Entry, Resource, Source, code};

use crate::world::{World, refused, until, waits};

const RATE: &str = "leader.replication.throttled.rate";

pub async fn one(admin: &Admin, resource: Resource, name: &str) -> Result<Option<Entry>, String> {
    let answer = admin.describe_configs(&[resource], Some(&[name])).await;
    let (_, entries) = answer.map_err(|error| error.to_string())?.remove(0);
    Ok(entries.map_err(|error| error.to_string())?.into_iter().find(|entry| entry.name == name))
}

/// Waits until a broker has a value from this source; `None`: until it has none that was set.
pub async fn reaches(
    world: &World,
    node: i32,
    resource: &Resource,
    name: &str,
    value: Option<(&str, Source)>,
) {
    until("the broker has the value", async || {
        let entry = one(&world.broker(node), resource.clone(), name).await?;
        let own = entry.as_ref().map(|entry| (entry.value.as_deref().unwrap_or_default(), entry.source));
        let set = own.filter(|(_, source)| *source != Source::Default);
        if set == value { Ok(()) } else { Err(format!("{entry:?}")) }
    })
    .await;
}

pub async fn change(
    admin: &Admin,
    resource: Resource,
    name: &str,
    change: Change,
) -> Result<(), kafka_operator::client::Error> {
    let changes = vec![(name.to_owned(), change)];
    admin.alter_configs(&[(resource, changes)], false).await.map(|mut outcomes| outcomes.remove(0).1)?
}

fn set(value: &str) -> Change {
    Change::Set(value.to_owned())
}

pub async fn dynamic(world: &World) {
    let (brokers, controllers) = (world.brokers(), world.controllers());
    // All brokers, through a controller.
    let only_validated = [(Resource::Brokers, vec![(RATE.to_owned(), set("999"))])];
    controllers.alter_configs(&only_validated, true).await.unwrap().remove(0).1.unwrap();
    change(&controllers, Resource::Brokers, RATE, set("1000")).await.unwrap();
    for node in [1, 3] {
        reaches(world, node, &Resource::Broker(node), RATE, Some(("1000", Source::Brokers))).await;
    }
    assert_eq!(
        one(&controllers, Resource::Brokers, RATE).await.unwrap().unwrap().value.as_deref(),
        Some("1000")
    );
    // One broker, which another one does not pass on.
    let other = change(&world.broker(1), Resource::Broker(3), RATE, set("2000")).await;
    refused("a broker told about another one", other, code::INVALID_REQUEST);
    change(&controllers, Resource::Broker(3), RATE, set("2000")).await.unwrap();
    reaches(world, 3, &Resource::Broker(3), RATE, Some(("2000", Source::Broker))).await;
    reaches(world, 1, &Resource::Broker(1), RATE, Some(("1000", Source::Brokers))).await;
    let other = world.broker(1).describe_configs(&[Resource::Broker(3)], None).await.unwrap().remove(0).1;
    refused("a broker asked for another one's", other, code::INVALID_REQUEST);
    // A controller is told of all brokers, and asked of its own node only.
    let leader = super::begin::quorum(&controllers).await.unwrap().leader;
    let not_own = if leader == 3 { 2 } else { 3 };
    let other = world
        .controller(leader)
        .describe_configs(&[Resource::Broker(not_own)], None)
        .await
        .unwrap()
        .remove(0)
        .1;
    refused("a controller asked for another node's", other, code::INVALID_REQUEST);
    // Back to what there was.
    change(&world.broker(3), Resource::Broker(3), RATE, Change::Delete).await.unwrap();
    change(&brokers, Resource::Brokers, RATE, Change::Delete).await.unwrap();
    change(&brokers, Resource::Brokers, RATE, Change::Delete).await.unwrap();
    for node in [1, 3] {
        reaches(world, node, &Resource::Broker(node), RATE, None).await;
    }
    assert_eq!(one(&controllers, Resource::Brokers, RATE).await.unwrap(), None);

    let none = change(&brokers, Resource::Topic("none".to_owned()), "retention.ms", set("1")).await;
    waits("a topic that is none", none, code::UNKNOWN_TOPIC_OR_PARTITION);
    let wrong = change(&brokers, Resource::Brokers, "log.cleaner.threads", set("many")).await;
    refused("a wrong value", wrong, code::INVALID_REQUEST);
    let fixed = change(&world.broker(1), Resource::Broker(1), "node.id", set("9")).await;
    refused("what only the file can say", fixed, code::INVALID_REQUEST);
    // Controllers keep what no broker would take, and the brokers ignore it.
    change(&controllers, Resource::Broker(1), "node.id", set("9")).await.unwrap();
    change(&controllers, Resource::Broker(1), "node.id", Change::Delete).await.unwrap();
    let all =
        world.broker(1).describe_configs(&[Resource::Broker(1)], None).await.unwrap().remove(0).1.unwrap();
    let own = all.iter().find(|entry| entry.name == "node.id").unwrap();
    assert_eq!((own.value.as_deref(), own.source, own.read_only), (Some("1"), Source::File, true));

    let (logger, name) = (Resource::Logger(2), "root");
    change(&world.broker(2), logger.clone(), name, set("ERROR")).await.unwrap();
    let level = one(&world.broker(2), logger.clone(), name).await.unwrap().unwrap();
    assert_eq!((level.value.as_deref(), level.source), (Some("ERROR"), Source::Logger));
    refused(
        "another broker's logger",
        change(&world.broker(1), logger, name, set("WARN")).await,
        code::INVALID_REQUEST,
    );
}
