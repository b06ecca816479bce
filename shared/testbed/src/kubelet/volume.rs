//! Claims: bound to a volume on the node of their first pod, grown when they ask for it, and their volume removed.
//!
//! The testbed is provisioner, binder and resizer in one; no other controller of its control plane touches claims,
//! apart from the one that keeps a claim while a pod uses it.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::unless_changed;

/// Name of the storage class, which is the default one.
pub const CLASS: &str = "testbed";
/// Name by which the class asks for its volumes.
pub(crate) const PROVISIONER: &str = "testbed.ballast.dev/volume";

/// What a claim asks for.
pub(crate) fn requested(claim: &PersistentVolumeClaim) -> Option<String> {
    let resources = claim.spec.as_ref()?.resources.as_ref()?;
    Some(resources.requests.as_ref()?.get("storage")?.0.clone())
}

/// What it has.
pub(crate) fn capacity(claim: &PersistentVolumeClaim) -> Option<String> {
    Some(claim.status.as_ref()?.capacity.as_ref()?.get("storage")?.0.clone())
}

/// Whether it has a volume.
pub(crate) fn bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}

fn volume_name(claim_uid: &str) -> String {
    format!("pvc-{claim_uid}")
}

/// Makes the volume of a claim on `node` and binds both. It may be half done already.
pub(crate) async fn bind(client: &Client, claim: &PersistentVolumeClaim, node: &str) -> Result<()> {
    let uid = claim.uid().context("a claim has a uid")?;
    let size = requested(claim).context("the claim asks for no storage")?;
    let namespace = claim.namespace().context("a claim has a namespace")?;
    let name = volume_name(&uid);
    let spec = claim.spec.clone().unwrap_or_default();
    let volume = json!({
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": spec.access_modes,
            "volumeMode": spec.volume_mode,
            "storageClassName": spec.storage_class_name,
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace,
                "name": claim.name_any(), "uid": uid},
            "local": {"path": format!("/volumes/{uid}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}},
        },
    });
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let volume: PersistentVolume = serde_json::from_value(volume)?;
    unless_changed(volumes.create(&PostParams::default(), &volume).await)?;
    status(&volumes, &name, &json!({"status": {"phase": "Bound"}})).await?;
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &namespace);
    let to = json!({
        "metadata": {"uid": uid, "annotations": {
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.kubernetes.io/selected-node": node,
            "volume.kubernetes.io/storage-provisioner": PROVISIONER,
        }},
        "spec": {"volumeName": name},
    });
    claims.patch(&claim.name_any(), &PatchParams::default(), &Patch::Merge(to)).await?;
    let is = json!({"metadata": {"uid": uid}, "status": {
        "phase": "Bound", "accessModes": spec.access_modes, "capacity": {"storage": size}}});
    status(&claims, &claim.name_any(), &is).await
}

/// Gives a bound claim the size that it asks for, if it has another.
pub(crate) async fn grow(client: &Client, claim: &PersistentVolumeClaim) -> Result<()> {
    let (Some(asked), Some(has)) = (requested(claim), capacity(claim)) else { return Ok(()) };
    if asked == has || !bound(claim) || claim.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let uid = claim.uid().context("a claim has a uid")?;
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let more = json!({"spec": {"capacity": {"storage": asked}}});
    volumes.patch(&volume_name(&uid), &PatchParams::default(), &Patch::Merge(more)).await?;
    let claims = Api::<PersistentVolumeClaim>::namespaced(
        client.clone(),
        &claim.namespace().context("a claim has a namespace")?,
    );
    let is = json!({"metadata": {"uid": uid}, "status": {"capacity": {"storage": asked}}});
    status(&claims, &claim.name_any(), &is).await
}

/// Removes the volume of a claim that is gone.
pub(crate) async fn remove(client: &Client, claim_uid: &str) -> Result<()> {
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let name = volume_name(claim_uid);
    unless_changed(volumes.delete(&name, &DeleteParams::default()).await)?;
    // Kept until a controller says that no claim has it; that controller does not run, and the claim is gone.
    let free = json!({"metadata": {"finalizers": null}});
    unless_changed(volumes.patch(&name, &PatchParams::default(), &Patch::Merge(free)).await)
}

async fn status<K>(api: &Api<K>, name: &str, patch: &Value) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}
