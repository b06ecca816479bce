//! An `EtcdCluster` under test: applied, edited, waited for, looked into.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use ballast_etcd_core::api::{EtcdCluster, EtcdClusterStatus, MemberStatus};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{PersistentVolumeClaim, Pod},
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{ledger::Ledger, scenario::Context};

/// Long enough for anything on a loaded machine; nothing waits for it that succeeds.
pub(crate) const DEADLINE: Duration = Duration::from_mins(4);

/// The cluster under test.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A small specification: `more` is laid over it.
pub(crate) fn spec(replicas: i32, version: &str, more: &Value) -> Value {
    let mut spec = json!({
        "replicas": replicas,
        "version": version,
        "storage": {"size": "256Mi"},
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}},
        "pod": {"template": {"spec": {"terminationGracePeriodSeconds": 10}}},
    });
    merge(&mut spec, more);
    spec
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                if value.is_null() {
                    into.remove(key);
                } else {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (into, more) => *into = more.clone(),
    }
}

impl Cluster {
    /// Creates one named `name` in the scenario's namespace.
    pub(crate) async fn create(context: &Context<'_>, name: &str, spec: Value) -> Result<Self> {
        Self::create_in(context, &context.namespace, name, spec, json!({})).await
    }

    /// Three members named `my` that are Ready, and a ledger that writes to them; `more` is laid over the specification.
    pub(crate) async fn written_to(
        context: &Context<'_>,
        version: &str,
        more: &Value,
    ) -> Result<(Self, Ledger)> {
        let cluster = Self::create(context, "my", spec(3, version, more)).await?;
        cluster.ready().await?;
        let ledger = cluster.ledger().await?;
        ledger.progress(100).await?;
        Ok((cluster, ledger))
    }

