//! More members, fewer members.

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};
use serde_json::json;

use super::cluster::{Cluster, DEADLINE, spec};
use crate::scenario::Context;

async fn through(context: &Context<'_>, sizes: &[i32]) -> Result<()> {
    let cluster = Cluster::create(context, "my", spec(sizes[0], "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    let ledger = cluster.ledger().await?;
    for size in &sizes[1..] {
        cluster.edit(json!({"replicas": size})).await?;
        let status = cluster.ready().await?;
        ensure!(status.members.len() == usize::try_from(*size)?, "{size} wanted: {:?}", status.members);
        // Claims go only after the removal, but they do go.
        wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, &format!("{size} claims"), || async {
            let claims = cluster.claims().list(&cluster.ours()).await?.items.len();
            Ok(if claims == usize::try_from(*size)? {
                Seen::Met(())
            } else {
                Seen::NotYet(format!("{claims} claims"))
            })
        })
        .await?;
    }
    let last = sizes.last().copied().unwrap_or_default();
    cluster.settle(context, ledger, usize::try_from(last)?).await
}

pub(crate) async fn small(context: &Context<'_>) -> Result<()> {
    through(context, &[1, 3, 1]).await
}

pub(crate) async fn large(context: &Context<'_>) -> Result<()> {
    through(context, &[1, 7, 3, 5, 1, 3]).await
}
