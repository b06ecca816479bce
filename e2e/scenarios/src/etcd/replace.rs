//! A member loses its data and is replaced, and never starts empty under its old id.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::Seen;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::{cluster::Cluster, volume};
use crate::scenario::Context;

/// Waits until `member` has another id than before, and serves.
async fn replaced(cluster: &Cluster, member: &str, before: &BTreeMap<String, String>) -> Result<()> {
    let old = before.get(member).context("no such member")?.clone();
    cluster
        .until(&format!("{member} to be replaced"), |_, status| {
            let found = status.members.iter().find(|have| have.name == member);
            match found {
                Some(have) if have.health == "Serving" && have.id.as_ref().is_some_and(|id| *id != old) => {
                    Seen::Met(())
                }
                have => Seen::NotYet(format!("{have:?}, plan {:?}", status.plan)),
            }
        })
        .await?;
    cluster.ready().await?;
    let after = cluster.ids().await?;
    for (name, id) in before.iter().filter(|(name, _)| *name != member) {
        ensure!(after.get(name) == Some(id), "{name} was replaced too");
    }
    Ok(())
}

pub(crate) async fn claim_deleted(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let claim = cluster.claim_names().await?.remove("my-1").context("my-1 has no claim")?;
    cluster.claims().delete(&claim, &DeleteParams::default()).await?;
    cluster.kill("my-1").await?;
    replaced(&cluster, "my-1", &ids).await?;
    ensure!(cluster.claim_names().await?.get("my-1") != Some(&claim), "the claim has the old name");
    cluster.settle(context, ledger, 3).await
}

/// A finalizer of somebody else keeps the claim for ever; meanwhile another member's pod is killed.
pub(crate) async fn pinned_claim(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let claim = cluster.claim_names().await?.remove("my-1").context("my-1 has no claim")?;
    let finalizers = |list: serde_json::Value| Patch::Merge(json!({"metadata": {"finalizers": list}}));
    let have = cluster.claims().get(&claim).await?.metadata.finalizers.unwrap_or_default();
    let with: Vec<String> = have.into_iter().chain(["e2e.ballast.dev/pin".to_owned()]).collect();
    cluster.claims().patch(&claim, &PatchParams::default(), &finalizers(json!(with))).await?;
    cluster.claims().delete(&claim, &DeleteParams::default()).await?;
    cluster.kill("my-1").await?;
    cluster.kill("my-2").await?;
    let outcome = replaced(&cluster, "my-1", &ids).await;
    if outcome.is_err() {
        // Or the namespace could never go.
        cluster.claims().patch(&claim, &PatchParams::default(), &finalizers(json!([]))).await?;
    }
    outcome?;
    ensure!(
        cluster.claims().get(&claim).await?.metadata.deletion_timestamp.is_some(),
        "the pinned claim is not being deleted"
    );
    cluster.claims().patch(&claim, &PatchParams::default(), &finalizers(json!([]))).await?;
    cluster.settle(context, ledger, 3).await
}

/// The data goes under a running pod: first its container is restarted, in a second round its pod.
pub(crate) async fn wiped(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    for (member, restart_pod) in [("my-1", false), ("my-2", true)] {
        let ids = cluster.ids().await?;
        let claim = cluster.claim_names().await?.remove(member).context("no claim")?;
        volume::wipe(&cluster, &claim).await?;
        if restart_pod {
            cluster.kill(member).await?;
        } else {
            volume::kill_process(&cluster, member).await?;
        }
        replaced(&cluster, member, &ids).await?;
    }
    cluster.settle(context, ledger, 3).await
}
