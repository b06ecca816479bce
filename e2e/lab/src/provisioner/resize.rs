//! Growth of a volume while it is in use.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::filesystem::FileSystem;
use super::{requested, volume};
use crate::command::run;
use crate::{mount, size};

/// Grows a bound volume when its claim asks for more than it has been given.
pub(super) async fn grow_if_asked(
    client: &Client,
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
) -> Result<()> {
    let status = claim.status.clone().unwrap_or_default();
    if status.phase.as_deref() != Some("Bound")
        || volume.spec.as_ref().is_none_or(|spec| spec.local.is_none())
    {
        return Ok(());
    }
    let (quantity, wanted) = requested(claim)?;
    let given = |capacity: Option<
        &std::collections::BTreeMap<_, k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
    >| {
        capacity.and_then(|all| all.get("storage")).map_or(Ok(0), |quantity| size::bytes(&quantity.0))
    };
    let claim_has = given(status.capacity.as_ref())?;
    let volume_has = given(volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()))?;
    let announced = status.conditions.as_ref().is_some_and(|all| !all.is_empty());
    if wanted <= claim_has && wanted <= volume_has && !announced {
        return Ok(());
    }
    let name = volume.name_any();
    if wanted > claim_has || wanted > volume_has {
        grow(&name, wanted)?;
    }
    // The claim first: a volume larger than its claim makes the kubelet want to grow the file system itself.
    let namespace = claim.namespace().context("a claim has a namespace")?;
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &namespace);
    let done = json!({"status": {
        "capacity": {"storage": quantity},
        "conditions": null,
        "allocatedResources": null,
        "allocatedResourceStatuses": null,
    }});
    claims.patch_status(&claim.name_any(), &PatchParams::default(), &Patch::Merge(done)).await?;
    let capacity = json!({"spec": {"capacity": {"storage": quantity}}});
    let volumes = Api::<PersistentVolume>::all(client.clone());
    volumes.patch(&name, &PatchParams::default(), &Patch::Merge(capacity)).await?;
    tracing::info!("grew {name} to {quantity}");
    Ok(())
}

/// Grows file, loop device and file system; each step is harmless when done already.
fn grow(name: &str, size: u64) -> Result<()> {
    let image = volume::image(name);
    if std::fs::metadata(&image)?.len() < size {
        run("truncate", ["--size".as_ref(), size.to_string().as_ref(), image.as_os_str()])?;
    }
    let target = volume::mount_point(name);
    let mounts = mount::all()?;
    let mount = mounts.iter().rev().find(|m| m.target == target);
    let mount = mount.with_context(|| format!("{} is not mounted", target.display()))?;
    FileSystem::of_kind(&mount.kind).grow(&mount.source, &target)
}
