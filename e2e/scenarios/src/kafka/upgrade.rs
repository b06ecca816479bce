//! From one version to another.

use anyhow::{Result, ensure};
use ballast_lab::wait::Seen;
use serde_json::json;

use super::{
    cluster::{Cluster, pool},
    stream::Stream,
};
use crate::{
    install::{KAFKA_VERSION, OLD_KAFKA_VERSION},
    scenario::Context,
};

/// Levels of `metadata.version` of the two versions.
const OLD_LEVEL: i32 = 27;
const NEW_LEVEL: i32 = 33;

/// Under load, taken back half way once; the metadata format follows last, and then there is no way back.
pub(super) async fn with_a_way_back(context: &Context<'_>) -> Result<()> {
    let version = |version: &str| json!({"version": version});
    let combined = [pool("node", &["Controller", "Broker"], 3, 0)];
    let cluster = Cluster::create(context, &combined, &version(OLD_KAFKA_VERSION)).await?;
    let status = cluster.ready().await?;
    ensure!(status.metadata_version == Some(OLD_LEVEL), "{:?}", status.metadata_version);
    cluster.tools().create_topic("node-0", "ledger", "0:1:2,1:2:0").await?;
    let before = cluster.pod_uids().await?;
    let stream = Stream::begin(&cluster, "ledger").await?;
    cluster.edit(version(KAFKA_VERSION)).await?;
    cluster
        .until("a node to be upgraded", |_, status| match &status.plan {
            Some(plan) if plan.blocked.iter().any(|blocked| blocked.reason == "NodeNotServing") => {
                Seen::Met(())
            }
            other => Seen::NotYet(serde_json::to_string(other).unwrap_or_default()),
        })
        .await?;
    cluster.edit(version(OLD_KAFKA_VERSION)).await?;
    let status = cluster.ready().await?;
    ensure!(status.metadata_version == Some(OLD_LEVEL), "{:?}", status.metadata_version);
    let back = cluster.pod_uids().await?;
    ensure!(before.iter().any(|(name, uid)| back.get(name) == Some(uid)), "some were never touched");

    cluster.edit(version(KAFKA_VERSION)).await?;
    let status = cluster.ready().await?;
    ensure!(status.version.as_deref() == Some(KAFKA_VERSION), "{:?}", status.version);
    ensure!(status.metadata_version == Some(NEW_LEVEL), "{:?}", status.metadata_version);
    let upgraded = cluster.pod_uids().await?;
    cluster.edit(version(OLD_KAFKA_VERSION)).await?;
    cluster.blocked("DowngradeNotPossible").await?;
    ensure!(cluster.pod_uids().await? == upgraded, "nothing is restarted");
    cluster.edit(version(KAFKA_VERSION)).await?;
    cluster.ready().await?;
    context.figure("records", stream.end().await?);
    Ok(())
}
