//! Names are not identities.

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};
use serde_json::json;

use super::cluster::{Cluster, DEADLINE, spec};
use crate::{run::create_namespace, scenario::Context};

pub(crate) async fn namesakes(context: &Context<'_>) -> Result<()> {
    let second = format!("{}-second", context.namespace);
    create_namespace(context.environment, &second).await?;
    let one = Cluster::create(context, "my", spec(1, "3.6.16", &json!({}))).await?;
    let two = Cluster::create_in(context, &second, "my", spec(1, "3.6.16", &json!({})), json!({})).await?;
    let (first, other) = (one.ready().await?, two.ready().await?);
    ensure!(first.cluster_id != other.cluster_id, "two clusters share the id {:?}", first.cluster_id);
    let ledgers = (one.ledger().await?, two.ledger().await?);
    one.edit(json!({"replicas": 3})).await?;
    one.ready().await?;
    ensure!(two.ready().await?.members.len() == 1, "the other cluster changed too");
    two.settle(context, ledgers.1, 1).await?;
    two.delete().await?;
    one.settle(context, ledgers.0, 3).await
}

pub(crate) async fn adopt(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let old = cluster.api().get("my").await?.metadata.uid.unwrap_or_default();
    let ids = cluster.ids().await?;
    cluster.delete().await?;
    ensure!(cluster.claim_names().await?.len() == 3, "volumes did not stay");

    let again = Cluster::create(context, "my", spec(3, "3.6.16", &json!({}))).await?;
    let message = again.blocked("RetainedVolumes").await?;
    ensure!(message.contains("ballast.dev/adopt-volumes") && message.contains(&old), "{message}");
    ensure!(again.pods().list(&again.ours()).await?.items.is_empty(), "something was started");
    again.patch(json!({"metadata": {"annotations": {"ballast.dev/adopt-volumes": old}}})).await?;
    again.ready().await?;
    ensure!(again.ids().await? == ids, "ids changed from {ids:?} to {:?}", again.ids().await?);
    // The ledger began before the deletion: what was acknowledged then must be there now.
    again.settle(context, ledger, 3).await
}

pub(crate) async fn delete_volumes(context: &Context<'_>) -> Result<()> {
    let cluster =
        Cluster::create(context, "my", spec(1, "3.6.16", &json!({"storage": {"whenDeleted": "Delete"}})))
            .await?;
    cluster.ready().await?;
    // The choice can be changed while the cluster lives, in both directions.
    cluster.edit(json!({"storage": {"whenDeleted": "Retain"}})).await?;
    owned(&cluster, false).await?;
    cluster.edit(json!({"storage": {"whenDeleted": "Delete"}})).await?;
    owned(&cluster, true).await?;
    cluster.delete().await?;
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "the claims to be gone", || async {
        let claims = cluster.claims().list(&cluster.ours()).await?.items.len();
        Ok(if claims == 0 { Seen::Met(()) } else { Seen::NotYet(format!("{claims} claims")) })
    })
    .await
}

async fn owned(cluster: &Cluster, expected: bool) -> Result<()> {
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        DEADLINE,
        &format!("claims owned: {expected}"),
        || async {
            let claims = cluster.claims().list(&cluster.ours()).await?.items;
            let owned = claims
                .iter()
                .filter(|claim| !claim.metadata.owner_references.clone().unwrap_or_default().is_empty())
                .count();
            Ok((owned == if expected { claims.len() } else { 0 }).then_some(()))
        },
    )
    .await
}
