//! Writes a docker-archive: one layer, a configuration and a manifest. The same input gives the same bytes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::{Content, Entry, Image};
use crate::command::run;
use crate::tools::hex;

/// Writes the archive of an image; it appears under its name only when it is complete.
pub(super) fn write(image: &Image, path: &Path) -> Result<()> {
    let folder = path.parent().context("an archive lies in a folder")?;
    let layer = tempfile::Builder::new().prefix(".layer-").tempfile_in(folder)?;
    write_layer(&image.entries, layer.as_file())?;
    // The coreutils program is many times faster than an unoptimised build of this one.
    let sum = run("sha256sum", [layer.path()])?;
    let digest = sum.split_whitespace().next().context("sha256sum prints a digest")?;

    let archive = tempfile::Builder::new().prefix(".image-").tempfile_in(folder)?;
    write_archive(image, layer.path(), digest, archive.as_file())?;
    archive.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

fn write_archive(image: &Image, layer: &Path, digest: &str, output: &File) -> Result<()> {
    let config = serde_json::to_vec(&configuration(image, digest))?;
    let config_name = format!("{}.json", hex(&Sha256::digest(&config)));
    let layer_name = format!("{digest}.tar");
    let manifest = json!([{"Config": config_name, "RepoTags": [image.name], "Layers": [layer_name]}]);

    let mut builder = Builder::new(BufWriter::new(output));
    append(&mut builder, &config_name, 0o644, 0, config.len() as u64, config.as_slice())?;
    append(&mut builder, &layer_name, 0o644, 0, fs::metadata(layer)?.len(), File::open(layer)?)?;
    let manifest = serde_json::to_vec(&manifest)?;
    append(&mut builder, "manifest.json", 0o644, 0, manifest.len() as u64, manifest.as_slice())?;
    builder.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

fn configuration(image: &Image, digest: &str) -> Value {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        // containerd refuses an image that does not say what machine it is for.
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Entrypoint": image.entrypoint,
            "Cmd": image.command,
            "User": image.user,
            "WorkingDir": image.working_directory,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
    })
}

fn write_layer(entries: &[Entry], output: &File) -> Result<()> {
    let mut builder = Builder::new(BufWriter::new(output));
    let mut present = BTreeSet::new();
    for entry in entries {
        let path = entry.path.trim_matches('/');
        for parent in missing_parents(path, &present) {
            directory(&mut builder, &parent, 0o755, 0)?;
            present.insert(parent);
        }
        match &entry.content {
            Content::File(file) => {
                let data = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
                let size = data.metadata()?.len();
                append(&mut builder, path, entry.mode, entry.owner, size, data)?;
            }
            Content::Bytes(bytes) => {
                append(&mut builder, path, entry.mode, entry.owner, bytes.len() as u64, Cursor::new(bytes))?;
            }
            Content::Directory => directory(&mut builder, path, entry.mode, entry.owner)?,
            Content::Link(target) => {
                let mut header = header(EntryType::Symlink, entry.mode, entry.owner, 0);
                builder.append_link(&mut header, path, target)?;
            }
        }
        present.insert(path.to_string());
    }
    builder.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

/// Directories above a path that no entry has made, the highest first.
fn missing_parents(path: &str, present: &BTreeSet<String>) -> Vec<String> {
    path.match_indices('/')
        .map(|(index, _)| path[..index].to_string())
        .filter(|parent| !present.contains(parent))
        .collect()
}

fn directory(builder: &mut Builder<impl std::io::Write>, path: &str, mode: u32, owner: u32) -> Result<()> {
    let mut header = header(EntryType::Directory, mode, owner, 0);
    Ok(builder.append_data(&mut header, format!("{path}/"), std::io::empty())?)
}

fn append(
    builder: &mut Builder<impl std::io::Write>,
    path: &str,
    mode: u32,
    owner: u32,
    size: u64,
    data: impl Read,
) -> Result<()> {
    let mut header = header(EntryType::Regular, mode, owner, size);
    Ok(builder.append_data(&mut header, path, data)?)
}

fn header(kind: EntryType, mode: u32, owner: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(owner.into());
    header.set_gid(owner.into());
    header.set_size(size);
    // No clock: the same content has the same digest.
    header.set_mtime(0);
    header
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn example() -> Image {
        Image {
            name: "localhost/example:1".into(),
            entrypoint: vec!["/bin/x".into()],
            user: "65532".into(),
            entries: vec![
                Entry::directory("/tmp", 0o1777),
                Entry::text("/etc/a/b", "hello"),
                Entry::link("/bin/x", "y"),
            ],
            ..Image::default()
        }
    }

    fn files(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut all = BTreeMap::new();
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            all.insert(entry.path()?.to_string_lossy().into_owned(), content);
        }
        Ok(all)
    }

    #[test]
    fn the_manifest_names_a_configuration_and_a_layer_with_its_digest() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("image.tar");
        write(&example(), &path)?;
        let all = files(&fs::read(&path)?)?;
        let manifest: Value = serde_json::from_slice(&all["manifest.json"])?;
        assert_eq!(manifest[0]["RepoTags"][0], "localhost/example:1");
        let config: Value = serde_json::from_slice(&all[manifest[0]["Config"].as_str().context("a name")?])?;
        assert_eq!(config["config"]["User"], "65532");
        assert_eq!(config["os"], "linux");
        let layer = &all[manifest[0]["Layers"][0].as_str().context("a name")?];
        assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", hex(&Sha256::digest(layer))));
        let inside = files(layer)?;
        assert_eq!(inside["etc/a/b"], b"hello");
        assert!(
            inside.contains_key("etc/") && inside.contains_key("tmp/") && inside.contains_key("bin/x"),
            "{inside:?}"
        );
        Ok(())
    }

    #[test]
    fn the_same_image_has_the_same_bytes() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        write(&example(), &a)?;
        write(&example(), &b)?;
        assert_eq!(fs::read(a)?, fs::read(b)?);
        Ok(())
    }
}
