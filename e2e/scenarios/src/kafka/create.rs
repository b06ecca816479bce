//! A cluster comes up.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use ballast_lab::wait::Seen;
use serde_json::json;

use super::{
    cluster::{Cluster, pool},
    drain::voters,
};
use crate::{quiet, scenario::Context};

/// Three nodes that are controllers and brokers, in three racks; what cannot be drained is refused before anything moves.
pub(super) async fn three_zones(context: &Context<'_>) -> Result<()> {
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &json!({})).await?;
    let begun = std::time::Instant::now();
    let status = cluster.ready().await?;
    context.figure("ready_seconds", begun.elapsed().as_secs());
    let zones: BTreeSet<&str> = status.nodes.iter().filter_map(|node| node.zone.as_deref()).collect();
    ensure!(zones == BTreeSet::from(["a", "b", "c"]), "zones {zones:?}");
    ensure!(voters(&status) == 3, "{:?}", status.nodes);
    let tools = cluster.tools();
    tools.create_topic("node-0", "wide", "0:1:2").await?;
    tools.run("node-0", "ConsoleProducer", &["--topic", "wide"], "ballast\n").await?;
    let read = ["--topic", "wide", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"];
    let text = tools.run("node-2", "consumer.ConsoleConsumer", &read, "").await?;
    ensure!(text.contains("ballast"), "read {text:?}");

    cluster.edit(json!({"nodePools": [pool("node", &["Controller", "Broker"], 1, 0)]})).await?;
    let message = cluster.blocked("DrainInfeasible").await?;
    ensure!(message.contains("wide has 3 replicas"), "{message}");
    ensure!(cluster.stateful_sets().await?.len() == 3, "nothing is removed");
    cluster.edit(json!({"nodePools": [pool("node", &["Controller", "Broker"], 3, 0)]})).await?;
    let status = cluster.ready().await?;
    ensure!(status.ready_nodes.as_deref() == Some("3/3"), "{:?}", status.ready_nodes);
    Ok(())
}

/// Three controllers and three brokers: each kind in three racks, a record that goes through them, and the canary's.
pub(super) async fn dedicated(context: &Context<'_>) -> Result<()> {
    let pools = [pool("broker", &["Broker"], 3, 0), pool("controller", &["Controller"], 3, 100)];
    let canary = json!({"canary": {"mode": "Enabled", "interval": "10s"}});
    let cluster = Cluster::create(context, &pools, &canary).await?;
    let begun = std::time::Instant::now();
    let status = cluster.ready().await?;
    context.figure("ready_seconds", begun.elapsed().as_secs());
    for kind in ["broker", "controller"] {
        let nodes = status.nodes.iter().filter(|node| node.name.starts_with(&format!("my-{kind}-")));
        let zones: Vec<&str> = nodes.filter_map(|node| node.zone.as_deref()).collect();
        ensure!(BTreeSet::from_iter(&zones).len() == 3 && zones.len() == 3, "{kind}s are in {zones:?}");
    }
    let votes: Vec<i32> =
        status.nodes.iter().filter(|node| node.controller.is_some()).map(|node| node.id).collect();
    ensure!(votes == [100, 101, 102] && voters(&status) == 3, "{:?}", status.nodes);
    let tools = cluster.tools();
    // Kafka itself places the replicas: it knows the racks.
    let arguments = ["--create", "--topic", "wide", "--partitions", "1", "--replication-factor", "3"];
    tools.run("broker-0", "TopicCommand", &arguments, "").await?;
    tools.run("broker-0", "ConsoleProducer", &["--topic", "wide"], "ballast\n").await?;
    let read = ["--topic", "wide", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"];
    let text = tools.run("broker-2", "consumer.ConsoleConsumer", &read, "").await?;
    ensure!(text.contains("ballast"), "read {text:?}");
    let racks = tools.run("broker-1", "ConfigCommand", &["--describe", "--all", "--broker", "1"], "").await?;
    let rack = racks.lines().find(|line| line.trim_start().starts_with("broker.rack="));
    let zone = status.nodes.iter().find(|node| node.id == 1).and_then(|node| node.zone.clone());
    let zone = zone.unwrap_or_default();
    ensure!(rack.is_some_and(|line| line.contains(&format!("broker.rack={zone} "))), "{zone}: {rack:?}");
    cluster
        .until("the canary to pass through each broker", |_, status| {
            let canary = status.conditions.iter().find(|condition| condition.type_ == "CanaryPassing");
            match canary {
                Some(condition) if condition.status == "True" => Seen::Met(()),
                other => Seen::NotYet(format!("{other:?}")),
            }
        })
        .await?;
    Ok(())
}

/// Nothing to do: nothing is written, in Kubernetes at least.
pub(super) async fn quiet(context: &Context<'_>) -> Result<()> {
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &json!({})).await?;
    cluster.ready().await?;
    quiet::holds(context).await
}
