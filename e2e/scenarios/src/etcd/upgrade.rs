//! Versions.

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::Seen;
use serde_json::json;

use super::{
    cluster::{Cluster, spec},
    roll::Roll,
};
use crate::scenario::Context;

/// The member that leads now.
pub(crate) async fn leader(cluster: &Cluster) -> Result<String> {
    let members = cluster.status().await?.members;
    let leader = members.iter().find(|member| member.role == "Leader").context("no member leads")?;
    Ok(leader.name.clone())
}

pub(crate) async fn rolling(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, "my", spec(3, "3.5.33", &json!({}))).await?;
    let status = cluster.ready().await?;
    ensure!(status.version.as_deref() == Some("3.5.33"), "it runs {:?}", status.version);
    let ledger = cluster.ledger().await?;
    ledger.progress(100).await?;
    let ids = cluster.ids().await?;
    let leader = leader(&cluster).await?;
    ledger.reset_gap().await?;
    let roll = Roll::watch(&cluster).await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    let status = cluster.ready().await?;
    roll.end_orderly(3, &leader).await?;
    ensure!(
        status.members.iter().all(|member| member.version.as_deref() == Some("3.6.16")),
        "{:?}",
        status.members
    );
    ensure!(cluster.ids().await? == ids, "ids changed");
    cluster.settle(context, ledger, 3).await
}

/// Half way up, back down; then up for good, and down is refused, as is a jump.
pub(crate) async fn reverted(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.5.33", &json!({})).await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    cluster
        .until("one member to run 3.6.16", |_, status| {
            let new =
                status.members.iter().filter(|member| member.version.as_deref() == Some("3.6.16")).count();
            if new >= 1 { Seen::Met(()) } else { Seen::NotYet(format!("{:?}", status.members)) }
        })
        .await?;
    cluster.edit(json!({"version": "3.5.33"})).await?;
    let status = cluster.ready().await?;
    ensure!(
        status.members.iter().all(|member| member.version.as_deref() == Some("3.5.33")),
        "{:?}",
        status.members
    );
    ensure!(status.cluster_version.as_deref() == Some("3.5"), "{:?}", status.cluster_version);

    // A minor version that is not known, and a jump over one.
    let before = cluster.pod_uids().await?;
    cluster.edit(json!({"version": "3.8.0"})).await?;
    let message = cluster.blocked("VersionNotSupported").await?;
    ensure!(message.contains("3.8.0"), "{message}");
    cluster.edit(json!({"version": "3.5.33"})).await?;
    cluster.ready().await?;
    cluster.nothing_rolled(&before).await?;

    cluster.edit(json!({"version": "3.6.16"})).await?;
    cluster.ready().await?;
    cluster
        .until("the cluster version to be 3.6", |_, status| {
            if status.cluster_version.as_deref() == Some("3.6") {
                Seen::Met(())
            } else {
                Seen::NotYet(format!("{:?}", status.cluster_version))
            }
        })
        .await?;
    let before = cluster.pod_uids().await?;
    cluster.edit(json!({"version": "3.5.33"})).await?;
    let message = cluster.blocked("VersionStepRefused").await?;
    ensure!(message.contains("cannot be downgraded"), "{message}");
    cluster.nothing_rolled(&before).await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    cluster.settle(context, ledger, 3).await
}
