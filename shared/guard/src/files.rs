//! Files that are either whole and on disk, or not there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `path` through a temporary file beside it, and syncs the file and its directory.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(content))
}

/// As [`write`], with the content written by `content`, which may also set the permissions.
pub(crate) fn replace(path: &Path, content: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut temporary = OsString::from(path);
    temporary.push(".tmp");
    let mut file = File::create(&temporary)?;
    content(&mut file)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_parent(path)
}

/// Removes `path`, if it is there, and syncs its directory.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Syncs a directory. File systems that cannot sync directories say so with `EINVAL`; those order by themselves.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        other => other,
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_dir(parent.unwrap_or_else(|| Path::new(".")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn writes_over_leftovers_and_removes() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.json");
        fs::write(temp.path().join("a.json.tmp"), "half a file from a crash").unwrap();
        write(&path, b"1").unwrap();
        write(&path, b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failure_leaves_the_old_content() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        write(&path, b"old").unwrap();
        assert!(
            replace(&path, |file| file.write_all(b"ne").and_then(|()| Err(io::Error::other("full"))))
                .is_err()
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}
