//! Brokers leave.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ballast_kafka_core::api::KafkaClusterStatus;
use ballast_lab::wait::Seen;
use serde_json::{Value, json};

use super::{
    cluster::{Cluster, pool},
    stream::Stream,
    tools::Tools,
};
use crate::{operator::Operator, scenario::Context};

/// What each broker may send and receive for moves, in MiB per second.
const THROTTLE: u32 = 5;
/// The broker that leaves.
const LEAVING: i32 = 100;

fn pools(more: i32) -> [Value; 2] {
    [pool("node", &["Controller", "Broker"], 3, 0), pool("more", &["Broker"], more, LEAVING)]
}

/// Four brokers with 150 MB, of which the fourth leaves while records are written and the operator dies.
pub(super) async fn four_to_three(context: &Context<'_>) -> Result<()> {
    let settings = json!({"rebalance": {"throttle": format!("{THROTTLE}Mi")}});
    let cluster = Cluster::create(context, &pools(1), &settings).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    // Replicas of one, two and three, of unlike sizes; the ledger's partition leaves too.
    tools.create_topic("node-0", "one", "100,100,0").await?;
    tools.create_topic("node-0", "two", "100:0,1:100").await?;
    tools.create_topic("node-0", "three", "2:1:100,100:0:1").await?;
    tools.create_topic("node-0", "ledger", "100:0:1").await?;
    for (topic, records) in [("one", 80_000), ("two", 50_000), ("three", 45_000)] {
        fill(tools, topic, records).await?;
    }
    let stream = Stream::begin(&cluster, "ledger").await?;

    let begun = Instant::now();
    cluster.edit(json!({"nodePools": pools(0)})).await?;
    let total = moving(&cluster, 0).await?;
    for part in [4, 2] {
        moving(&cluster, total / part).await?;
        Operator::Kafka.kill(context.environment).await?;
    }
    let status = cluster.ready().await?;
    let took = begun.elapsed();
    context.figure("bytes", total);
    context.figure("seconds", took.as_secs());
    // Everything is received by three brokers, each within its throttle; the first second's worth may come at once.
    let least = Duration::from_secs(u64::try_from(total)? / (3 * u64::from(THROTTLE) * (1 << 20)) * 4 / 5);
    ensure!(took >= least, "{total} bytes were moved within {took:?}: the throttle does not hold");
    ensure!(status.nodes.len() == 3, "{:?}", status.nodes);
    let written = stream.end().await?;
    context.figure("records", written);
    nothing_left(&cluster, tools).await
}

/// The same drain with everything that may happen meanwhile: a topic is made and one deleted, a broker dies, the broker is
/// wanted again half way and keeps what it still has, and leaves at last.
pub(super) async fn disturbed(context: &Context<'_>) -> Result<()> {
    let settings = json!({"rebalance": {"throttle": "2Mi"}});
    let cluster = Cluster::create(context, &pools(1), &settings).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    tools.create_topic("node-0", "doomed", "100:0,1:100").await?;
    tools.create_topic("node-0", "three", "2:1:100,100:0:1,0:100:2").await?;
    tools.create_topic("node-0", "ledger", "100:0:1").await?;
    for (topic, records) in [("doomed", 20_000), ("three", 60_000)] {
        fill(tools, topic, records).await?;
    }
    let stream = Stream::begin(&cluster, "ledger").await?;
    cluster.edit(json!({"nodePools": pools(0)})).await?;
    moving(&cluster, 1).await?;
    tools.run("node-0", "TopicCommand", &["--delete", "--topic", "doomed"], "").await?;
    tools.create_topic("node-0", "late", "0:1:2").await?;
    cluster.edit(json!({"nodePools": pools(1)})).await?;
    let status = cluster.ready().await?;
    ensure!(status.nodes.len() == 4, "{:?}", status.nodes);
    let settings =
        tools.run("node-0", "ConfigCommand", &["--describe", "--entity-type", "topics"], "").await?;
    ensure!(!settings.contains("throttled"), "{settings}");
    // Again, and a broker that receives dies.
    cluster.edit(json!({"nodePools": pools(0)})).await?;
    moving(&cluster, 1).await?;
    cluster.kill("my-node-1").await?;
    cluster.ready().await?;
    context.figure("records", stream.end().await?);
    nothing_left(&cluster, tools).await
}

