//! A cluster is made.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, api::ListParams};
use serde_json::json;

use super::cluster::{Cluster, spec};
use crate::{quiet, scenario::Context};

/// Zones of the nodes of this cluster, up to three.
pub(crate) async fn zones(context: &Context<'_>) -> Result<Vec<String>> {
    let nodes: Api<Node> = Api::all(context.environment.client.clone());
    let zones: BTreeSet<String> = nodes
        .list(&ListParams::default())
        .await?
        .items
        .into_iter()
        .filter_map(|node| node.metadata.labels?.get("topology.kubernetes.io/zone").cloned())
        .collect();
    Ok(zones.into_iter().take(3).collect())
}

pub(crate) async fn three_zones(context: &Context<'_>) -> Result<()> {
    let zones = zones(context).await?;
    ensure!(zones.len() == 3, "this needs nodes in three zones, there are {zones:?}");
    let begun = Instant::now();
    let cluster = Cluster::create(context, "my", spec(3, "3.6.16", &json!({"zones": zones}))).await?;
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        Duration::from_mins(1),
        "the first StatefulSet",
        || async {
            Ok((!cluster.stateful_sets().list(&cluster.ours()).await?.items.is_empty()).then_some(()))
        },
    )
    .await?;
    context.figure("apply to first StatefulSet (ms)", u64::try_from(begun.elapsed().as_millis())?);
    cluster
        .until("the first member to serve", |_, status| {
            let serving = status.members.iter().any(|member| member.health == "Serving");
            if serving && status.endpoints.is_some() {
                wait::Seen::Met(())
            } else {
                wait::Seen::NotYet(format!("{:?}", status.members))
            }
        })
        .await?;
    let ledger = cluster.ledger().await?;
    let status = cluster.ready().await?;
    context
        .figure("apply to three healthy members (s)", (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0);
    let roles: Vec<&str> = status.members.iter().map(|member| member.role.as_str()).collect();
    ensure!(roles.iter().all(|role| matches!(*role, "Leader" | "Follower")), "not three voters: {roles:?}");
    let mut nodes = BTreeSet::new();
    let api: Api<Node> = Api::all(context.environment.client.clone());
    for pod in cluster.pods().list(&cluster.ours()).await?.items {
        let name = pod.spec.and_then(|spec| spec.node_name).context("a pod without a node")?;
        let labels = api.get(&name).await?.metadata.labels.unwrap_or_default();
        nodes.insert(labels.get("topology.kubernetes.io/zone").cloned());
    }
    ensure!(nodes.len() == 3, "members are in {} zones", nodes.len());
    cluster.settle(context, ledger, 3).await
}

/// Nothing to do: nothing is written.
pub(crate) async fn quiet(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, "my", spec(3, "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    quiet::holds(context).await
}
