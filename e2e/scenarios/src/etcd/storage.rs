//! Volumes.

use anyhow::Result;
use ballast_lab::wait::{self, Seen};
use serde_json::json;

use super::cluster::{Cluster, DEADLINE, spec};
use crate::scenario::Context;

pub(crate) async fn grow(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, "my", spec(3, "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    let ledger = cluster.ledger().await?;
    let before = cluster.pod_uids().await?;
    cluster.edit(json!({"storage": {"size": "384Mi"}})).await?;
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "all volumes to have grown", || async {
        let claims = cluster.claims().list(&cluster.ours()).await?.items;
        let sizes: Vec<String> = claims
            .iter()
            .filter_map(|claim| Some(claim.status.as_ref()?.capacity.as_ref()?.get("storage")?.0.clone()))
            .collect();
        let grown = sizes.iter().filter(|size| *size == "384Mi").count();
        Ok(if grown == 3 { Seen::Met(()) } else { Seen::NotYet(format!("{sizes:?}")) })
    })
    .await?;
    cluster.ready().await?;
    cluster.nothing_rolled(&before).await?;
    cluster.settle(context, ledger, 3).await
}
