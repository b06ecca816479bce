//! Changes of settings and images, good and bad.

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::{self, Seen};
use serde_json::{Value, json};

use super::{
    cluster::{Cluster, DEADLINE, is_ready},
    roll::Roll,
    upgrade::leader,
};
use crate::scenario::Context;

pub(crate) async fn settings(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let leader = leader(&cluster).await?;
    ledger.reset_gap().await?;
    let roll = Roll::watch(&cluster).await?;
    cluster.edit(json!({"etcd": {"snapshotCount": 5000, "logLevel": "warn", "extraConfig": {"max-txn-ops": "256"}}})).await?;
    cluster.ready().await?;
    roll.end_orderly(3, &leader).await?;
    // A key that is removed in the specification is removed downstream.
    cluster.edit(json!({"etcd": {"extraConfig": null}})).await?;
    cluster.ready().await?;
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        DEADLINE,
        "only the current configuration to be left",
        || async {
            let list = maps
                .list(&cluster.ours().labels("ballast.dev/purpose=config,app.kubernetes.io/instance=my"))
                .await?
                .items;
            let texts: Vec<String> =
                list.iter().flat_map(|map| map.data.clone().unwrap_or_default().into_values()).collect();
            Ok(if texts.len() == 1 && !texts[0].contains("max-txn-ops") && texts[0].contains("5000") {
                Seen::Met(())
            } else {
                Seen::NotYet(format!("{} configurations: {texts:?}", texts.len()))
            })
        },
    )
    .await?;
    cluster.settle(context, ledger, 3).await
}

pub(crate) async fn bad_image(context: &Context<'_>) -> Result<()> {
    let revert = json!({"image": null});
    stops_at_first(context, json!({"image": "registry.invalid/no-such/etcd"}), revert).await
}

pub(crate) async fn bad_setting(context: &Context<'_>) -> Result<()> {
    // It is a key that etcd knows, with a value that it refuses when it starts.
    let change = json!({"etcd": {"extraConfig": {"auth-token": "jwt,pub-key=/no/such/file"}}});
    stops_at_first(context, change, json!({"etcd": {"extraConfig": null}})).await
}

async fn stops_at_first(context: &Context<'_>, change: Value, revert: Value) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let before = cluster.pod_uids().await?;
    cluster.edit(change).await?;
    cluster.blocked("UpdatedMemberNotServing").await?;
    let changed: Vec<String> = changed(&cluster, &before).await?;
    ensure!(changed.len() == 1, "the bad change reached {changed:?}");

    // Another member's pod is killed meanwhile: it comes back as it was, on the old template and settings.
    let victim = before.keys().find(|name| !changed.contains(name)).context("no other pod")?.clone();
    let old = cluster.pods().get(&victim).await?;
    cluster.kill(victim.strip_suffix("-0").unwrap_or(&victim)).await?;
    let back = wait::until_in(
        &cluster.client,
        &cluster.namespace,
        DEADLINE,
        &format!("{victim} to be back"),
        || async {
            let pod = cluster.pods().get_opt(&victim).await?;
            Ok(pod.filter(|pod| pod.metadata.uid != old.metadata.uid && is_ready(pod)))
        },
    )
    .await?;
    let image = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone())
    };
    let hash = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get("ballast.dev/template-hash").cloned())
    };
    ensure!(
        image(&back) == image(&old) && hash(&back) == hash(&old),
        "{victim} came back with another template"
    );
    cluster.blocked("UpdatedMemberNotServing").await?;
    ledger.progress(20).await?;

    cluster.edit(revert).await?;
    cluster.ready().await?;
    ensure!(cluster.ids().await? == ids, "ids changed");
    cluster.settle(context, ledger, 3).await
}

/// Pods that are not what they were, and are not the one that this scenario kills.
async fn changed(
    cluster: &Cluster,
    before: &std::collections::BTreeMap<String, String>,
) -> Result<Vec<String>> {
    let now = cluster.pod_uids().await?;
    Ok(before
        .iter()
        .filter(|(name, uid)| now.get(*name) != Some(*uid))
        .map(|(name, _)| name.clone())
        .collect())
}
