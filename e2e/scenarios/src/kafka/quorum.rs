//! The controllers of a cluster become more and fewer.

use anyhow::{Context as _, Result, ensure};
use ballast_kafka_core::api::KafkaClusterStatus;
use serde_json::{Value, json};

use super::{
    cluster::{Cluster, pool},
    drain::voters,
    stream::Stream,
};
use crate::scenario::Context;

fn pools(controllers: i32) -> [Value; 2] {
    [pool("broker", &["Broker"], 3, 0), pool("controller", &["Controller"], controllers, 100)]
}

/// 1 → 3 → 5 → 3 controllers under load; the active one dies in the middle of each change.
pub(super) async fn resized(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, &pools(1), &json!({})).await?;
    cluster.ready().await?;
    cluster.tools().create_topic("broker-0", "ledger", "0:1:2,1:2:0").await?;
    let stream = Stream::begin(&cluster, "ledger").await?;
    for (count, step) in [(3, "AddVoter"), (5, "AddVoter"), (3, "RemoveVoter")] {
        let before = cluster.ready().await?;
        cluster.edit(json!({"nodePools": pools(count)})).await?;
        // The first of the new votes is given, or of the old ones taken back.
        let changed = cluster
            .until(&format!("a vote to change on the way to {count}"), |_, status| {
                if voters(status) == voters(&before) {
                    ballast_lab::wait::Seen::NotYet(format!("{} vote; {step} is next", voters(status)))
                } else {
                    ballast_lab::wait::Seen::Met(status.clone())
                }
            })
            .await?;
        let leader = leader(&changed).or_else(|| leader(&before)).context("nobody leads the quorum")?;
        cluster.kill(&leader).await?;
        let status = cluster.ready().await?;
        let expected = usize::try_from(count)?;
        let nodes = status.nodes.iter().filter(|node| node.name.starts_with("my-controller-")).count();
        ensure!(voters(&status) == expected && nodes == expected, "{count}: {:?}", status.nodes);
        println!("      {count} controllers, after {leader} died");
    }
    context.figure("records", stream.end().await?);
    Ok(())
}

/// Name of the node that leads the quorum.
pub(crate) fn leader(status: &KafkaClusterStatus) -> Option<String> {
    let leads = |node: &&ballast_kafka_core::api::NodeStatus| node.controller.as_deref() == Some("Leader");
    status.nodes.iter().find(leads).map(|node| node.name.clone())
}
