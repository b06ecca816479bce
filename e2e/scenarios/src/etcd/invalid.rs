//! Wrong resources: refused by the API server, or reported with the field; nothing changes.

use anyhow::{Result, bail, ensure};
use ballast_lab::wait::Seen;
use serde_json::{Value, json};

use super::cluster::{Cluster, spec};
use crate::scenario::Context;

/// A wrong edit, and a part of the message that must name it.
fn edits() -> Vec<(&'static str, Value, &'static str)> {
    let template = |spec: Value| json!({"pod": {"template": {"spec": spec}}});
    let etcd = |env: Value| template(json!({"containers": [env]}));
    vec![
        ("no members", json!({"replicas": 0}), "replicas"),
        ("an unparsable version", json!({"version": "latest"}), "version"),
        (
            "a reserved key",
            json!({"etcd": {"extraConfig": {"initial-cluster": "x"}}}),
            "spec.etcd.extraConfig[initial-cluster]",
        ),
        (
            "an unknown key",
            json!({"etcd": {"extraConfig": {"no-such-key": "x"}}}),
            "spec.etcd.extraConfig[no-such-key]",
        ),
        (
            "a line break in a value",
            json!({"etcd": {"extraConfig": {"cors": "a\nforce-new-cluster: true"}}}),
            "spec.etcd.extraConfig[cors]",
        ),
        ("a protected field", template(json!({"hostNetwork": true})), "spec.pod.template.spec.hostNetwork"),
        ("the command of etcd", etcd(json!({"name": "etcd", "command": ["sh"]})), "command"),
        (
            "a variable that configures etcd",
            etcd(json!({"name": "etcd", "env": [{"name": "ETCD_FORCE_NEW_CLUSTER", "value": "true"}]})),
            "ETCD_FORCE_NEW_CLUSTER",
        ),
        ("smaller storage", json!({"storage": {"size": "128Mi"}}), "storage.size can only grow"),
        (
            "an election too soon",
            json!({"etcd": {"heartbeatInterval": "500ms", "electionTimeout": "1s"}}),
            "spec.etcd.electionTimeout",
        ),
    ]
}

pub(crate) async fn refused(context: &Context<'_>) -> Result<()> {
    let cluster = Cluster::create(context, "my", spec(1, "3.6.16", &json!({}))).await?;
    cluster.ready().await?;
    let before = cluster.pod_uids().await?;
    let original = cluster.api().get("my").await?.spec;
    for (what, edit, part) in edits() {
        if let Err(error) = cluster.edit(edit).await {
            let message = format!("{error:#}");
            ensure!(message.contains(part), "{what}: refused, but without {part}: {message}");
        } else {
            let message = reported(&cluster).await?;
            ensure!(message.contains(part), "{what}: reported, but without {part}: {message}");
            // The merge patch of a map cannot take keys away: put the whole specification back.
            let whole = json!([{"op": "replace", "path": "/spec", "value": original}]);
            let patch = kube::api::Patch::Json::<()>(serde_json::from_value(whole)?);
            cluster.api().patch("my", &kube::api::PatchParams::default(), &patch).await?;
            cluster.ready().await?;
        }
        println!("      {what}: refused with {part}");
        cluster.nothing_rolled(&before).await?;
    }
    let long = "a".repeat(60);
    match Cluster::create(context, &long, spec(1, "3.6.16", &json!({}))).await {
        Ok(_) => bail!("a name of {} characters was accepted", long.len()),
        Err(error) => ensure!(format!("{error:#}").contains("48 characters"), "{error:#}"),
    }
    Ok(())
}

async fn reported(cluster: &Cluster) -> Result<String> {
    cluster
        .until("SpecValid to be False", |resource, status| {
            let condition = status.conditions.iter().find(|condition| condition.type_ == "SpecValid");
            match condition {
                Some(condition)
                    if condition.status == "False"
                        && condition.observed_generation == resource.metadata.generation =>
                {
                    Seen::Met(condition.message.clone())
                }
                other => Seen::NotYet(format!("{other:?}")),
            }
        })
        .await
}
