//! Room in the volume. A full one is no reason to refuse: the application may manage, or free some. But if it does not,
//! nobody should look for another cause, and nobody should replace the member: the next volume would fill as well.

use std::path::Path;

use nix::sys::statvfs::statvfs;

/// With less than this a volume is full, in bytes. No application starts a file with less.
const LEAST: u64 = 1 << 20;

/// How the remark begins, so that it is recognised.
const REMARK: &str = "VolumeFull";

/// What to say of the volume before the application starts; `None` if there is room or it cannot be found out.
pub(crate) fn remark(volume: &Path, member: &str) -> Option<String> {
    let space = statvfs(volume).ok()?;
    // The fields are as wide as the platform makes them.
    #[allow(clippy::useless_conversion)]
    let free = u64::from(space.blocks_available()) * u64::from(space.fragment_size());
    (free < LEAST)
        .then(|| format!("{REMARK}: the volume of {member} had {free} bytes free when it was started"))
}

/// Whether a container's termination message says that its volume was full: our remark, or the application's own words
/// for `ENOSPC`.
pub fn was_full(message: &str) -> bool {
    message.starts_with(REMARK) || message.to_ascii_lowercase().contains("no space left on device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_with_room_is_not_remarked_on_and_a_missing_one_neither() {
        assert_eq!(remark(Path::new("/proc/self/nothing"), "my-1"), None);
        assert_eq!(remark(&std::env::temp_dir(), "my-1"), None);
    }

    #[test]
    fn a_full_volume_is_remarked_on() {
        // A file system of the kernel that never has room for anybody.
        let said = remark(Path::new("/proc"), "my-1").unwrap_or_default();
        assert_eq!(said, "VolumeFull: the volume of my-1 had 0 bytes free when it was started");
        assert!(was_full(&said));
    }

    #[test]
    fn the_applications_own_words_count_as_well() {
        assert!(was_full(r#"{"level":"fatal","error":"write 0.tmp: no space left on device"}"#));
        assert!(was_full("java.io.IOException: No space left on device"));
        assert!(!was_full("DataLost: the volume of my-1 has no valid data"));
        assert!(!was_full("the log talked of VolumeFull"));
    }
}
