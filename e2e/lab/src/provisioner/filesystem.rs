//! The file system in a volume, and how it grows under a running application.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::command::run;

/// Number of `CAP_SYS_RESOURCE`.
const SYS_RESOURCE: u32 = 24;

/// ext4 where it can grow while mounted; XFS elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileSystem {
    Ext4,
    Xfs,
}

impl FileSystem {
    /// The one for new volumes. The kernel lets only `CAP_SYS_RESOURCE` grow a mounted ext4, and many containers and
    /// small virtual machines withhold that even from root; XFS asks for no more than mounting does.
    pub(super) fn for_new_volumes() -> Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        Ok(if may_use_resources(&status)? { Self::Ext4 } else { Self::Xfs })
    }

    /// The one a mount's type names.
    pub(super) fn of_kind(kind: &str) -> Self {
        if kind == "xfs" { Self::Xfs } else { Self::Ext4 }
    }

    /// Makes the file system in an image file of a size in bytes.
    pub(super) fn make(self, image: &Path, size: u64) -> Result<()> {
        let (program, options) = match self {
            // No blocks reserved for root: what `df` promises a pod is what it gets.
            Self::Ext4 => ("mkfs.ext4", "-F -q -m 0 -b 4096 -i 16384 -E nodiscard"),
            // Unsupported is what XFS calls volumes of less than 300 MB. Without shared extents, less room is set aside.
            Self::Xfs => ("mkfs.xfs", "-q -f --unsupported -K -m reflink=0,rmapbt=0"),
        };
        let log = if self == Self::Xfs && size >= 1 << 28 { " -l size=16m" } else { "" };
        let options = format!("{options}{log}");
        run(program, options.split(' ').map(AsRef::as_ref).chain([image.as_os_str()]))
            .map(drop)
            .with_context(|| format!("cannot make a file system of {size} bytes"))
    }

    /// Grows the file system to the size of its device.
    pub(super) fn grow(self, device: &str, target: &Path) -> Result<()> {
        run("losetup", ["--set-capacity", device])?;
        match self {
            Self::Ext4 => run("resize2fs", [device]),
            Self::Xfs => run("xfs_growfs", ["-d".as_ref(), target.as_os_str()]),
        }
        .map(drop)
    }

    /// The least size in bytes that holds a journal and a few files.
    pub(super) fn least(self) -> u64 {
        match self {
            Self::Ext4 => 8 << 20,
            Self::Xfs => 16 << 20,
        }
    }
}

fn may_use_resources(status: &str) -> Result<bool> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.context("/proc/self/status has no CapEff")?;
    Ok(u64::from_str_radix(effective.trim(), 16)? & (1 << SYS_RESOURCE) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_is_read_from_the_mask() -> Result<()> {
        assert!(may_use_resources("Name:\tx\nCapEff:\t000001ffffffffff\n")?);
        assert!(!may_use_resources("Name:\tx\nCapEff:\t000001fffeffffff\n")?);
        assert!(may_use_resources("Name:\tx\n").is_err());
        Ok(())
    }
}
