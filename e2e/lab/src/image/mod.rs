//! Container images without Docker: what is in them, and the archives `ctr` imports.

mod archive;
mod base;
mod binary;
mod kafka;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

pub use base::{BUSYBOX, base, etcd};
pub(crate) use base::{NEEDED_FIRST, PAUSE};
pub use binary::from_binaries;
pub use kafka::{kafka, kafka_jars};

use crate::{layout, tools};

/// An image to be: its name, what its processes start with, and its files.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Full name with tag, such as `localhost/busybox:1`.
    pub name: String,
    /// Program that is always run; arguments of the pod follow it.
    pub entrypoint: Vec<String>,
    /// What is run when the pod names nothing.
    pub command: Vec<String>,
    /// `user[:group]`, numbers or names; empty for root.
    pub user: String,
    /// Working directory; empty for `/`.
    pub working_directory: String,
    /// Files, in the order they are written.
    pub entries: Vec<Entry>,
}

/// One file of an image.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Absolute path in the image.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// User and group that own it.
    pub owner: u32,
    /// What it is.
    pub content: Content,
}

/// What a file of an image is.
#[derive(Clone, Debug)]
pub enum Content {
    /// The content of a file of this machine.
    File(PathBuf),
    /// The given bytes.
    Bytes(Vec<u8>),
    /// An empty directory.
    Directory,
    /// A symbolic link.
    Link(String),
}

impl Entry {
    /// A program: a file of this machine, readable and executable by all.
    pub fn program(path: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), mode: 0o755, owner: 0, content: Content::File(file.into()) }
    }

    /// A text file, readable by all.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o644, owner: 0, content: Content::Bytes(text.into().into_bytes()) }
    }

    /// A directory.
    pub fn directory(path: impl Into<String>, mode: u32) -> Self {
        Self { path: path.into(), mode, owner: 0, content: Content::Directory }
    }

    /// A symbolic link.
    pub fn link(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self { path: path.into(), mode: 0o777, owner: 0, content: Content::Link(target.into()) }
    }
}

/// Builds an image's archive in the cache, unless it is there already, and gives its path.
pub fn build(image: &Image) -> Result<PathBuf> {
    let file_name: String =
        image.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let folder = layout::cache()?.join("images");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{file_name}-{}.tar", key(image)?));
    if !path.exists() {
        archive::write(image, &path)?;
        remove_older(&folder, &file_name, &path)?;
    }
    Ok(path)
}

/// What an image is made of, in one word. Files count by path, size and time: reading them all would take longer.
fn key(image: &Image) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(format!("{image:?}"));
    for entry in &image.entries {
        if let Content::File(path) = &entry.content {
            let data = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
            hash.update(format!("{} {} {}", data.size(), data.mtime(), data.mtime_nsec()));
        }
    }
    Ok(tools::hex(&hash.finalize())[..12].to_string())
}

/// An image that is rebuilt all day must not fill the disk.
fn remove_older(folder: &Path, file_name: &str, newest: &Path) -> Result<()> {
    let prefix = format!("{file_name}-");
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let key = name.to_str().and_then(|n| n.strip_prefix(&prefix)).and_then(|n| n.strip_suffix(".tar"));
        if entry.path() != newest && key.is_some_and(|key| key.len() == 12 && !key.contains('-')) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
