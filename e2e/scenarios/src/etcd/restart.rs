//! All members stop; they come back by themselves.

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::cluster::{Cluster, DEADLINE, is_ready};
use crate::{install, scenario::Context};

pub(crate) async fn all_pods(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let before = cluster.pod_uids().await?;
    install::scale_operator(context.environment, 0).await?;
    let outcome = async {
        cluster.pods().delete_collection(&DeleteParams::default().grace_period(0), &cluster.ours()).await?;
        all_new_and_ready(&cluster, &before).await?;
        ledger.progress(20).await
    }
    .await;
    install::scale_operator(context.environment, 1).await?;
    outcome?;
    cluster.ready().await?;
    ensure!(cluster.ids().await? == ids, "ids changed from {ids:?} to {:?}", cluster.ids().await?);
    cluster.settle(context, ledger, 3).await
}

async fn all_new_and_ready(
    cluster: &Cluster,
    before: &std::collections::BTreeMap<String, String>,
) -> Result<()> {
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "all pods to be back", || async {
        let pods = cluster.pods().list(&cluster.ours()).await?.items;
        let new = pods.iter().filter(|pod| {
            pod.metadata.uid.as_ref() != pod.metadata.name.as_ref().and_then(|name| before.get(name))
        });
        let ready = new.filter(|pod| is_ready(pod)).count();
        Ok(if ready == before.len() {
            Seen::Met(())
        } else {
            Seen::NotYet(format!("{ready} of {} are new and Ready", before.len()))
        })
    })
    .await
}

/// What a graceful node shutdown leaves: pods in phase Succeeded (or Failed), which nobody restarts in place.
pub(crate) async fn succeeded(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let before = cluster.pod_uids().await?;
    for (pod, phase) in before.keys().zip(["Succeeded", "Failed", "Succeeded"]) {
        let patch = Patch::Merge(
            json!({"status": {"phase": phase, "reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown."}}),
        );
        cluster.pods().patch_status(pod, &PatchParams::default(), &patch).await?;
    }
    all_new_and_ready(&cluster, &before).await?;
    cluster.ready().await?;
    ensure!(cluster.ids().await? == ids, "ids changed");
    cluster.settle(context, ledger, 3).await
}
