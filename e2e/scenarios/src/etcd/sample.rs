//! The samples that people copy, and storage that does not last.

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::Seen;
use serde_json::{Value, json};

use super::cluster::{Cluster, spec};
use crate::scenario::Context;

const FULL: &str = include_str!("../../../../deploy/samples/etcd/full.yaml");

/// Every field, as in the sample; only what this cluster has not got is left out: room for five members of that size.
pub(crate) async fn full(context: &Context<'_>) -> Result<()> {
    let sample: Value = serde_yaml::from_str(FULL)?;
    let mut spec = sample["spec"].clone();
    spec["storage"]["size"] = json!("512Mi");
    spec["resources"] = json!({"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}});
    let cluster = Cluster::create(context, "full-etcd", spec).await?;
    let status = cluster.ready().await?;
    ensure!(status.members.len() == 5, "{:?}", status.members);
    let pod = cluster.pod("full-etcd-0").await?;
    let annotations = pod.metadata.annotations.unwrap_or_default();
    ensure!(annotations.get("example.com/owner").map(String::as_str) == Some("platform"), "{annotations:?}");
    ensure!(
        pod.spec.and_then(|spec| spec.termination_grace_period_seconds) == Some(60),
        "the grace period did not arrive"
    );
    Ok(())
}

/// Scratch space: a pod that is lost is a member that is lost, and replaced.
pub(crate) async fn ephemeral(context: &Context<'_>) -> Result<()> {
    let spec = spec(3, "3.6.16", &json!({"storage": {"size": null, "ephemeral": {"sizeLimit": "256Mi"}}}));
    let cluster = Cluster::create(context, "my", spec).await?;
    let status = cluster.ready().await?;
    let note = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "SpecValid")
        .map(|condition| condition.message.clone());
    ensure!(
        note.as_deref().is_some_and(|note| note.contains("everything is lost")),
        "nobody is warned: {note:?}"
    );
    let ledger = cluster.ledger().await?;
    ledger.progress(100).await?;
    let old = cluster.member("my-1").await?.id.context("my-1 has no id")?;
    cluster.kill("my-1").await?;
    cluster
        .until("my-1 to be replaced", |_, status| {
            match status.members.iter().find(|member| member.name == "my-1") {
                Some(member)
                    if member.health == "Serving" && member.id.as_ref().is_some_and(|id| *id != old) =>
                {
                    Seen::Met(())
                }
                other => Seen::NotYet(format!("{other:?}")),
            }
        })
        .await?;
    cluster.settle(context, ledger, 3).await
}
