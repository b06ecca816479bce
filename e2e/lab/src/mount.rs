//! Mounts and loop devices of this machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, umount2};

use crate::command::run;

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where it is mounted.
    pub target: PathBuf,
    /// File system type.
    pub kind: String,
    /// Device or other source.
    pub source: String,
}

/// All mounts, in the order they were made.
pub(crate) fn all() -> Result<Vec<Mount>> {
    let text = fs::read_to_string("/proc/self/mountinfo").context("cannot read the mounts")?;
    Ok(text.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let target = unescape(before.split(' ').nth(4)?);
    let mut after = after.split(' ');
    Some(Mount { target: target.into(), kind: after.next()?.into(), source: unescape(after.next()?) })
}

/// The kernel writes space, tab, newline and backslash as octal numbers.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// The mounts at or below a path.
pub(crate) fn below(path: &Path) -> Result<Vec<Mount>> {
    Ok(all()?.into_iter().filter(|m| m.target.starts_with(path)).collect())
}

/// Unmounts everything at or below a path, the latest first.
pub(crate) fn unmount_below(path: &Path) -> Result<()> {
    // Mounts may lie on top of one another, so one pass per layer; the bound is only against surprises.
    for _ in 0..64 {
        let mounts = below(path)?;
        if mounts.is_empty() {
            return Ok(());
        }
        for mount in mounts.iter().rev() {
            // Detached: a process that is just ending must not keep it.
            let _ = umount2(&mount.target, MntFlags::MNT_DETACH);
        }
    }
    let left: Vec<_> = below(path)?.into_iter().map(|m| m.target.display().to_string()).collect();
    bail!("cannot unmount {}", left.join(", "))
}

/// Loop devices with their backing files, of files below a path.
pub(crate) fn loops_below(path: &Path) -> Result<Vec<(String, String)>> {
    let text = run("losetup", ["--list", "--noheadings", "--raw", "--output", "NAME,BACK-FILE"])?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, file)| Path::new(file).starts_with(path))
        .map(|(device, file)| (device.into(), file.into()))
        .collect())
}

/// Removes a directory tree, but never follows into another file system: what is mounted there is not ours to delete.
pub(crate) fn remove_tree(path: &Path) -> Result<()> {
    if path.exists() {
        run("rm", ["-rf".as_ref(), "--one-file-system".as_ref(), path.as_os_str()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_optional_fields_and_spaces_is_read() {
        let line = "36 35 98:0 / /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue";
        let expected = Mount { target: "/mnt 2".into(), kind: "ext3".into(), source: "/dev/root".into() };
        assert_eq!(parse(line), Some(expected));
    }
}
