//! Evidence: the files that prove that a data directory holds data.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A path relative to the data directory in which `*` stands for any part of one segment.
///
/// As in a shell, a `*` at the beginning of a segment does not match a leading dot. Symbolic links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

impl Pattern {
    /// Reads a pattern such as `member/wal/*.wal`. The error is a phrase for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let segments: Vec<String> = text.split('/').map(str::to_owned).collect();
        if segments.iter().any(|segment| matches!(segment.as_str(), "" | "." | ".." | "**")) {
            return Err(format!("the pattern '{text}' is not a plain relative path"));
        }
        Ok(Self(segments))
    }

    /// Whether at least one regular file that is not empty matches below `root`.
    ///
    /// What does not exist is no match; any other error is returned, even if another file matches.
    pub fn found(&self, root: &Path) -> io::Result<bool> {
        search(root, &self.0)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

fn search(dir: &Path, segments: &[String]) -> io::Result<bool> {
    let Some((segment, rest)) = segments.split_first() else { return Ok(false) };
    let mut found = false;
    for path in candidates(dir, segment)? {
        let Some(metadata) = if_present(fs::symlink_metadata(&path))? else { continue };
        if rest.is_empty() {
            found |= metadata.is_file() && metadata.len() > 0;
        } else if metadata.is_dir() {
            found |= search(&path, rest)?;
        }
    }
    Ok(found)
}

fn candidates(dir: &Path, segment: &str) -> io::Result<Vec<PathBuf>> {
    if !segment.contains('*') {
        return Ok(vec![dir.join(segment)]);
    }
    let mut paths = Vec::new();
    for entry in if_present(fs::read_dir(dir))?.into_iter().flatten() {
        let name = entry?.file_name();
        if matches(segment.as_bytes(), name.as_encoded_bytes()) {
            paths.push(dir.join(name));
        }
    }
    Ok(paths)
}

/// `None` for what is certainly not there.
pub(crate) fn if_present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if pattern.first() == Some(&b'*') && name.first() == Some(&b'.') {
        return false;
    }
    matches_rest(pattern, name)
}

fn matches_rest(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| matches_rest(rest, &name[skip..])),
        Some((byte, rest)) => {
            name.split_first().is_some_and(|(head, tail)| head == byte && matches_rest(rest, tail))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::os::unix::fs::symlink;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("*.wal", "0-0.wal", true)]
    #[case("*.wal", ".wal", false)]
    #[case("*.wal", ".tmp.wal", false)]
    #[case("*.wal", "0.wal.broken", false)]
    #[case("*.wal", "0.tmp", false)]
    #[case("a*b*c", "abc", true)]
    #[case("a*b*c", "a-b-b-c", true)]
    #[case("a*b*c", "acb", false)]
    #[case("*", "x", true)]
    #[case("db", "db", true)]
    #[case("db", "db2", false)]
    #[case(".*", ".x", true)]
    fn one_segment(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected);
    }

    #[rstest]
    fn only_plain_relative_paths(#[values("", "/a", "a/", "a//b", "../a", "a/./b", "a/**/b")] text: &str
    ) {
        assert!(Pattern::parse(text).is_err());
    }

    #[rstest]
    #[case("member/wal/*.wal", true)]
    #[case("member/*/db", true)]
    #[case("*/*/*", true)]
    #[case("member/snap/empty", false)]
    #[case("member/snap", false)]
    #[case("member/snap/link", false)]
    #[case("linked/*.wal", false)]
    #[case("member/snap/db/below", false)]
    #[case("member/snap/db/*", false)]
    #[case("gone/*/x", false)]
    fn on_disk(#[case] pattern: &str, #[case] expected: bool) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::create_dir_all(root.join("member/wal")).unwrap();
        fs::create_dir_all(root.join("member/snap")).unwrap();
        fs::write(root.join("member/wal/0.wal"), "w").unwrap();
        fs::write(root.join("member/snap/db"), "d").unwrap();
        fs::write(root.join("member/snap/empty"), "").unwrap();
        symlink(root.join("member/snap/db"), root.join("member/snap/link")).unwrap();
        symlink(root.join("member/wal"), root.join("linked")).unwrap();
        let pattern = Pattern::parse(pattern).unwrap();
        assert_eq!(pattern.found(root).unwrap(), expected);
        assert!(!pattern.found(&root.join("absent")).unwrap());
    }

    #[test]
    fn other_errors_are_not_absence() {
        let temp = tempfile::tempdir().unwrap();
        symlink("loop", temp.path().join("loop")).unwrap();
        let pattern = Pattern::parse("*").unwrap();
        assert!(pattern.found(&temp.path().join("loop")).is_err());
    }
}
