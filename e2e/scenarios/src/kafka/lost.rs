//! Volumes that are lost.

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use super::{
    cluster::{Cluster, DEADLINE, pool},
    drain::{fill, voters},
    stream::Stream,
};
use crate::scenario::Context;

/// The first controller loses its volume under load, and starts empty; then another node does, which has the only copy of a topic:
/// that waits for a person.
pub(super) async fn volumes(context: &Context<'_>) -> Result<()> {
    let cluster =
        Cluster::create(context, &[pool("node", &["Controller", "Broker"], 3, 0)], &json!({})).await?;
    cluster.ready().await?;
    let tools = cluster.tools();
    tools.create_topic("node-0", "three", "0:1:2,1:2:0").await?;
    tools.create_topic("node-0", "ledger", "0:1:2").await?;
    tools.create_topic("node-0", "single", "2").await?;
    fill(tools, "three", 10_000).await?;
    let stream = Stream::begin(&cluster, "ledger").await?;

    let lost = lose(&cluster, "my-node-0").await?;
    replaced(&cluster, "my-node-0", &lost).await?;
    let status = cluster.ready().await?;
    ensure!(voters(&status) == 3, "{:?}", status.nodes);
    let claims: Vec<String> = cluster.claims().await?.iter().map(ResourceExt::name_any).collect();
    ensure!(claims.len() == 3, "{claims:?}");

    let lost = lose(&cluster, "my-node-2").await?;
    let message = cluster.blocked("DataLost").await?;
    ensure!(message.contains("single-0") && !message.contains("three"), "{message}");
    cluster.annotate("ballast.dev/replace", "2").await?;
    replaced(&cluster, "my-node-2", &lost).await?;
    let status = cluster.ready().await?;
    ensure!(voters(&status) == 3, "{:?}", status.nodes);
    context.figure("records", stream.end().await?);
    Ok(())
}

/// The claim of a node.
async fn claim(cluster: &Cluster, node: &str) -> Result<Option<PersistentVolumeClaim>> {
    let begin = format!("data-{node}-");
    Ok(cluster.claims().await?.into_iter().find(|claim| claim.name_any().starts_with(&begin)))
}

/// Somebody deletes the claim of a node, and its pod with it; returns the uid of the claim.
async fn lose(cluster: &Cluster, node: &str) -> Result<String> {
    let api: Api<PersistentVolumeClaim> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let claim = claim(cluster, node).await?.context("the node has a claim")?;
    api.delete(&claim.name_any(), &DeleteParams::default()).await?;
    cluster.kill(node).await?;
    claim.uid().context("a claim has a uid")
}

/// Waits until a node has another claim.
async fn replaced(cluster: &Cluster, node: &str, lost: &str) -> Result<()> {
    let what = format!("{node} to have another volume");
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, &what, || async {
        let uid = claim(cluster, node).await?.and_then(|claim| claim.uid());
        Ok(match uid {
            Some(uid) if uid != lost => Seen::Met(()),
            other => Seen::NotYet(format!("{other:?}")),
        })
    })
    .await
}

impl Cluster {
    /// Sets an annotation of the resource.
    async fn annotate(&self, key: &str, value: &str) -> Result<()> {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
        self.api().patch("my", &PatchParams::default(), &patch).await?;
        Ok(())
    }
}
