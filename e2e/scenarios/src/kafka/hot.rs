//! Brokers that have more traffic than others.

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::Seen;
use serde_json::json;

use super::{
    cluster::{Cluster, pool},
    drain::unthrottled,
    tools::Tools,
};
use crate::scenario::Context;

/// Partitions that are written to, all on one broker.
const PARTITIONS: i32 = 6;
/// Bytes per second that are written.
const RATE: u32 = 300_000;

/// Everything that is written goes to one broker: it is told of, and relieved under load, once.
pub(super) async fn relieved(context: &Context<'_>) -> Result<()> {
    let settings = json!({"rebalance": {"hotPartitions": {"mode": "Report"}, "onScaleUp": "Nothing"}});
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &settings).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    let assignment = vec!["0"; usize::try_from(PARTITIONS)?].join(",");
    tools.create_topic("node-1", "skewed", &assignment).await?;
    let (produced, relieved) = tokio::join!(produce(tools), relief(&cluster));
    produced?;
    let bytes = relieved?;
    context.figure("bytes", bytes);
    let leaders = leaders(tools).await?;
    ensure!(leaders.iter().all(|count| *count == 2), "leaders of broker 0, 1 and 2: {leaders:?}");
    unthrottled(tools).await
}

/// Writes as long as the rest takes.
async fn produce(tools: Tools<'_>) -> Result<()> {
    let records = (RATE / 1000 * 240).to_string();
    let rate = (RATE / 1000).to_string();
    // Each batch goes to another partition.
    let arguments = [
        "--topic",
        "skewed",
        "--num-records",
        &records,
        "--record-size",
        "1000",
        "--throughput",
        &rate,
        "--command-property",
        "batch.size=1100",
    ];
    tools.run("node-1", "ProducerPerformance", &arguments, "").await.map(drop)
}

/// It is told of first; then it may be done. How much is copied.
async fn relief(cluster: &Cluster) -> Result<i64> {
    let told = cluster
        .until("a hot broker to be told of", |_, status| match &status.hot_partitions {
            Some(hot) if hot.moves > 0 => Seen::Met(hot.clone()),
            other => Seen::NotYet(serde_json::to_string(other).unwrap_or_default()),
        })
        .await?;
    ensure!(told.brokers.iter().any(|broker| broker.starts_with("broker 0 has")), "{told:?}");
    cluster.edit(json!({"rebalance": {"hotPartitions": {"mode": "Auto"}, "onScaleUp": "Nothing"}})).await?;
    let bytes = cluster
        .until("a relief to be under way", |_, status| match &status.rebalance {
            Some(rebalance) => Seen::Met(rebalance.total_bytes),
            None => Seen::NotYet("nothing is moved".to_owned()),
        })
        .await?;
    let status = cluster.ready().await?;
    ensure!(status.hot_partitions.is_none(), "{:?}", status.hot_partitions);
    Ok(bytes)
}

/// How many partitions each broker leads.
async fn leaders(tools: Tools<'_>) -> Result<[usize; 3]> {
    let topics = tools.run("node-1", "TopicCommand", &["--describe", "--topic", "skewed"], "").await?;
    let mut leaders = [0; 3];
    for line in topics.lines() {
        let Some(leader) = line.split("Leader: ").nth(1).and_then(|rest| rest.split_whitespace().next())
        else {
            continue;
        };
        *leaders.get_mut(leader.parse::<usize>()?).context("an unknown broker")? += 1;
    }
    Ok(leaders)
}
