//! The operator without Helm: one file.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use ballast_lab::wait;
use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, api::DeleteParams};
use serde_json::json;

use super::cluster::{Cluster, spec};
use crate::{
    install::{self, ETCD, NAMESPACE},
    operator::Operator,
    scenario::Context,
};

const DEFINITION: &str = "etcdclusters.etcd.ballast.dev";

/// `kubectl create -f`, a cluster, `kubectl delete -f`; then Helm's release again.
pub(crate) async fn one_file(context: &Context<'_>) -> Result<()> {
    let environment = context.environment;
    environment.helm(&["uninstall", ETCD, "--namespace", NAMESPACE, "--wait"])?;
    clear(context).await?;
    let outcome = works(context).await;
    clear(context).await?;
    install::fresh(environment, Operator::Etcd).await?;
    outcome
}

async fn works(context: &Context<'_>) -> Result<()> {
    kubectl(context, "create")?;
    install::await_operator(context.environment).await?;
    let cluster = Cluster::create(context, "my", spec(3, "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    let ledger = cluster.ledger().await?;
    cluster.settle(context, ledger, 3).await?;
    cluster.delete().await?;
    kubectl(context, "delete")
}

fn kubectl(context: &Context<'_>, verb: &str) -> Result<()> {
    let file = install::root().join("deploy").join(format!("{ETCD}.yaml"));
    let output = context
        .environment
        .lab()?
        .kubectl()?
        .args([verb, "-f"])
        .arg(file)
        .output()
        .context("cannot run kubectl")?;
    if !output.status.success() {
        bail!("kubectl {verb}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    ensure!(lines > 5, "kubectl {verb} did next to nothing");
    Ok(())
}

/// Takes the namespace and the resource type away, if they are there: `kubectl create` makes both.
async fn clear(context: &Context<'_>) -> Result<()> {
    let client = &context.environment.client;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if definitions.get_opt(DEFINITION).await?.is_some() {
        definitions.delete(DEFINITION, &DeleteParams::default()).await?;
    }
    if namespaces.get_opt(NAMESPACE).await?.is_some() {
        namespaces.delete(NAMESPACE, &DeleteParams::default()).await?;
    }
    wait::until(Duration::from_mins(2), "the namespace and the resource type to be gone", || async {
        let left = definitions.get_opt(DEFINITION).await?.is_some()
            || namespaces.get_opt(NAMESPACE).await?.is_some();
        Ok((!left).then_some(()))
    })
    .await
}
