//! What is created: clusters, and what has nothing to do with them.

use std::{collections::BTreeMap, future::Future};

use anyhow::{Context, Result};
use ballast_etcd_core::api::EtcdCluster;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Pod, Secret},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

/// Requests at the same time while clusters are created: all of a burst are under way at once.
const CLUSTERS_AT_ONCE: usize = 500;
/// The same for what is not ours.
const OTHERS_AT_ONCE: usize = 16;

/// Creates a cluster.
pub async fn create(client: &Client, namespace: &str, name: &str, members: u32) -> Result<()> {
    let cluster: EtcdCluster = serde_json::from_value(json!({
        "apiVersion": "etcd.ballast.dev/v1alpha1",
        "kind": "EtcdCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": members, "version": "3.6.16", "storage": {"size": "1Gi", "whenDeleted": "Delete"}},
    }))?;
    let clusters: Api<EtcdCluster> = Api::namespaced(client.clone(), namespace);
    clusters
        .create(&PostParams::default(), &cluster)
        .await
        .with_context(|| format!("cannot create {name}"))?;
    Ok(())
}

/// Creates clusters, all at once.
pub async fn create_all(client: &Client, namespace: &str, names: &[String], members: u32) -> Result<()> {
    all(names.iter().map(|name| create(client, namespace, name, members)), CLUSTERS_AT_ONCE).await
}

/// Deletes a cluster.
pub async fn delete(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let clusters: Api<EtcdCluster> = Api::namespaced(client.clone(), namespace);
    clusters.delete(name, &DeleteParams::background()).await?;
    Ok(())
}

/// Creates Secrets of this size that have nothing to do with any cluster.
pub async fn create_secrets(client: &Client, namespace: &str, count: u32, kib: u32) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let content: Vec<u8> = (0..=u8::MAX).cycle().take(usize::try_from(kib)? * 1024).collect();
    let (secrets, content) = (&secrets, &content);
    let one = |number: u32| async move {
        let mut secret = Secret {
            data: Some(BTreeMap::from([("blob".to_owned(), ByteString(content.clone()))])),
            ..Secret::default()
        };
        secret.metadata.name = Some(format!("unrelated-{number}"));
        secrets.create(&PostParams::default(), &secret).await.with_context(|| secret.name_any())?;
        Ok(())
    };
    all((0..count).map(one), OTHERS_AT_ONCE).await
}

/// Creates pods that have nothing to do with any cluster, and that no node takes.
pub async fn create_pods(client: &Client, namespace: &str, count: u32) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pods = &pods;
    let one = |number: u32| async move {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": format!("unrelated-{number}"), "labels": {"app": "unrelated"}},
            "spec": {
                "schedulerName": "nobody",
                "automountServiceAccountToken": false,
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{"name": "main", "image": "unrelated", "securityContext": {
                    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
            },
        }))?;
        pods.create(&PostParams::default(), &pod).await.with_context(|| pod.name_any())?;
        Ok(())
    };
    all((0..count).map(one), OTHERS_AT_ONCE).await
}

async fn all<F: Future<Output = Result<()>>>(
    requests: impl Iterator<Item = F>,
    at_once: usize,
) -> Result<()> {
    stream::iter(requests).buffer_unordered(at_once).try_collect().await
}
