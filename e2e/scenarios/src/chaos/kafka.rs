//! The same faults for Kafka: nodes that are controllers and brokers, three copies of everything, two of which must be in sync.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::{
    Settings, endure, schedule,
    schedule::{Fault, Planned},
    target::Target,
};
use crate::{
    kafka::{
        cluster::{Cluster, pool},
        stream::Stream,
    },
    operator::Operator,
    scenario,
    scenario::{Context, Scenario},
};

/// Records may stand still for this long: a node that is killed without a word is noticed after nine seconds, reads its log
/// and joins again; the next one may be killed while it does.
const STILL: Duration = Duration::from_secs(90);
/// Between two kills: a node is usually back by then.
const EVERY: Duration = Duration::from_secs(30);

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenarios = [
        scenario!("kafka-chaos-kill", "a random node of Kafka killed every 30 s", kill, needs_lab, long),
        scenario!("kafka-chaos-links", "links cut for a minute each", links, needs_lab, long),
    ];
    scenarios.into_iter().map(of_kafka).collect()
}

/// The mix, for `make chaos OPERATOR=kafka`.
pub(super) fn mix() -> Scenario {
    of_kafka(scenario!(
        "kafka-chaos-mixed",
        "everything at random, and the operator killed as well",
        mixed,
        needs_lab,
        long
    ))
}

fn of_kafka(mut scenario: Scenario) -> Scenario {
    scenario.operator = Operator::Kafka;
    scenario
}

async fn cluster(context: &Context<'_>) -> Result<Cluster> {
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &json!({})).await?;
    cluster.ready().await?;
    cluster.tools().create_topic("node-0", "ledger", "0:1:2,1:2:0,2:0:1").await?;
    Ok(cluster)
}

/// Endures what is planned; then everything that was acknowledged is there, and no node was replaced.
async fn lives_through(context: &Context<'_>, planned: &[Planned], still: Duration) -> Result<()> {
    let cluster = cluster(context).await?;
    let claims = cluster.claims().await?.len();
    let stream = Stream::begin(&cluster, "ledger").await?;
    endure(context, Target::Kafka { cluster: &cluster, stream: &stream }, planned, still).await?;
    context.figure("records", stream.survived().await?);
    let now = cluster.claims().await?.len();
    ensure!(now == claims, "{now} volumes, {claims} before: nodes were replaced that only had to come back");
    Ok(())
}

async fn kill(context: &Context<'_>) -> Result<()> {
    let Settings { minutes, seed } = context.chaos;
    lives_through(context, &schedule::kills(seed, minutes, EVERY), STILL).await
}

async fn links(context: &Context<'_>) -> Result<()> {
    let minute = Duration::from_mins(1);
    let faults =
        [Fault::IsolateLeader, Fault::OperatorFromMembers, Fault::OperatorFromApi, Fault::NodeFromApi(0)];
    let planned: Vec<_> = faults
        .into_iter()
        .zip(0u32..)
        .map(|(fault, index)| Planned {
            at: (minute + Duration::from_secs(30)) * index,
            lasts: minute,
            fault,
        })
        .collect();
    lives_through(context, &planned, STILL).await
}

async fn mixed(context: &Context<'_>) -> Result<()> {
    let Settings { minutes, seed } = context.chaos;
    // A full disk ends a broker for good until there is room; that is a scenario of its own, not one among others.
    let planned: Vec<_> = schedule::mixed(seed, minutes)
        .into_iter()
        .filter(|planned| !matches!(planned.fault, Fault::FillDisk(_)))
        .collect();
    let longest = planned.iter().map(|planned| planned.lasts).max().unwrap_or_default();
    lives_through(context, &planned, STILL + longest).await
}