/// Five nodes that are controllers and brokers become three, two at a time: they give their votes back too.
pub(super) async fn with_votes(context: &Context<'_>) -> Result<()> {
    let combined = |replicas| json!([pool("node", &["Controller", "Broker"], replicas, 0)]);
    let pools = [pool("node", &["Controller", "Broker"], 3, 0)];
    let cluster = Cluster::create(context, &pools, &json!({})).await?;
    cluster.ready().await?;
    cluster.edit(json!({"nodePools": combined(5)})).await?;
    let status = cluster.ready().await?;
    ensure!(voters(&status) == 5, "{:?}", status.nodes);
    let tools = cluster.tools();
    tools.create_topic("node-0", "ledger", "3:4:0,4:2:3").await?;
    let stream = Stream::begin(&cluster, "ledger").await?;
    cluster.edit(json!({"nodePools": combined(3)})).await?;
    let status = cluster.ready().await?;
    ensure!(voters(&status) == 3 && status.nodes.len() == 3, "{:?}", status.nodes);
    context.figure("records", stream.end().await?);
    Ok(())
}

/// Fills a topic with records of 1,000 bytes that cannot be compressed away.
pub(super) async fn fill(tools: Tools<'_>, topic: &str, records: u32) -> Result<()> {
    let records = records.to_string();
    let arguments = [
        "--topic",
        topic,
        "--num-records",
        &records,
        "--record-size",
        "1000",
        "--throughput",
        "-1",
        "--command-property",
        "acks=all",
    ];
    tools.run("node-0", "ProducerPerformance", &arguments, "").await.map(drop)
}

/// Waits until so many bytes have been moved; how many there are in all.
async fn moving(cluster: &Cluster, bytes: i64) -> Result<i64> {
    cluster
        .until(&format!("{bytes} bytes to be moved"), |_, status| match &status.rebalance {
            Some(rebalance) if rebalance.moved_bytes >= bytes && rebalance.total_bytes > 0 => {
                Seen::Met(rebalance.total_bytes)
            }
            other => Seen::NotYet(serde_json::to_string(other).unwrap_or_default()),
        })
        .await
}

pub(super) fn voters(status: &KafkaClusterStatus) -> usize {
    let votes = |role: Option<&str>| matches!(role, Some("Leader" | "Voter"));
    status.nodes.iter().filter(|node| votes(node.controller.as_deref())).count()
}

/// Kafka and Kubernetes know nothing of the broker any more, and no throttle or cordon is left.
async fn nothing_left(cluster: &Cluster, tools: Tools<'_>) -> Result<()> {
    let topics = tools.run("node-0", "TopicCommand", &["--describe"], "").await?;
    for line in topics.lines().filter(|line| line.contains("Replicas: ")) {
        let replicas =
            line.split("Replicas: ").nth(1).context("replicas")?.split('\t').next().unwrap_or_default();
        ensure!(!replicas.split(',').any(|id| id.trim() == "100"), "{line}");
    }
    unthrottled(tools).await?;
    let sets = cluster.stateful_sets().await?;
    ensure!(sets == ["my-node-0", "my-node-1", "my-node-2"], "{sets:?}");
    let retired =
        cluster.claims().await?.into_iter().filter(|claim| {
            claim.metadata.labels.iter().flatten().any(|(key, _)| key == "ballast.dev/retired")
        });
    ensure!(retired.count() == 1, "the volume of the broker stays and is marked");
    Ok(())
}

/// No throttle and no cordon is left.
pub(super) async fn unthrottled(tools: Tools<'_>) -> Result<()> {
    for (kind, more) in [("topics", None), ("brokers", Some("--entity-default"))] {
        let arguments: Vec<&str> = ["--describe", "--entity-type", kind].into_iter().chain(more).collect();
        let settings = tools.run("node-0", "ConfigCommand", &arguments, "").await?;
        ensure!(!settings.contains("throttled") && !settings.contains("cordoned"), "{settings}");
    }
    Ok(())
}
