//! The lab's own control groups, on cgroup v1 and v2. Every process of the lab is in one of them, so all can be found
//! again, whatever it started, and nothing else is ever ended.
//!
//! `ballast-lab/system/<who>` holds the lab's daemons, `ballast-lab/nodes/<node>` the pods of a node.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::mount;
use crate::process::{self, Identity};
use crate::wait::{Seen, until_blocking};

const ROOT: &str = "ballast-lab";

/// One mounted cgroup file system.
#[derive(Debug)]
struct Hierarchy {
    mount: PathBuf,
    /// Whether this is the one and only v2 hierarchy, with controllers of its own to hand down.
    unified: bool,
    /// v1 only: a new group has no processors and memory nodes until they are written.
    cpuset: bool,
}

fn hierarchies() -> Result<Vec<Hierarchy>> {
    let mut all: Vec<_> = mount::all()?
        .into_iter()
        .filter(|m| m.kind == "cgroup" || m.kind == "cgroup2")
        .filter(|m| m.target.starts_with("/sys/fs/cgroup"))
        .map(|m| {
            let unified = fs::read_to_string(m.target.join("cgroup.controllers"))
                .is_ok_and(|controllers| !controllers.trim().is_empty());
            let cpuset = m.target.join("cpuset.cpus").exists() && m.kind == "cgroup";
            Hierarchy { mount: m.target, unified, cpuset }
        })
        .collect();
    all.sort_by(|a, b| a.mount.cmp(&b.mount));
    all.dedup_by(|a, b| a.mount == b.mount);
    if all.is_empty() {
        bail!("no cgroup file system is mounted below /sys/fs/cgroup: Kubernetes needs one");
    }
    Ok(all)
}

/// Makes a group (and those above it) in every hierarchy.
pub(crate) fn create(group: &str) -> Result<()> {
    for hierarchy in hierarchies()? {
        let mut directory = hierarchy.mount.clone();
        for part in [ROOT].into_iter().chain(group.split('/')) {
            if hierarchy.unified {
                delegate(&directory)?;
            }
            let parent = directory.clone();
            directory.push(part);
            if !directory.exists() {
                fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
            }
            if hierarchy.cpuset {
                for file in ["cpuset.cpus", "cpuset.mems"] {
                    let value = fs::read_to_string(parent.join(file))?;
                    fs::write(directory.join(file), value.trim())
                        .with_context(|| format!("cannot write {}/{file}", directory.display()))?;
                }
            }
        }
    }
    Ok(())
}

/// v2: hands all controllers of a group down to its children.
fn delegate(directory: &Path) -> Result<()> {
    let available = fs::read_to_string(directory.join("cgroup.controllers"))?;
    let enabled = fs::read_to_string(directory.join("cgroup.subtree_control"))?;
    let enabled: BTreeSet<&str> = enabled.split_whitespace().collect();
    for controller in available.split_whitespace().filter(|c| !enabled.contains(c)) {
        let written = fs::write(directory.join("cgroup.subtree_control"), format!("+{controller}"));
        // Kubernetes needs these; others (rdma, misc, …) may be refused without harm.
        if ["cpu", "cpuset", "memory", "pids"].contains(&controller) {
            written.with_context(|| {
                format!(
                    "cannot enable cgroup controller {controller} below {}: a group with processes of its own cannot \
                     have controlled children. In a container, run the lab from a child group",
                    directory.display()
                )
            })?;
        }
    }
    Ok(())
}

/// The path a kubelet calls its root: below every hierarchy's mount.
pub(crate) fn node_root(node: &str) -> String {
    format!("/{ROOT}/nodes/{node}")
}

/// Moves a process into a group made before.
pub(crate) fn join(group: &str, pid: i32) -> Result<()> {
    for hierarchy in hierarchies()? {
        let file = hierarchy.mount.join(ROOT).join(group).join("cgroup.procs");
        fs::write(&file, pid.to_string())
            .with_context(|| format!("cannot move process {pid} into {}", file.display()))?;
    }
    Ok(())
}

/// All processes in a group and below; the empty name means the whole lab.
pub(crate) fn processes(group: &str) -> Result<Vec<Identity>> {
    let mut found = BTreeSet::new();
    for hierarchy in hierarchies()? {
        for directory in below(&hierarchy.mount.join(ROOT).join(group)) {
            let ids = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
            found.extend(ids.lines().filter_map(|line| line.parse::<i32>().ok()));
        }
    }
    // A lab process that calls this (a scenario's own child, say) never ends itself.
    let own = i32::try_from(std::process::id())?;
    Ok(found.into_iter().filter(|pid| *pid != own && *pid > 1).filter_map(Identity::of).collect())
}

/// Ends every process in a group and below, as a power loss would, and waits until none is left.
pub(crate) fn kill(group: &str) -> Result<()> {
    let mut ended = BTreeSet::new();
    until_blocking(Duration::from_secs(20), &format!("the processes of {ROOT}/{group} to end"), || {
        let left = processes(group)?;
        for process in &left {
            process.kill();
            ended.insert(process.pid);
        }
        if left.is_empty() {
            return Ok(Seen::Met(()));
        }
        Ok(Seen::NotYet(format!("{} still run", left.len())))
    })?;
    for pid in ended {
        process::reap(pid);
    }
    Ok(())
}

/// Removes a group and all below it, in every hierarchy. It must hold no process.
pub(crate) fn remove(group: &str) -> Result<()> {
    for hierarchy in hierarchies()? {
        let top = hierarchy.mount.join(ROOT).join(group);
        until_blocking(
            Duration::from_secs(10),
            &format!("cgroup {} to be removable", top.display()),
            || {
                for directory in below(&top) {
                    // The kernel frees a dead process's group a moment after its end; the loop tries again.
                    let _ = fs::remove_dir(directory);
                }
                if top.exists() { Ok(Seen::NotYet("busy".into())) } else { Ok(Seen::Met(())) }
            },
        )?;
    }
    Ok(())
}

/// The groups of the lab that exist.
pub(crate) fn existing() -> Result<Vec<PathBuf>> {
    Ok(hierarchies()?.iter().flat_map(|h| below(&h.mount.join(ROOT))).collect())
}

/// A directory and all below it, children first.
fn below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .flat_map(|entry| below(&entry.path()))
        .collect();
    all.push(directory.to_path_buf());
    all
}
