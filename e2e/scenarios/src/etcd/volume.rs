//! What happens to volumes and processes on the lab's nodes, which share this machine.

use std::fs;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::Api;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::cluster::Cluster;

/// Deletes etcd's data in the volume of a claim, behind everybody's back.
pub(crate) async fn wipe(cluster: &Cluster, claim: &str) -> Result<()> {
    let volume = cluster
        .claims()
        .get(claim)
        .await?
        .spec
        .and_then(|spec| spec.volume_name)
        .context("the claim is not bound")?;
    let volumes: Api<PersistentVolume> = Api::all(cluster.client.clone());
    let spec = volumes.get(&volume).await?.spec.context("a volume without a specification")?;
    let path = spec.local.context("not a volume of the lab")?.path;
    for entry in fs::read_dir(&path).with_context(|| format!("cannot read {path}"))? {
        let entry = entry?;
        if entry.file_name() == "lost+found" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Kills etcd in the pod of a member; the kubelet starts the container again.
pub(crate) async fn kill_process(cluster: &Cluster, member: &str) -> Result<()> {
    let uid = cluster.pod(member).await?.metadata.uid.context("a pod without a uid")?;
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let group = fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
        // The pod's cgroup carries its uid: this is a process of the lab, started for this pod.
        if command.starts_with(b"/usr/local/bin/etcd\0") && group.contains(&uid) {
            kill(Pid::from_raw(pid), Signal::SIGKILL)?;
            return Ok(());
        }
    }
    bail!("there is no etcd process of {member}")
}
