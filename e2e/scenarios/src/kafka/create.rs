//! A cluster comes up.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::json;

use super::cluster::{Cluster, pool};
use crate::scenario::Context;

/// Three nodes that are controllers and brokers, in three racks; what cannot be drained is refused before anything moves.
pub(super) async fn three_zones(context: &Context<'_>) -> Result<()> {
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &json!({})).await?;
    let begun = std::time::Instant::now();
    let status = cluster.ready().await?;
    context.figure("ready_seconds", begun.elapsed().as_secs());
    let zones: BTreeSet<&str> = status.nodes.iter().filter_map(|node| node.zone.as_deref()).collect();
    ensure!(zones == BTreeSet::from(["a", "b", "c"]), "zones {zones:?}");
    let voters =
        status.nodes.iter().filter(|node| matches!(node.controller.as_deref(), Some("Leader" | "Voter")));
    ensure!(voters.count() == 3, "{:?}", status.nodes);
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
