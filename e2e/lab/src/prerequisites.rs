//! Looks for what the machine must have before anything is started, and says how to get it.

use std::path::Path;

use anyhow::{Result, bail};

/// Programs the lab starts, with the Debian package each comes from.
const PROGRAMS: [(&str, &str); 17] = [
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("conntrack", "conntrack"),
    ("mount", "mount"),
    ("umount", "mount"),
    ("losetup", "mount"),
    ("nsenter", "util-linux"),
    ("setsid", "util-linux"),
    ("fallocate", "util-linux"),
    ("mkfs.ext4", "e2fsprogs"),
    ("resize2fs", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("xfs_growfs", "xfsprogs"),
    ("truncate", "coreutils"),
    ("sha256sum", "coreutils"),
    ("ldd", "libc-bin"),
    ("busybox", "busybox-static"),
];

/// Programs only a build of the tools needs.
const BUILD_PROGRAMS: [(&str, &str); 2] =
    [("gcc", "gcc libc6-dev"), ("pkg-config", "pkg-config libseccomp-dev")];

/// Fails when the lab cannot run on this machine.
pub(crate) fn check() -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        bail!("the lab makes network namespaces and mounts, so it needs root: run it with sudo");
    }
    demand(&PROGRAMS)
}

/// Fails when the tools cannot be built on this machine.
pub(crate) fn check_build() -> Result<()> {
    demand(&BUILD_PROGRAMS)?;
    if !found("go") {
        bail!("go is missing: install Go 1.26 or newer from https://go.dev/dl/ and put it on PATH");
    }
    Ok(())
}

fn demand(programs: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<_> = programs.iter().filter(|(program, _)| !found(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<_> = missing.iter().map(|(program, _)| *program).collect();
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    bail!(
        "missing: {}. Run scripts/prerequisites.sh, or: apt-get install {}",
        programs.join(", "),
        packages.join(" ")
    );
}

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(Into::into))
        .any(|folder| Path::new(&folder).join(program).is_file())
}
