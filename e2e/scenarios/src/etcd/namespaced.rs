//! The operator with rights in one namespace only.

use anyhow::{Result, ensure};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::{Api, api::ListParams};
use serde_json::json;

use super::cluster::{Cluster, spec};
use crate::{
    install::{self, ETCD},
    operator::Operator,
    run::create_namespace,
    scenario::Context,
};

pub(crate) async fn one_namespace(context: &Context<'_>) -> Result<()> {
    let second = format!("{}-second", context.namespace);
    create_namespace(context.environment, &second).await?;
    install::etcd_operator(context.environment, &[&format!("watchNamespaces={{{}}}", context.namespace)])
        .await?;
    let outcome = works(context, &second).await;
    install::fresh(context.environment, Operator::Etcd).await?;
    outcome
}

async fn works(context: &Context<'_>, second: &str) -> Result<()> {
    let bindings: Api<ClusterRoleBinding> = Api::all(context.environment.client.clone());
    let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={ETCD}"));
    ensure!(
        bindings.list(&ours).await?.items.is_empty(),
        "the operator still has rights in the whole cluster"
    );
    let elsewhere =
        Cluster::create_in(context, second, "my", spec(1, "3.6.16", &json!({})), json!({})).await?;
    let cluster = Cluster::create(context, "my", spec(3, "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    let ledger = cluster.ledger().await?;
    ensure!(elsewhere.api().get("my").await?.status.is_none(), "a cluster in another namespace was touched");
    cluster.settle(context, ledger, 3).await
}
