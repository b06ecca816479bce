//! A `KafkaCluster` under test: applied, edited, waited for, looked into.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use ballast_kafka_core::api::{KafkaCluster, KafkaClusterStatus};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{PersistentVolumeClaim, Pod},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::tools::Tools;
use crate::{install::KAFKA_VERSION, scenario::Context};

/// Long enough for anything on a loaded machine; nothing waits for it that succeeds.
pub(super) const DEADLINE: Duration = Duration::from_mins(6);
const NAME: &str = "my";

/// The cluster under test.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// A small pool.
pub(crate) fn pool(name: &str, roles: &[&str], replicas: i32, start: i32) -> Value {
    json!({
        "name": name,
        "roles": roles,
        "replicas": replicas,
        "nodeIds": {"start": start},
        "jvm": {"heap": "192Mi"},
        "storage": {"volumes": [{"name": "data", "size": "2Gi"}]},
        "resources": {"requests": {"cpu": "50m", "memory": "320Mi"}},
        "pod": {"template": {"spec": {"terminationGracePeriodSeconds": 20}}},
    })
}

impl Cluster {
    /// Creates `my` in the scenario's namespace, in three zones; `more` is laid over the specification.
    pub(crate) async fn create(context: &Context<'_>, pools: &[Value], more: &Value) -> Result<Self> {
        Self::create_in(context, &context.namespace, pools, more).await
    }

    /// The same in another namespace.
    pub(crate) async fn create_in(
        context: &Context<'_>,
        namespace: &str,
        pools: &[Value],
        more: &Value,
    ) -> Result<Self> {
        let cluster = Self { client: context.environment.client.clone(), namespace: namespace.to_owned() };
        let mut spec = json!({"version": KAFKA_VERSION, "zones": ["a", "b", "c"], "nodePools": pools});
        if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            spec.extend(more.clone());
        }
        let resource: KafkaCluster = serde_json::from_value(json!({
            "apiVersion": "kafka.ballast.dev/v1alpha1",
            "kind": "KafkaCluster",
            "metadata": {"name": NAME, "namespace": cluster.namespace},
            "spec": spec,
        }))?;
        cluster.api().create(&PostParams::default(), &resource).await?;
        Ok(cluster)
    }

    pub(super) fn api(&self) -> Api<KafkaCluster> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn tools(&self) -> Tools<'_> {
        Tools { client: &self.client, namespace: &self.namespace, cluster: NAME }
    }

    /// What the operator says now.
    pub(crate) async fn status(&self) -> Result<KafkaClusterStatus> {
        Ok(self.api().get(NAME).await?.status.unwrap_or_default())
    }

    /// Edits the specification by a merge patch.
    pub(crate) async fn edit(&self, spec: Value) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api().patch(NAME, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits until `condition` holds for the resource; it returns what was seen otherwise.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        condition: impl Fn(&KafkaCluster, &KafkaClusterStatus) -> Seen<T>,
    ) -> Result<T> {
        let api = self.api();
        wait::until_in(&self.client, &self.namespace, DEADLINE, what, || async {
            let resource = api.get(NAME).await?;
            let status = resource.status.clone().unwrap_or_default();
            Ok(condition(&resource, &status))
        })
        .await
    }

    /// Waits until it is Ready at its current generation, with an empty plan.
    pub(crate) async fn ready(&self) -> Result<KafkaClusterStatus> {
        self.until("my to be Ready with an empty plan", |resource, status| {
            let is = |type_: &str, value: &str| {
                status.conditions.iter().any(|have| have.type_ == type_ && have.status == value)
            };
            let plan = status.plan.clone().unwrap_or_default();
            let current = status.observed_generation == resource.metadata.generation;
            let idle = plan.step.is_none() && plan.blocked.is_empty() && status.rebalance.is_none();
            if current && idle && is("Ready", "True") && is("Progressing", "False") && is("Degraded", "False")
            {
                Seen::Met(status.clone())
            } else {
                Seen::NotYet(told(status))
            }
        })
        .await
    }

    /// Waits until a predicate with this reason holds the plan back; returns its message.
    pub(crate) async fn blocked(&self, reason: &str) -> Result<String> {
        self.until(&format!("the plan of my to be blocked by {reason}"), |_, status| {
            let blocked = status.plan.iter().flat_map(|plan| &plan.blocked);
            match blocked.into_iter().find(|blocked| blocked.reason == reason) {
                Some(blocked) => Seen::Met(blocked.message.clone()),
                None => Seen::NotYet(told(status)),
            }
        })
        .await
    }

    /// Deletes a pod at once, as if it crashed.
    pub(crate) async fn kill(&self, node: &str) -> Result<()> {
        let params = DeleteParams::default().grace_period(0);
        self.pods().delete(&format!("{node}-0"), &params).await?;
        Ok(())
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Names and uids of its pods.
    pub(crate) async fn pod_uids(&self) -> Result<BTreeMap<String, String>> {
        let pods = self.pods().list(&ListParams::default()).await?.items;
        Ok(pods.into_iter().filter_map(|pod| Some((pod.metadata.name?, pod.metadata.uid?))).collect())
    }

    /// Names of its StatefulSets.
    pub(crate) async fn stateful_sets(&self) -> Result<Vec<String>> {
        let api: Api<StatefulSet> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(api.list(&ListParams::default()).await?.items.iter().map(ResourceExt::name_any).collect())
    }

    /// Its claims.
    pub(crate) async fn claims(&self) -> Result<Vec<PersistentVolumeClaim>> {
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(api.list(&ListParams::default()).await?.items)
    }
}

/// What it is doing, and how far it is.
fn told(status: &KafkaClusterStatus) -> String {
    let plan = serde_json::to_string(&status.plan).unwrap_or_default();
    let rebalance = serde_json::to_string(&status.rebalance).unwrap_or_default();
    format!("nodes {}; plan {plan}; rebalance {rebalance}", status.ready_nodes.clone().unwrap_or_default())
}
