//! Nodes stop and come back.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use super::{
    cluster::{Cluster, pool},
    stream::Stream,
};
use crate::{install, operator::Operator, scenario::Context};

/// A change of settings under load: every node is restarted once, and no acknowledged record is lost.
pub(super) async fn rolling(context: &Context<'_>) -> Result<()> {
    let combined = [pool("node", &["Controller", "Broker"], 3, 0)];
    let cluster = Cluster::create(context, &combined, &json!({})).await?;
    let status = cluster.ready().await?;
    let leader = status.nodes.iter().find(|node| node.controller.as_deref() == Some("Leader"));
    let last = format!("{}-0", leader.context("nobody leads the quorum")?.name);
    cluster.tools().create_topic("node-0", "ledger", "0:1:2,1:2:0").await?;
    let before = cluster.pod_uids().await?;
    let stream = Stream::begin(&cluster, "ledger").await?;
    cluster.edit(json!({"config": {"num.io.threads": "4"}})).await?;
    let order = Mutex::new(vec![]);
    let all = || async {
        let now = cluster.pod_uids().await?;
        let changed = |(name, uid): &(&String, &String)| now.get(*name).is_some_and(|new| new != *uid);
        let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, _) in before.iter().filter(changed) {
            if !order.contains(name) {
                order.push(name.clone());
            }
        }
        Ok((order.len() == 3).then_some(()))
    };
    wait::until(Duration::from_mins(4), "three nodes to be restarted", all).await?;
    cluster.ready().await?;
    let after = cluster.pod_uids().await?;
    ensure!(after.len() == 4, "{after:?}");
    let order = order.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(order.last() == Some(&last), "{last} leads the quorum and is not the last: {order:?}");
    context.figure("records", stream.end().await?);
    Ok(())
}

/// All pods are deleted at once while there is no operator: the cluster comes back by itself, with its data.
pub(super) async fn all_pods(context: &Context<'_>) -> Result<()> {
    let combined = [pool("node", &["Controller", "Broker"], 3, 0)];
    let cluster = Cluster::create(context, &combined, &json!({})).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    tools.create_topic("node-0", "kept", "0:1:2").await?;
    tools.run("node-0", "ConsoleProducer", &["--topic", "kept"], "ballast\n").await?;
    let before = cluster.pod_uids().await?;
    install::scale(context.environment, Operator::Kafka, 0).await?;
    cluster
        .pods()
        .delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default())
        .await?;
    let read = ["--topic", "kept", "--from-beginning", "--max-messages", "1", "--timeout-ms", "60000"];
    let back = || async {
        let now = cluster.pod_uids().await?;
        let new = now.len() == 3 && now.iter().all(|(name, uid)| before.get(name) != Some(uid));
        if !new {
            return Ok(None);
        }
        let text = cluster.tools().run("node-1", "consumer.ConsoleConsumer", &read, "").await?;
        Ok(text.contains("ballast").then_some(()))
    };
    let came_back =
        wait::until(Duration::from_mins(4), "the record to be read without an operator", back).await;
    install::scale(context.environment, Operator::Kafka, 1).await?;
    came_back?;
    cluster.ready().await.map(drop)
}
