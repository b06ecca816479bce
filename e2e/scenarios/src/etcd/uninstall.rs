//! The operator goes; the members stay.

use std::time::Duration;

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::json;

use super::cluster::{Cluster, DEADLINE, is_ready};
use crate::{
    install::{self, ETCD, NAMESPACE, SECOND_TAG},
    operator::Operator,
    scenario::Context,
};

pub(crate) async fn take_over(context: &Context<'_>) -> Result<()> {
    let environment = context.environment;
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let before = cluster.pod_uids().await?;

    environment.helm(&["uninstall", ETCD, "--namespace", NAMESPACE, "--wait"])?;
    let outcome = async {
        let definitions: Api<CustomResourceDefinition> = Api::all(environment.client.clone());
        ensure!(
            definitions.get_opt("etcdclusters.etcd.ballast.dev").await?.is_some(),
            "the resource type went with the operator"
        );
        ledger.progress(100).await?;
        cluster.nothing_rolled(&before).await?;
        // A pod that restarts comes back by itself.
        cluster.kill("my-1").await?;
        wait::until_in(
            &cluster.client,
            &cluster.namespace,
            DEADLINE,
            "my-1 to be back without the operator",
            || async {
                let pod = cluster.pods().get_opt("my-1-0").await?;
                Ok(pod.filter(|pod| pod.metadata.uid.as_ref() != before.get("my-1-0") && is_ready(pod)))
            },
        )
        .await?;
        ledger.progress(20).await
    }
    .await;
    let between = cluster.pod_uids().await?;
    install::etcd_operator(environment, &[&format!("image.tag={SECOND_TAG}")]).await?;
    outcome?;
    cluster.ready().await?;
    // The new operator's image goes into the templates, and no pod is restarted for it.
    wait::until(Duration::from_mins(1), "the templates to carry the second image", || async {
        let sets = cluster.stateful_sets().list(&cluster.ours()).await?.items;
        let carry = sets
            .iter()
            .filter(|set| {
                let inits = set
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.template.spec.as_ref()?.init_containers.clone())
                    .unwrap_or_default();
                inits
                    .iter()
                    .any(|init| init.image.as_deref().is_some_and(|image| image.ends_with(SECOND_TAG)))
            })
            .count();
        Ok(if carry == 3 { Seen::Met(()) } else { Seen::NotYet(format!("{carry} of 3")) })
    })
    .await?;
    ensure!(cluster.pod_uids().await? == between, "taking over restarted pods");
    install::fresh(environment, Operator::Etcd).await?;
    environment.helm(&["test", ETCD, "--namespace", NAMESPACE])?;
    ensure!(cluster.pod_uids().await? == between, "taking over restarted pods");
    cluster.settle(context, ledger, 3).await
}
