//! Replicas move since people ask for it, since a broker is new, or since a pool is replaced by others.

use anyhow::{Context as _, Result, ensure};
use ballast_kafka_core::api::{
    Purpose,
    kafka_rebalance::{KafkaRebalance, KafkaRebalanceStatus},
};
use ballast_lab::wait::{self, Seen};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    cluster::{Cluster, DEADLINE, pool},
    drain::{fill, unthrottled, voters},
    stream::Stream,
    tools::Tools,
};
use crate::scenario::Context;

/// A new broker gets its share; a broker in the middle is emptied, filled again, and at last replaced by another one.
pub(super) async fn in_the_middle(context: &Context<'_>) -> Result<()> {
    let settings = json!({"rebalance": {"throttle": "10Mi"}});
    let combined = |replicas: i32| pool("node", &["Controller", "Broker"], replicas, 0);
    let more = |replicas| pool("more", &["Broker"], replicas, 100);
    let cluster = Cluster::create(context, &[combined(3)], &settings).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    tools.create_topic("node-0", "three", "0:1:2,1:2:0,2:0:1,0:2:1").await?;
    tools.create_topic("node-0", "ledger", "1:0:2").await?;
    fill(tools, "three", 40_000).await?;
    let stream = Stream::begin(&cluster, "ledger").await?;

    cluster.edit(json!({"nodePools": [combined(3), more(1)]})).await?;
    cluster.ready().await?;
    let spread = replicas_on(tools, 100).await?;
    ensure!((2..=4).contains(&spread), "the new broker has {spread} of 15 replicas");
    context.figure("spread", spread);

    let dry =
        ask(&cluster, "look", json!({"mode": "Drain", "nodeIds": [1], "dryRun": true}), "Planned").await?;
    let plan = dry.plan.context("a dry run has a plan")?;
    ensure!(plan.bytes > 0 && plan.bytes == plan.lower_bound_bytes, "{plan:?}");
    context.figure("bytes", plan.bytes);
    ask(&cluster, "maintenance", json!({"mode": "Drain", "nodeIds": [1]}), "Completed").await?;
    ensure!(replicas_on(tools, 1).await? == 0, "broker 1 has replicas");
    ensure!(cluster.pod_uids().await?.contains_key("my-node-1-0"), "broker 1 does not run");
    rebalances(&cluster).delete("maintenance", &DeleteParams::default()).await?;
    cluster
        .until("broker 1 to get its share again", |_, status| match &status.rebalance {
            Some(rebalance) if rebalance.purpose == Purpose::Spread => Seen::Met(()),
            other => Seen::NotYet(serde_json::to_string(other).unwrap_or_default()),
        })
        .await?;
    cluster.ready().await?;
    ensure!(replicas_on(tools, 1).await? > 0, "broker 1 got nothing back");

    // Node 3 takes the place of node 1, which votes.
    let mut replaced = combined(3);
    replaced["nodeIds"] = json!({"start": 0, "without": [1]});
    cluster.edit(json!({"nodePools": [replaced, more(1)]})).await?;
    let status = cluster.ready().await?;
    let ids: Vec<i32> = status.nodes.iter().map(|node| node.id).collect();
    ensure!(ids == [0, 2, 3, 100] && voters(&status) == 3, "{:?}", status.nodes);
    ensure!(replicas_on(tools, 1).await? == 0, "broker 1 has replicas");
    context.figure("records", stream.end().await?);
    unthrottled(tools).await
}

/// Combined nodes become dedicated controllers and brokers: two new pools come, the old one goes, all at once.
pub(super) async fn pools(context: &Context<'_>) -> Result<()> {
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &json!({})).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    tools.create_topic("node-0", "three", "0:1:2,1:2:0").await?;
    tools.create_topic("node-0", "ledger", "1:0:2").await?;
    fill(tools, "three", 10_000).await?;
    let stream = Stream::begin(&cluster, "ledger").await?;
    let dedicated = [pool("controller", &["Controller"], 3, 100), pool("broker", &["Broker"], 3, 200)];
    cluster.edit(json!({"nodePools": dedicated})).await?;
    let status = cluster.ready().await?;
    let ids: Vec<i32> = status.nodes.iter().map(|node| node.id).collect();
    ensure!(ids == [100, 101, 102, 200, 201, 202] && voters(&status) == 3, "{:?}", status.nodes);
    let sets = cluster.stateful_sets().await?;
    ensure!(sets.len() == 6 && !sets.iter().any(|set| set.starts_with("my-node-")), "{sets:?}");
    context.figure("records", stream.end().await?);
    Ok(())
}

fn rebalances(cluster: &Cluster) -> Api<KafkaRebalance> {
    Api::namespaced(cluster.client.clone(), &cluster.namespace)
}

/// Asks for a rebalance, and waits until it has come to this state.
async fn ask(cluster: &Cluster, name: &str, mut spec: Value, state: &str) -> Result<KafkaRebalanceStatus> {
    spec["cluster"] = json!("my");
    let resource = serde_json::from_value(json!({
        "apiVersion": "kafka.ballast.dev/v1alpha1",
        "kind": "KafkaRebalance",
        "metadata": {"name": name},
        "spec": spec,
    }))?;
    let api = rebalances(cluster);
    api.create(&PostParams::default(), &resource).await?;
    let what = format!("the KafkaRebalance {name} to be {state}");
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, &what, || async {
        let status = api.get(name).await?.status.unwrap_or_default();
        let told = serde_json::to_string(&status)?;
        Ok(if status.state == state { Seen::Met(status) } else { Seen::NotYet(told) })
    })
    .await
}

/// How many replicas a broker has, as Kafka's own tool tells.
async fn replicas_on(tools: Tools<'_>, broker: i32) -> Result<usize> {
    let id = broker.to_string();
    let topics = tools.run("node-0", "TopicCommand", &["--describe"], "").await?;
    let lists = topics.lines().filter_map(|line| line.split("Replicas: ").nth(1)?.split('\t').next());
    Ok(lists.filter(|list| list.split(',').any(|replica| replica.trim() == id)).count())
}
