//! The resource of a run: made, changed, and waited for; and the topics that its cluster has.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use ballast_kafka_core::api::{KafkaCluster, KafkaClusterStatus};
use ballast_kafka_simulated::model::topics::Layout;
use ballast_testbed::wait::{self, Seen};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::bed::kafka;

/// Generous: many runs share two cores.
pub const DEADLINE: Duration = Duration::from_mins(5);
/// Name of the resource of every run.
pub const NAME: &str = "my";

pub fn clusters(client: &Client, namespace: &str) -> Api<KafkaCluster> {
    Api::namespaced(client.clone(), namespace)
}

pub async fn create(client: &Client, namespace: &str, spec: &Value) -> Result<()> {
    let resource = serde_json::from_value(json!({
        "apiVersion": "kafka.ballast.dev/v1alpha1",
        "kind": "KafkaCluster",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": spec,
    }))?;
    clusters(client, namespace).create(&PostParams::default(), &resource).await?;
    Ok(())
}

/// Merges into the specification.
pub async fn edit(client: &Client, namespace: &str, spec: &Value) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": spec}));
    clusters(client, namespace).patch(NAME, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Waits until the status speaks of the current generation and `holds`.
pub async fn until(
    client: &Client,
    namespace: &str,
    what: &str,
    holds: impl Fn(&KafkaClusterStatus) -> bool,
) -> Result<()> {
    let api = clusters(client, namespace);
    wait::until_in(client, namespace, DEADLINE, &format!("{namespace} {what}"), || async {
        let resource = api.get(NAME).await?;
        let status = resource.status.unwrap_or_default();
        let done = status.observed_generation == resource.metadata.generation && holds(&status);
        Ok(if done { Seen::Met(()) } else { Seen::NotYet(serde_json::to_string(&status)?) })
    })
    .await
}

/// Ready at the current generation, and nothing left to do.
pub async fn ready(client: &Client, namespace: &str) -> Result<()> {
    until(client, namespace, "to be Ready", |status| {
        let is = |type_: &str, value: &str| {
            status.conditions.iter().any(|condition| condition.type_ == type_ && condition.status == value)
        };
        is("Ready", "True")
            && is("Progressing", "False")
            && status.rebalance.is_none()
            && status.plan.as_ref().is_none_or(|plan| plan.step.is_none() && plan.blocked.is_empty())
    })
    .await
}

/// A topic with so many bytes in each partition, on these nodes.
pub fn topic(namespace: &str, name: &str, partitions: &[(&[i32], u64)]) -> Result<()> {
    let places = partitions.iter().map(|(nodes, _)| nodes.to_vec()).collect();
    let made = kafka().edit(namespace, |kafka| {
        kafka.create_topic(name, &Layout::Assigned(places), BTreeMap::new(), false)?;
        for (index, (_, bytes)) in (0..).zip(partitions) {
            kafka.produce(name, index, 1, *bytes)?;
        }
        Ok::<_, ballast_kafka_simulated::model::Refusal>(())
    });
    Ok(made.context("no node has started")??)
}
