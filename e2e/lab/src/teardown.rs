//! Takes a lab down, whole or half dead, and checks that nothing of it is left.

use std::path::Path;

use anyhow::{Result, bail};

use crate::layout::{DATA, STATE};
use crate::progress::Progress;
use crate::{cgroup, mount, network, node, process};

/// Takes everything down. It needs no record of what was started: all is found by the lab's own names.
pub(crate) fn down(progress: &Progress) -> Result<()> {
    if !anything_left()? {
        progress.say("there is no lab, nothing to do");
        return Ok(());
    }
    // A daemon that was just started may not have been moved to its group yet, so pid files are read as well.
    for (_, identity) in process::known() {
        if let Some(identity) = identity {
            identity.kill();
        }
    }
    cgroup::kill("")?;
    progress.say("its processes have ended");
    for folder in [STATE, DATA].map(Path::new) {
        mount::unmount_below(folder)?;
    }
    network::remove()?;
    cgroup::remove("")?;
    node::remove_shared_leftovers()?;
    for folder in [STATE, DATA].map(Path::new) {
        progress.during("deleting its files", || mount::remove_tree(folder))?;
    }
    // The kernel lets go of a loop device when the last user of its mount has gone.
    crate::wait::until_blocking(std::time::Duration::from_secs(10), "the loop devices to be free", || {
        let left = mount::loops_below(Path::new(DATA))?;
        Ok(if left.is_empty() {
            crate::wait::Seen::Met(())
        } else {
            crate::wait::Seen::NotYet(format!("{left:?}"))
        })
    })?;
    let left = leftovers()?;
    if !left.is_empty() {
        bail!("the lab is down, but this is left of it:\n  {}", left.join("\n  "));
    }
    progress.say("the lab is down; nothing is left of it");
    Ok(())
}

/// Whether any trace of a lab exists.
pub(crate) fn anything_left() -> Result<bool> {
    Ok(!leftovers()?.is_empty())
}

/// Every trace of a lab on this machine, each in words.
fn leftovers() -> Result<Vec<String>> {
    let mut left = Vec::new();
    left.extend(cgroup::processes("")?.iter().map(|process| format!("process {}", process.pid)));
    left.extend(
        process::known().into_iter().filter(|(_, i)| i.is_some()).map(|(name, _)| format!("process {name}")),
    );
    for folder in [STATE, DATA].map(Path::new) {
        left.extend(mount::below(folder)?.iter().map(|m| format!("mount {}", m.target.display())));
        if folder.exists() {
            left.push(format!("folder {}", folder.display()));
        }
    }
    left.extend(
        mount::loops_below(Path::new(DATA))?
            .iter()
            .map(|(device, file)| format!("loop device {device} of {file}")),
    );
    left.extend(network::namespaces().iter().map(|name| format!("network namespace {name}")));
    left.extend(cgroup::existing()?.iter().map(|group| format!("cgroup {}", group.display())));
    left.extend(node::shared_leftovers().iter().map(|file| format!("file {}", file.display())));
    Ok(left)
}
