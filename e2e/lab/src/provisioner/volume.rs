//! The machine's side of a volume: an image file, its file system and its mount; or a shared directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::{Resource, ResourceExt};
use serde_json::{from_value, json};

use super::filesystem::FileSystem;
use super::{metadata, requested};
use crate::command::run;
use crate::{layout, mount};

/// Where a volume is mounted; the same for all nodes, since they share the machine's mounts.
pub(super) fn mount_point(name: &str) -> PathBuf {
    layout::state(format!("volumes/{name}"))
}

/// The file a volume's blocks are in.
pub(super) fn image(name: &str) -> PathBuf {
    layout::data(format!("volumes/{name}.img"))
}

fn shared(name: &str) -> PathBuf {
    layout::data(format!("shared/{name}"))
}

/// Makes what a claim asks for and gives the object that tells the cluster.
pub(super) fn make(
    name: &str,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    node: &str,
) -> Result<PersistentVolume> {
    let (quantity, size) = requested(claim)?;
    let is_shared =
        class.parameters.as_ref().and_then(|all| all.get("kind")).is_some_and(|kind| kind == "shared");
    let mut spec = if is_shared {
        let folder = shared(name);
        fs::create_dir_all(&folder)?;
        // A hostPath volume is given to no group, so it is open to all.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?;
        json!({"hostPath": {"path": folder, "type": "Directory"}})
    } else {
        format(name, size)?;
        let requirement = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
        json!({
            "local": {"path": mount_point(name)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}},
        })
    };
    let claim_spec = claim.spec.clone().unwrap_or_default();
    spec["accessModes"] = json!(claim_spec.access_modes.unwrap_or_default());
    let mut spec: PersistentVolumeSpec = from_value(spec)?;
    spec.capacity = Some([("storage".to_string(), Quantity(quantity))].into());
    spec.persistent_volume_reclaim_policy.clone_from(&class.reclaim_policy);
    spec.storage_class_name = Some(class.name_any());
    spec.volume_mode = Some("Filesystem".into());
    spec.claim_ref = Some(claim.object_ref(&()));
    Ok(PersistentVolume { metadata: metadata(name), spec: Some(spec), status: None })
}

/// Makes the image file with a file system in it and mounts it, as far as that is not done.
fn format(name: &str, size: u64) -> Result<()> {
    let (image, target) = (image(name), mount_point(name));
    if is_mounted(&target)? {
        return Ok(());
    }
    // Half-made by an earlier pass, and not yet known to the cluster: begin again.
    let _ = fs::remove_file(&image);
    let file_system = FileSystem::for_new_volumes()?;
    let size = size.max(file_system.least());
    run("truncate", ["--size".as_ref(), size.to_string().as_ref(), image.as_os_str()])?;
    file_system.make(&image, size)?;
    fs::create_dir_all(&target)?;
    run("mount", ["-o".as_ref(), "loop".as_ref(), image.as_os_str(), target.as_os_str()]).map(drop)
}

fn is_mounted(target: &Path) -> Result<bool> {
    Ok(mount::all()?.iter().any(|m| m.target == target))
}

/// Deletes all there is of a volume; nothing happens when there is nothing.
pub(super) fn destroy(name: &str) -> Result<()> {
    let target = mount_point(name);
    mount::unmount_below(&target)?;
    if target.exists() {
        fs::remove_dir(&target)?;
    }
    let image = image(name);
    if image.exists() {
        fs::remove_file(&image)?;
    }
    mount::remove_tree(&shared(name))
}

/// The node a volume is on.
pub(super) fn node_of(volume: &PersistentVolume) -> Option<String> {
    let affinity = volume.spec.as_ref()?.node_affinity.as_ref()?.required.as_ref()?;
    affinity
        .node_selector_terms
        .first()?
        .match_expressions
        .as_ref()?
        .first()?
        .values
        .as_ref()?
        .first()
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_tells_its_node() -> Result<()> {
        let volume: PersistentVolume = from_value(
            json!({"metadata": {"name": "v"}, "spec": {"nodeAffinity": {"required": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]}],
            }}}}),
        )?;
        assert_eq!(node_of(&volume).as_deref(), Some("n2"));
        Ok(())
    }
}
