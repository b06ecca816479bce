//! Fills a claim's volume, as an application would that writes too much.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::{Api, Client};
use nix::sys::statvfs::statvfs;

use crate::command::run;
use crate::layout;

/// The file that takes the room.
const FILLER: &str = ".ballast-lab-fill";

/// Fills the volume of a claim until `leave` bytes are free, and says how many bytes that took.
pub async fn fill(client: &Client, namespace: &str, claim: &str, leave: u64) -> Result<u64> {
    let folder = volume_of(client, namespace, claim).await?;
    let filler = folder.join(FILLER);
    remove(&filler)?;
    let free = free_bytes(&folder)?;
    let take = free.saturating_sub(leave);
    if take == 0 {
        return Ok(0);
    }
    // The file system also needs blocks to remember the file by, so the last of them are found by trying.
    let mut size = take;
    while run("fallocate", ["-l".as_ref(), size.to_string().as_ref(), filler.as_os_str()]).is_err() {
        if size < 4096 {
            bail!("cannot fill {}", folder.display());
        }
        size -= (size / 64).max(4096);
    }
    // fallocate rounds down with a reserve; the rest goes byte by byte.
    let rest = free_bytes(&folder)?.saturating_sub(leave);
    if rest >= 4096 {
        append_zeros(&filler, rest)?;
    }
    Ok(fs::metadata(&filler)?.len())
}

/// Frees what [`fill`] took.
pub async fn unfill(client: &Client, namespace: &str, claim: &str) -> Result<()> {
    remove(&volume_of(client, namespace, claim).await?.join(FILLER))
}

fn free_bytes(folder: &Path) -> Result<u64> {
    let space = statvfs(folder)?;
    Ok(space.blocks_available() * space.fragment_size())
}

fn append_zeros(file: &Path, count: u64) -> Result<()> {
    use std::io::Write;
    let mut output = fs::File::options().append(true).open(file)?;
    let block = [0u8; 4096];
    for _ in 0..count / 4096 {
        match output.write_all(&block) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn remove(filler: &Path) -> Result<()> {
    if filler.exists() {
        fs::remove_file(filler)?;
    }
    Ok(())
}

/// Where the volume of a claim is mounted on this machine.
async fn volume_of(client: &Client, namespace: &str, claim: &str) -> Result<PathBuf> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    let name = claims.get(claim).await?.spec.and_then(|spec| spec.volume_name);
    let name = name.with_context(|| format!("claim {namespace}/{claim} has no volume yet"))?;
    let local = volumes.get(&name).await?.spec.and_then(|spec| spec.local);
    let path =
        PathBuf::from(local.with_context(|| format!("volume {name} has no size of its own to fill"))?.path);
    if !path.starts_with(layout::STATE) {
        bail!("volume {name} is not one of the lab's");
    }
    Ok(path)
}
