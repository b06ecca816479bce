//! Where things are: one lab per machine, so its places are fixed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Small state: sockets, keys, pid files, logs and the mounted volumes. Gone after `lab down`.
pub const STATE: &str = "/run/ballast-lab";
/// Big data on a disk: containers, kubelet folders and volume images. Gone after `lab down`.
pub const DATA: &str = "/var/lib/ballast-lab";
/// Held while a command changes the lab. It stays, so that two commands can never lock different files.
pub(crate) const LOCK: &str = "/run/ballast-lab.lock";
/// Name of the network namespace of the control plane.
pub const CONTROL_PLANE: &str = "ballast-lab";
/// Address of the control plane; the API server listens on port 6443 of it.
pub const CONTROL_PLANE_ADDRESS: &str = "10.99.0.1";

/// A path below [`STATE`].
pub(crate) fn state(relative: impl AsRef<Path>) -> PathBuf {
    Path::new(STATE).join(relative)
}

/// A path below [`DATA`].
pub(crate) fn data(relative: impl AsRef<Path>) -> PathBuf {
    Path::new(DATA).join(relative)
}

/// The kubeconfig of the cluster's administrator. It works inside the control plane's network namespace.
pub fn kubeconfig() -> PathBuf {
    state("kubeconfig/admin.yaml")
}

/// The API server's audit log (level Metadata, one JSON object per line).
pub fn audit_log() -> PathBuf {
    state("audit.log")
}

/// The log file of one of the lab's processes.
pub(crate) fn log(process: &str) -> PathBuf {
    state(format!("logs/{process}.log"))
}

/// Where built tools and images are kept between runs: `$BALLAST_CACHE`, or `~/.cache/ballast`.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("BALLAST_CACHE").filter(|p| !p.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    let home =
        std::env::var_os("HOME").context("neither BALLAST_CACHE nor HOME is set: set BALLAST_CACHE")?;
    Ok(Path::new(&home).join(".cache/ballast"))
}