    /// Creates one in any namespace, with annotations.
    pub(crate) async fn create_in(
        context: &Context<'_>,
        namespace: &str,
        name: &str,
        spec: Value,
        annotations: Value,
    ) -> Result<Self> {
        let cluster = Self {
            client: context.environment.client.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let resource: EtcdCluster = serde_json::from_value(json!({
            "apiVersion": "etcd.ballast.dev/v1alpha1",
            "kind": "EtcdCluster",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
            "spec": spec,
        }))?;
        cluster.api().create(&kube::api::PostParams::default(), &resource).await?;
        Ok(cluster)
    }

    pub(crate) fn api(&self) -> Api<EtcdCluster> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn stateful_sets(&self) -> Api<StatefulSet> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Everything with the cluster's labels.
    pub(crate) fn ours(&self) -> ListParams {
        ListParams::default().labels(&format!(
            "app.kubernetes.io/instance={},app.kubernetes.io/managed-by=ballast-etcd",
            self.name
        ))
    }

    /// Edits the specification by a merge patch.
    pub(crate) async fn edit(&self, spec: Value) -> Result<()> {
        self.patch(json!({"spec": spec})).await
    }

    /// Edits the resource by a merge patch.
    pub(crate) async fn patch(&self, patch: Value) -> Result<()> {
        self.api().patch(&self.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Its status; an error before there is one.
    pub(crate) async fn status(&self) -> Result<EtcdClusterStatus> {
        self.api().get(&self.name).await?.status.context("it has no status yet")
    }

    /// Waits until `condition` holds for the resource; it returns what was seen otherwise.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        condition: impl Fn(&EtcdCluster, &EtcdClusterStatus) -> Seen<T>,
    ) -> Result<T> {
        let api = self.api();
        wait::until_in(&self.client, &self.namespace, DEADLINE, what, || async {
            let resource = api.get(&self.name).await?;
            let status = resource.status.clone().unwrap_or_default();
            Ok(condition(&resource, &status))
        })
        .await
    }

    /// Waits until it is Ready at its current generation, with an empty plan.
    pub(crate) async fn ready(&self) -> Result<EtcdClusterStatus> {
        self.until(&format!("{} to be Ready with an empty plan", self.name), |resource, status| {
            let condition = |type_: &str| status.conditions.iter().find(|condition| condition.type_ == type_);
            let is = |type_: &str, value: &str| {
                condition(type_).is_some_and(|condition| condition.status == value)
            };
            let plan = status.plan.clone().unwrap_or_default();
            let current = status.observed_generation == resource.metadata.generation;
            let idle = plan.step.is_none() && plan.blocked.is_empty();
            if current && idle && is("Ready", "True") && is("Progressing", "False") && is("Degraded", "False")
            {
                Seen::Met(status.clone())
            } else {
                let ready = condition("Ready").map(|ready| format!("{}: {}", ready.reason, ready.message));
                let plan = serde_json::to_string(&plan).unwrap_or_default();
                Seen::NotYet(format!("{}; plan {plan}", ready.unwrap_or_default()))
            }
        })
        .await
    }

    /// Waits until a predicate with this reason holds the plan back; returns its message.
    pub(crate) async fn blocked(&self, reason: &str) -> Result<String> {
        self.until(&format!("the plan of {} to be blocked by {reason}", self.name), |_, status| {
            let plan = status.plan.clone().unwrap_or_default();
            match plan.blocked.iter().find(|blocked| blocked.reason == reason) {
                Some(blocked) => Seen::Met(blocked.message.clone()),
                None => Seen::NotYet(serde_json::to_string(&plan).unwrap_or_default()),
            }
        })
        .await
    }

    /// Ids of the members, by name.
    pub(crate) async fn ids(&self) -> Result<BTreeMap<String, String>> {
        let members = self.status().await?.members;
        Ok(members.into_iter().filter_map(|member| Some((member.name, member.id?))).collect())
    }

    /// A member as the status shows it.
    pub(crate) async fn member(&self, name: &str) -> Result<MemberStatus> {
        let members = self.status().await?.members;
        members
            .into_iter()
            .find(|member| member.name == name)
            .with_context(|| format!("there is no member {name}"))
    }

    /// A pod of a member.
    pub(crate) async fn pod(&self, member: &str) -> Result<Pod> {
        Ok(self.pods().get(&format!("{member}-0")).await?)
    }

    /// uids of the pods, by name.
    pub(crate) async fn pod_uids(&self) -> Result<BTreeMap<String, String>> {
        let pods = self.pods().list(&self.ours()).await?.items;
        Ok(pods.into_iter().filter_map(|pod| Some((pod.metadata.name?, pod.metadata.uid?))).collect())
    }

    /// Claims that are not being deleted, by member.
    pub(crate) async fn claim_names(&self) -> Result<BTreeMap<String, String>> {
        let claims = self.claims().list(&self.ours()).await?.items;
        Ok(claims
            .into_iter()
            .filter(|claim| claim.metadata.deletion_timestamp.is_none())
            .filter_map(|claim| {
                Some((claim.metadata.labels?.get("ballast.dev/member")?.clone(), claim.metadata.name?))
            })
            .collect())
    }

    /// Deletes a pod at once, as if it crashed.
    pub(crate) async fn kill(&self, member: &str) -> Result<()> {
        self.pods().delete(&format!("{member}-0"), &DeleteParams::default().grace_period(0)).await?;
        Ok(())
    }

    /// URL for clients in the cluster.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}-client.{}.svc:2379", self.name, self.namespace)
    }

    /// URL of each member in the status.
    pub(crate) async fn member_endpoints(&self) -> Result<Vec<String>> {
        let members = self.status().await?.members;
        let url = |name: &str| format!("http://{name}-0.{}-nodes.{}.svc:2379", self.name, self.namespace);
        Ok(members.iter().map(|member| url(&member.name)).collect())
    }

    /// A ledger that writes to it.
    pub(crate) async fn ledger(&self) -> Result<Ledger> {
        Ledger::start(&self.client, &self.namespace, &self.endpoint()).await
    }

    /// The end of a scenario: Ready with an empty plan, every acknowledged write there, all members the same, and never
    /// anything wrong with the member list.
    pub(crate) async fn settle(&self, context: &Context<'_>, ledger: Ledger, members: usize) -> Result<()> {
        let status = self.ready().await?;
        ensure!(status.members.len() == members, "{} members, expected {members}", status.members.len());
        ledger.progress(20).await?;
        let figures = ledger.stats().await?;
        context.figure("acknowledged writes", figures.acknowledged);
        context.figure("failed writes", figures.failed);
        context.figure("longest write gap (ms)", figures.longest_gap_ms);
        let checked = ledger.verify().await?;
        ensure!(checked > 0);
        ledger.check_hashes(&self.member_endpoints().await?).await?;
        ledger.check_members().await?;
        ledger.stop().await
    }

    /// Deletes it and waits until its StatefulSets and pods are gone.
    pub(crate) async fn delete(&self) -> Result<()> {
        self.api().delete(&self.name, &DeleteParams::default()).await?;
        wait::until_in(
            &self.client,
            &self.namespace,
            DEADLINE,
            &format!("{} and its pods to be gone", self.name),
            || async {
                let resource = self.api().get_opt(&self.name).await?;
                let sets = self.stateful_sets().list(&self.ours()).await?.items.len();
                let pods = self.pods().list(&self.ours()).await?.items.len();
                Ok(if resource.is_none() && sets + pods == 0 {
                    Seen::Met(())
                } else {
                    Seen::NotYet(format!("{sets} StatefulSets, {pods} pods"))
                })
            },
        )
        .await
    }

    /// Fails if any pod is another one than before.
    pub(crate) async fn nothing_rolled(&self, before: &BTreeMap<String, String>) -> Result<()> {
        let after = self.pod_uids().await?;
        if *before != after {
            bail!("pods were replaced: before {before:?}, after {after:?}");
        }
        let pods = self.pods().list(&self.ours()).await?.items;
        for pod in pods {
            let restarts: i32 = pod
                .status
                .iter()
                .flat_map(|status| status.container_statuses.iter().flatten())
                .map(|container| container.restart_count)
                .sum();
            ensure!(restarts == 0, "{} restarted {restarts} times", pod.metadata.name.unwrap_or_default());
        }
        Ok(())
    }
}

/// Whether a pod is Ready.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| {
        all.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    })
}
