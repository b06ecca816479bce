//! Images of own programs, with the shared libraries of this machine they are linked to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::base::identity;
use super::{Entry, Image, build};

/// Builds an image of programs of this machine (each with its path in the image) and gives its archive.
pub fn from_binaries(
    name: &str,
    entrypoint: Option<&str>,
    user: &str,
    programs: &[(PathBuf, String)],
) -> Result<PathBuf> {
    let mut entries = identity();
    let mut libraries = BTreeMap::new();
    for (file, destination) in programs {
        ensure!(file.is_file(), "{} is not a file: build it first", file.display());
        libraries.extend(libraries_of(file)?);
        entries.push(Entry::program(destination, file));
    }
    entries.extend(libraries.into_iter().map(|(path, file)| Entry::program(path, file)));
    build(&Image {
        name: name.into(),
        entrypoint: entrypoint.map(Into::into).into_iter().collect(),
        user: user.into(),
        entries,
        ..Image::default()
    })
}

/// The shared libraries of a program: path in the image, and file. None when it is static.
fn libraries_of(program: &Path) -> Result<BTreeMap<String, PathBuf>> {
    libraries_beside(program, &[])
}

/// The same for a program that finds some of them in these folders.
pub(super) fn libraries_beside(program: &Path, folders: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>> {
    let mut ldd = Command::new("ldd");
    if !folders.is_empty() {
        ldd.env("LD_LIBRARY_PATH", std::env::join_paths(folders)?);
    }
    let output = ldd.arg(program).output().context("cannot start ldd")?;
    if !output.status.success() {
        // ldd fails for a static program; and then there is nothing to add.
        return Ok(BTreeMap::new());
    }
    parse(&String::from_utf8_lossy(&output.stdout))
        .with_context(|| format!("{} lacks a shared library", program.display()))?
        .into_iter()
        .map(|path| {
            let file = std::fs::canonicalize(&path).with_context(|| format!("cannot read {path}"))?;
            Ok((path, file))
        })
        .collect()
}

/// Absolute paths in the output of ldd. The kernel's own library has none.
fn parse(output: &str) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for line in output.lines() {
        ensure!(!line.contains("not found"), "{}", line.trim());
        if let Some(path) = line.split_whitespace().find(|word| word.starts_with('/')) {
            paths.push(path.to_string());
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found() -> Result<()> {
        let output = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                      \tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(parse(output)?, ["/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib64/ld-linux-x86-64.so.2"]);
        assert_eq!(parse("\tstatically linked\n")?, Vec::<String>::new());
        assert!(parse("\tlibx.so => not found\n").is_err());
        Ok(())
    }
}
