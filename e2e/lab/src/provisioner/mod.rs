//! The lab's dynamic volumes: makes, grows and deletes them, in the roles of external-provisioner and external-resizer.
//!
//! Every pass compares the claims and volumes there are with the files and mounts there are, so a pass that was
//! interrupted is completed by the next.

mod filesystem;
mod resize;
mod volume;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use crate::lab::client_from;
use crate::{pki, size};

/// Name by which storage classes ask for these volumes.
const PROVISIONER: &str = "lab.ballast.dev/loop";
/// Keeps a volume's object until its files are gone, even when somebody deletes the object first.
const FINALIZER: &str = "lab.ballast.dev/volume";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// What failed is tried again after this, also when nothing changes.
const RETRY: Duration = Duration::from_secs(5);

/// Runs until the process is ended.
pub(crate) async fn run() -> Result<()> {
    let client = client_from(&pki::kubeconfig("provisioner")).await?;
    let reporter = Reporter { controller: PROVISIONER.into(), instance: None };
    let provisioner =
        Provisioner { recorder: Recorder::new(client.clone(), reporter), client: client.clone() };
    let claims = changes::<PersistentVolumeClaim>(&client);
    let volumes = changes::<PersistentVolume>(&client);
    let mut changes = stream::select(claims, volumes).ready_chunks(1024);
    tracing::info!("provisioner {PROVISIONER} is at work");
    loop {
        // A change of an object, or time to try again.
        let _ = tokio::time::timeout(RETRY, changes.next()).await;
        if let Err(error) = provisioner.pass().await {
            tracing::warn!("{error:#}");
        }
    }
}

fn changes<K>(client: &Client) -> stream::BoxStream<'static, ()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    watcher(Api::<K>::all(client.clone()), watcher::Config::default()).default_backoff().map(drop).boxed()
}

struct Provisioner {
    client: Client,
    recorder: Recorder,
}

impl Provisioner {
    async fn pass(&self) -> Result<()> {
        let everything = ListParams::default();
        let classes = Api::<StorageClass>::all(self.client.clone()).list(&everything).await?.items;
        let classes: BTreeMap<String, StorageClass> = classes
            .into_iter()
            .filter(|class| class.provisioner == PROVISIONER)
            .map(|class| (class.name_any(), class))
            .collect();
        let claims = Api::<PersistentVolumeClaim>::all(self.client.clone()).list(&everything).await?.items;
        let mut volumes = Api::<PersistentVolume>::all(self.client.clone()).list(&everything).await?.items;
        volumes.retain(|volume| volume.annotations().get(PROVISIONED_BY).is_some_and(|by| by == PROVISIONER));

        for claim in &claims {
            let class = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_ref());
            let Some(class) = class.and_then(|name| classes.get(name)) else { continue };
            let outcome = self.attend(claim, class, &mut volumes).await;
            self.report(claim, "ProvisioningFailed", outcome).await;
        }
        for volume in &volumes {
            if let Err(error) = self.reclaim(volume).await {
                tracing::warn!("volume {}: {error:#}", volume.name_any());
            }
        }
        Ok(())
    }

    /// Makes the volume of a claim without one; grows the volume of a claim that asks for more.
    async fn attend(
        &self,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        volumes: &mut Vec<PersistentVolume>,
    ) -> Result<()> {
        if claim.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let name = format!("pvc-{}", claim.uid().context("a claim has a uid")?);
        if let Some(volume) = volumes.iter().find(|volume| volume.name_any() == name) {
            return resize::grow_if_asked(&self.client, claim, volume).await;
        }
        if claim.spec.as_ref().is_some_and(|spec| spec.volume_name.as_ref().is_some_and(|v| !v.is_empty())) {
            // Bound to a volume somebody made by hand.
            return Ok(());
        }
        let Some(node) = self.node_for(claim, class, volumes).await? else { return Ok(()) };
        let volume = volume::make(&name, claim, class, &node)?;
        let made =
            Api::<PersistentVolume>::all(self.client.clone()).create(&PostParams::default(), &volume).await?;
        tracing::info!(
            "made {name} on {node} for {}/{}",
            claim.namespace().unwrap_or_default(),
            claim.name_any()
        );
        volumes.push(made);
        Ok(())
    }

    /// The node a claim's volume belongs to: the scheduler's choice, or the one with the fewest volumes when the class
    /// does not wait for a pod. `None` means: not yet.
    async fn node_for(
        &self,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        volumes: &[PersistentVolume],
    ) -> Result<Option<String>> {
        if let Some(node) = claim.annotations().get(SELECTED_NODE) {
            return Ok(Some(node.clone()));
        }
        if class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer") {
            return Ok(None);
        }
        let nodes = Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await?.items;
        let count =
            |name: &str| volumes.iter().filter(|v| volume::node_of(v).as_deref() == Some(name)).count();
        Ok(nodes
            .iter()
            .filter(|node| crate::lab::is_ready(node))
            .map(ResourceExt::name_any)
            .min_by_key(|name| (count(name), name.clone())))
    }

    /// Deletes a volume whose claim is gone, or whose object somebody deleted.
    async fn reclaim(&self, volume: &PersistentVolume) -> Result<()> {
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
        let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
        let released = phase == Some("Released") && policy == Some("Delete");
        let deleted = volume.metadata.deletion_timestamp.is_some() && phase != Some("Bound");
        if !released && !deleted {
            return Ok(());
        }
        let name = volume.name_any();
        volume::destroy(&name)?;
        let api = Api::<PersistentVolume>::all(self.client.clone());
        if !deleted {
            ignore_if_changed(api.delete(&name, &DeleteParams::default()).await)?;
        }
        // Read again: the cluster takes a finalizer of its own off at the same moment, and it must not come back.
        let Some(now) = api.get_opt(&name).await? else { return Ok(()) };
        let kept: Vec<_> = now.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = json!({"metadata": {"finalizers": kept, "resourceVersion": now.resource_version()}});
        ignore_if_changed(api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await)?;
        tracing::info!("deleted {name}");
        Ok(())
    }

    /// Tells a failure where people look for it: at the claim.
    async fn report(&self, claim: &PersistentVolumeClaim, reason: &str, outcome: Result<()>) {
        let Err(error) = outcome else { return };
        tracing::warn!("claim {}/{}: {error:#}", claim.namespace().unwrap_or_default(), claim.name_any());
        let event = Event {
            type_: EventType::Warning,
            reason: reason.into(),
            note: Some(format!("{error:#}").chars().take(1000).collect()),
            action: "Provision".into(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &claim.object_ref(&())).await {
            tracing::warn!("cannot write an event: {error}");
        }
    }
}

/// Somebody else was quicker: the change wakes the next pass, which sees what is left to do.
fn ignore_if_changed<T>(outcome: kube::Result<T>) -> Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// Metadata every volume of the lab has.
fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        annotations: Some([(PROVISIONED_BY.into(), PROVISIONER.into())].into()),
        labels: Some([("app.kubernetes.io/managed-by".into(), "ballast-lab".into())].into()),
        finalizers: Some(vec![FINALIZER.into()]),
        ..ObjectMeta::default()
    }
}

/// The size a claim asks for.
fn requested(claim: &PersistentVolumeClaim) -> Result<(String, u64)> {
    let requests =
        claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()).and_then(|r| r.requests.as_ref());
    let quantity = requests.and_then(|all| all.get("storage")).context("the claim asks for no storage")?;
    Ok((quantity.0.clone(), size::bytes(&quantity.0)?))
}
