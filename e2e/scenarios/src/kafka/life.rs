//! The operator's own life: without it, with rights in one namespace, and what it refuses.

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    cluster::{Cluster, DEADLINE, pool},
    stream::Stream,
};
use crate::{
    install::{self, KAFKA, NAMESPACE, SECOND_TAG},
    operator::Operator,
    run::create_namespace,
    scenario::Context,
};

fn combined(replicas: i32) -> [Value; 1] {
    [pool("node", &["Controller", "Broker"], replicas, 0)]
}

/// The operator is uninstalled under load: nodes run on and come back by themselves. Another build takes over without a restart.
pub(super) async fn take_over(context: &Context<'_>) -> Result<()> {
    let environment = context.environment;
    let cluster = Cluster::create(context, &combined(3), &json!({})).await?;
    cluster.ready().await?;
    cluster.tools().create_topic("node-0", "ledger", "0:1:2,1:2:0,2:0:1").await?;
    let stream = Stream::begin(&cluster, "ledger").await?;
    environment.helm(&["uninstall", KAFKA, "--namespace", NAMESPACE, "--wait"])?;
    let outcome = async {
        let before = cluster.pod_uids().await?;
        cluster.kill("my-node-1").await?;
        wait::until_in(&cluster.client, &cluster.namespace, DEADLINE, "my-node-1 to be back", || async {
            let pod = cluster.pods().get_opt("my-node-1-0").await?;
            let conditions = pod.as_ref().and_then(|pod| pod.status.as_ref()?.conditions.clone());
            let ready =
                conditions.into_iter().flatten().any(|have| have.type_ == "Ready" && have.status == "True");
            let new = pod.and_then(|pod| pod.metadata.uid).as_ref() != before.get("my-node-1-0");
            Ok((ready && new).then_some(()))
        })
        .await
    }
    .await;
    let between = cluster.pod_uids().await?;
    install::install(environment, Operator::Kafka, &[&format!("image.tag={SECOND_TAG}")]).await?;
    outcome?;
    cluster.ready().await?;
    install::fresh(environment, Operator::Kafka).await?;
    environment.helm(&["test", KAFKA, "--namespace", NAMESPACE])?;
    cluster.ready().await?;
    ensure!(cluster.pod_uids().await? == between, "taking over restarted pods");
    context.figure("records", stream.end().await?);
    Ok(())
}

/// With Roles only: a cluster in the operator's namespace is made, one elsewhere is not touched.
pub(super) async fn one_namespace(context: &Context<'_>) -> Result<()> {
    let second = format!("{}-second", context.namespace);
    create_namespace(context.environment, &second).await?;
    let only = format!("watchNamespaces={{{}}}", context.namespace);
    install::install(context.environment, Operator::Kafka, &[&only]).await?;
    let outcome = async {
        let bindings: Api<ClusterRoleBinding> = Api::all(context.environment.client.clone());
        let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={KAFKA}"));
        ensure!(
            bindings.list(&ours).await?.items.is_empty(),
            "the operator still has rights in the whole cluster"
        );
        let elsewhere = Cluster::create_in(context, &second, &combined(1), &json!({})).await?;
        let cluster = Cluster::create(context, &combined(1), &json!({})).await?;
        cluster.ready().await?;
        // A broker leaves, with all that this needs rights for.
        cluster.edit(json!({"nodePools": [combined(1)[0], pool("more", &["Broker"], 1, 100)]})).await?;
        cluster.ready().await?;
        cluster.edit(json!({"nodePools": combined(1)})).await?;
        cluster.ready().await?;
        ensure!(
            elsewhere.api().get("my").await?.status.is_none(),
            "a cluster in another namespace was touched"
        );
        Ok(())
    }
    .await;
    install::fresh(context.environment, Operator::Kafka).await?;
    outcome
}

/// A wrong edit, and a part of the message that must name it.
fn edits() -> Vec<(&'static str, Value, &'static str)> {
    let template = |spec: Value| {
        let mut pool = combined(1)[0].clone();
        pool["pod"] = json!({"template": {"spec": spec}});
        json!({"nodePools": [pool]})
    };
    let config = |key: &str, value: &str| json!({"config": {key: value}});
    let mut shrunk = combined(1)[0].clone();
    shrunk["storage"]["volumes"][0]["size"] = json!("1Gi");
    vec![
        ("no pools", json!({"nodePools": []}), "nodePools"),
        ("an unparsable version", json!({"version": "latest"}), "version"),
        ("a version without a dynamic quorum", json!({"version": "3.9.0"}), "3.9.0"),
        ("a reserved key", config("node.id", "7"), "spec.config[node.id]"),
        ("a key that loads classes", config("metric.reporters", "x.Y"), "spec.config[metric.reporters]"),
        (
            "a line break in a value",
            config("log.retention.hours", "1\nnode.id=7"),
            "spec.config[log.retention.hours]",
        ),
        ("a protected field", template(json!({"hostNetwork": true})), "pod.template.spec.hostNetwork"),
        (
            "the command of Kafka",
            template(json!({"containers": [{"name": "kafka", "command": ["sh"]}]})),
            "command",
        ),
        ("smaller storage", json!({"nodePools": [shrunk]}), "size can only grow"),
        ("two controllers", json!({"nodePools": combined(2)}), "spec.nodePools"),
        (
            "ids of another pool",
            json!({"nodePools": [combined(1)[0], pool("more", &["Broker"], 1, 0)]}),
            "nodeIds",
        ),
    ]
}

/// Wrong resources are refused by the API server, or reported with the field; nothing changes.
pub(super) async fn refused(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, &combined(1), &json!({})).await?;
    cluster.ready().await?;
    let before = cluster.pod_uids().await?;
    let original = cluster.api().get("my").await?.spec;
    for (what, edit, part) in edits() {
        let message = if let Err(error) = cluster.edit(edit).await {
            format!("{error:#}")
        } else {
            let message = reported(&cluster).await?;
            // The merge patch of a map cannot take keys away: put the whole specification back.
            let whole = json!([{"op": "replace", "path": "/spec", "value": original}]);
            let patch = Patch::Json::<()>(serde_json::from_value(whole)?);
            cluster.api().patch("my", &PatchParams::default(), &patch).await?;
            cluster.ready().await?;
            message
        };
        ensure!(message.contains(part), "{what}: the message has no {part}: {message}");
        println!("      {what}: refused with {part}");
        ensure!(cluster.pod_uids().await? == before, "{what}: pods changed");
    }
    Ok(())
}

/// What is said to be wrong with the resource as it is now.
async fn reported(cluster: &Cluster) -> Result<String> {
    cluster
        .until("SpecValid or VersionSupported to be False", |resource, status| {
            let wrong = status.conditions.iter().find(|condition| {
                matches!(condition.type_.as_str(), "SpecValid" | "VersionSupported")
                    && condition.status == "False"
                    && condition.observed_generation == resource.metadata.generation
            });
            match wrong {
                Some(condition) => Seen::Met(condition.message.clone()),
                None => Seen::NotYet(format!("{:?}", status.conditions)),
            }
        })
        .await
}
