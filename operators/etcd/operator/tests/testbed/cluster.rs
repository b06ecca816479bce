//! The resource of a run: made, changed, and waited for.

use std::time::Duration;

use anyhow::Result;
use ballast_etcd_core::api::{EtcdCluster, EtcdClusterStatus};
use ballast_testbed::wait::{self, Seen};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// Generous: many runs share two cores, and three members without volumes are replaced one after another.
pub const DEADLINE: Duration = Duration::from_mins(5);
/// How often somebody else may be quicker.
const CONFLICTS: usize = 100;
/// Name of the resource of every run.
pub const NAME: &str = "my";

pub fn clusters(client: &Client, namespace: &str) -> Api<EtcdCluster> {
    Api::namespaced(client.clone(), namespace)
}

/// As it is sent, whether or not it fits the type.
fn untyped(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<EtcdCluster>(&()))
}

pub async fn create(client: &Client, namespace: &str, spec: &Value) -> Result<()> {
    let resource = serde_json::from_value(json!({
        "apiVersion": "etcd.ballast.dev/v1alpha1",
        "kind": "EtcdCluster",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": spec,
    }))?;
    untyped(client, namespace).create(&PostParams::default(), &resource).await?;
    Ok(())
}

/// Merges into the specification.
pub async fn edit(api: &Api<EtcdCluster>, spec: Value) -> Result<()> {
    api.patch(NAME, &PatchParams::default(), &Patch::Merge(json!({"spec": spec}))).await?;
    Ok(())
}

/// Gives the resource this specification, as `kubectl replace` does. `Err` within: the API server refuses it.
pub async fn replace(client: &Client, namespace: &str, spec: &Value) -> Result<Result<(), String>> {
    let api = untyped(client, namespace);
    for _ in 0..CONFLICTS {
        let mut resource = api.get(NAME).await?;
        resource.data["spec"] = spec.clone();
        match api.replace(NAME, &PostParams::default(), &resource).await {
            Ok(_) => return Ok(Ok(())),
            // The status was written meanwhile.
            Err(kube::Error::Api(refused)) if refused.code == 409 => {}
            Err(kube::Error::Api(refused)) if matches!(refused.code, 400 | 422) => {
                return Ok(Err(refused.message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    anyhow::bail!("the resource was changed {CONFLICTS} times while it was to be replaced")
}

/// Waits until the status speaks of the current generation and `holds`.
pub async fn until(
    client: &Client,
    namespace: &str,
    what: &str,
    holds: impl Fn(&EtcdClusterStatus) -> bool,
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
        is(status, "Ready", "True", "")
            && is(status, "Progressing", "False", "")
            && status.plan.as_ref().is_none_or(|plan| plan.step.is_none() && plan.blocked.is_empty())
    })
    .await
}

/// Whether a condition has this value, and says this.
pub fn is(status: &EtcdClusterStatus, type_: &str, value: &str, says: &str) -> bool {
    status.conditions.iter().any(|condition| {
        condition.type_ == type_ && condition.status == value && condition.message.contains(says)
    })
}
