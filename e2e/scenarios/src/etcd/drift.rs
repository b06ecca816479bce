//! Owned objects that people edit or delete.

use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        core::v1::{ConfigMap, Service},
        networking::v1::NetworkPolicy,
        policy::v1::PodDisruptionBudget,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::cluster::{Cluster, DEADLINE, spec};
use crate::scenario::Context;

pub(crate) async fn restored(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, "my", spec(3, "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    let ledger = cluster.ledger().await?;
    let before = cluster.pod_uids().await?;

    edited::<Service>(
        &cluster,
        "my-client",
        json!({"spec": {"selector": {"app.kubernetes.io/instance": "other"}}}),
        "/spec/selector",
    )
    .await?;
    // A key more selects less: that is ours too, although nothing that we sent has changed.
    edited::<Service>(&cluster, "my-client", json!({"spec": {"selector": {"extra": "x"}}}), "/spec/selector")
        .await?;
    edited::<Service>(
        &cluster,
        "my-nodes",
        json!({"spec": {"publishNotReadyAddresses": false}}),
        "/spec/publishNotReadyAddresses",
    )
    .await?;
    edited::<PodDisruptionBudget>(&cluster, "my", json!({"spec": {"minAvailable": 0}}), "/spec/minAvailable")
        .await?;
    // A rule more lets everyone in: the list is one value.
    edited::<NetworkPolicy>(&cluster, "my", json!({"spec": {"ingress": [{}]}}), "/spec/ingress").await?;
    edited::<k8s_openapi::api::apps::v1::StatefulSet>(
        &cluster,
        "my-1",
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}}),
        "/spec/updateStrategy/type",
    )
    .await?;

    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let config = maps.list(&cluster.ours().labels("ballast.dev/purpose=config")).await?.items;
    let config = config.first().and_then(|map| map.metadata.name.clone()).context("no configuration")?;
    deleted::<ConfigMap>(&cluster, &config).await?;
    deleted::<Service>(&cluster, "my-client").await?;
    deleted::<PodDisruptionBudget>(&cluster, "my").await?;
    deleted::<NetworkPolicy>(&cluster, "my").await?;

    let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    cluster.edit(json!({"disruptionBudget": {"enabled": false}})).await?;
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "the unwanted budget to go", || async {
        Ok(budgets.get_opt("my").await?.is_none().then_some(()))
    })
    .await?;
    cluster.edit(json!({"disruptionBudget": {"enabled": true}})).await?;
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "the budget to be back", || async {
        Ok(budgets.get_opt("my").await?.map(|_| ()))
    })
    .await?;

    let policies: Api<NetworkPolicy> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    cluster.edit(json!({"networkPolicy": {"enabled": false}})).await?;
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "the unwanted policy to go", || async {
        Ok(policies.get_opt("my").await?.is_none().then_some(()))
    })
    .await?;
    // Clients are restricted, and the operator still reaches the members.
    let clients = json!([{"podSelector": {"matchLabels": {"role": "client"}}}]);
    cluster.edit(json!({"networkPolicy": {"enabled": true, "clientsFrom": clients}})).await?;
    wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "the policy to be back", || async {
        Ok(policies.get_opt("my").await?.map(|_| ()))
    })
    .await?;

    // What is not ours stays and rolls nothing.
    let foreign = json!({"metadata": {"labels": {"team": "storage"}, "annotations": {"note": "hello"}}});
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    services.patch("my-client", &PatchParams::default(), &Patch::Merge(&foreign)).await?;
    cluster.stateful_sets().patch("my-0", &PatchParams::default(), &Patch::Merge(&foreign)).await?;
    cluster.ready().await?;
    let labels = services.get("my-client").await?.metadata.labels.unwrap_or_default();
    ensure!(labels.get("team").map(String::as_str) == Some("storage"), "a foreign label was taken away");
    cluster.nothing_rolled(&before).await?;
    cluster.settle(context, ledger, 3).await
}

/// Edits an object and waits until the field at `pointer` is as it was.
async fn edited<K>(cluster: &Cluster, name: &str, edit: Value, pointer: &str) -> Result<()>
where
    K: k8s_openapi::Resource<Scope = NamespaceResourceScope>
        + k8s_openapi::Metadata<Ty = ObjectMeta>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let field = async || -> Result<Option<Value>> {
        Ok(serde_json::to_value(api.get(name).await?)?.pointer(pointer).cloned())
    };
    let before = field().await?;
    let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(edit)).await?;
    ensure!(
        serde_json::to_value(patched)?.pointer(pointer) != before.as_ref(),
        "the edit of {name} changed nothing"
    );
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        DEADLINE,
        &format!("{pointer} of {} {name} to be restored", K::KIND),
        || async {
            let now = field().await?;
            Ok(if now == before { Seen::Met(()) } else { Seen::NotYet(format!("{now:?}")) })
        },
    )
    .await
}

/// Deletes an object and waits until another one has taken its place.
async fn deleted<K>(cluster: &Cluster, name: &str) -> Result<()>
where
    K: k8s_openapi::Resource<Scope = NamespaceResourceScope>
        + k8s_openapi::Metadata<Ty = ObjectMeta>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let uid = api.get(name).await?.metadata().uid.clone();
    api.delete(name, &DeleteParams::default()).await?;
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        DEADLINE,
        &format!("{} {name} to be made again", K::KIND),
        || async { Ok(api.get_opt(name).await?.filter(|object| object.metadata().uid != uid).map(|_| ())) },
    )
    .await
}
