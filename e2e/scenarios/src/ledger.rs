//! The ledger as a pod beside the cluster under test: it writes throughout, and remembers what was acknowledged.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ballast_lab::wait;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{install::LEDGER_IMAGE, proxy};

/// Where a ledger answers.
pub(crate) const PORT: u16 = 8080;
/// Several times what a name server may remember that a name is unknown.
const INSPECTION: Duration = Duration::from_secs(30);

/// A running ledger.
pub(crate) struct Ledger {
    client: Client,
    namespace: String,
    pod: String,
}

/// Its figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    pub(crate) acknowledged: u64,
    pub(crate) failed: u64,
    pub(crate) longest_gap_ms: u64,
}

/// Starts a ledger with these arguments, in a pod of this name.
pub(crate) async fn begin(client: &Client, namespace: &str, name: &str, arguments: &[&str]) -> Result<()> {
    let manifest: Pod = serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "ledger"}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            // The ledger outlives the loss of any node that a scenario takes away.
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "ledger",
                "image": LEDGER_IMAGE,
                "args": arguments,
                "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
            }],
        },
    }))?;
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    api.create(&PostParams::default(), &manifest).await.context("cannot start the ledger")?;
    Ok(())
}

/// The node that a ledger runs on.
pub(crate) async fn node(client: &Client, namespace: &str, pod: &str) -> Result<String> {
    let pod = Api::<Pod>::namespaced(client.clone(), namespace).get(pod).await?;
    pod.spec.and_then(|spec| spec.node_name).context("the ledger has no node")
}

impl Ledger {
    /// Starts one that writes to these endpoints, and waits for its first acknowledged write.
    pub(crate) async fn start(client: &Client, namespace: &str, endpoint: &str) -> Result<Self> {
        let pod = "ledger".to_owned();
        begin(client, namespace, &pod, &["etcd", "--endpoints", endpoint, "--interval", "10ms"]).await?;
        let ledger = Self { client: client.clone(), namespace: namespace.to_owned(), pod };
        ledger.progress(1).await?;
        Ok(ledger)
    }

    /// Waits until `more` further writes have been acknowledged.
    pub(crate) async fn progress(&self, more: u64) -> Result<Stats> {
        let before = self.stats().await.map_or(0, |stats| stats.acknowledged);
        wait::until_in(
            &self.client,
            &self.namespace,
            Duration::from_mins(1),
            "acknowledged writes",
            || async {
                let stats = self.stats().await?;
                Ok((stats.acknowledged >= before + more).then_some(stats))
            },
        )
        .await
    }

    /// The node that it runs on.
    pub(crate) async fn node(&self) -> Result<String> {
        node(&self.client, &self.namespace, &self.pod).await
    }

    /// Its figures.
    pub(crate) async fn stats(&self) -> Result<Stats> {
        proxy::get(&self.client, &self.namespace, &self.pod, PORT, "stats").await
    }

    /// Forgets the longest gap so far.
    pub(crate) async fn reset_gap(&self) -> Result<()> {
        let _: Value = self.post("reset-gap", &json!({})).await?;
        Ok(())
    }

    /// Stops writing and reads everything back: every acknowledged write must be there.
    pub(crate) async fn verify(&self) -> Result<u64> {
        let verdict: Value = self.post("verify", &json!({})).await?;
        if verdict["ok"] != json!(true) {
            bail!("acknowledged writes are not as they should be: {verdict}");
        }
        let checked = verdict["checked"].as_u64().unwrap_or_default();
        ensure!(checked > 0, "the ledger checked nothing: {verdict}");
        Ok(checked)
    }

    /// Fails if etcd's member list ever showed what it may not: two learners, a voter out of nowhere, a removal that
    /// left no quorum.
    pub(crate) async fn check_members(&self) -> Result<Value> {
        let history: Value = proxy::get(&self.client, &self.namespace, &self.pod, PORT, "members").await?;
        ensure!(
            history["looks"].as_u64().unwrap_or_default() > 0,
            "nobody looked at the member list: {history}"
        );
        let violations = history["violations"].as_array().cloned().unwrap_or_default();
        ensure!(violations.is_empty(), "the member list was not as it may be: {violations:?}");
        Ok(history)
    }

    /// Fails unless all members hold the same at one revision. A member whose pod was just made anew may be unknown to
    /// the name server's cache for some seconds more: what cannot be asked is asked again, what differs is not.
    pub(crate) async fn check_hashes(&self, endpoints: &[String]) -> Result<()> {
        let inspections: Vec<Value> =
            wait::until_in(&self.client, &self.namespace, INSPECTION, "all members' hashes", || async {
                self.post("inspect", &json!({"endpoints": endpoints})).await.map(Some)
            })
            .await?;
        ensure!(inspections.len() == endpoints.len(), "{inspections:?}");
        let first = &inspections[0];
        for inspection in &inspections {
            let same = inspection["hash"] == first["hash"]
                && inspection["compactRevision"] == first["compactRevision"];
            ensure!(same, "members differ: {inspections:?}");
        }
        Ok(())
    }

    /// Ends it.
    pub(crate) async fn stop(self) -> Result<()> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        api.delete(&self.pod, &DeleteParams::default().grace_period(0)).await?;
        wait::until(Duration::from_secs(30), "the ledger to be gone", || async {
            Ok(api.get_opt(&self.pod).await?.is_none().then_some(()))
        })
        .await
    }

    async fn post<T: serde::de::DeserializeOwned>(&self, what: &str, body: &Value) -> Result<T> {
        proxy::post(&self.client, &self.namespace, &self.pod, PORT, what, body).await
    }
}
