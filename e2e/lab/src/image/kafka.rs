//! Kafka's image: its jars from Maven, and a Java of this machine cut down to what they need.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::base::identity;
use super::binary::libraries_beside;
use super::{Entry, Image, build};
use crate::{Progress, command, layout};

/// The modules that Kafka needs. `java.desktop` is log4j's: it uses its beans.
const MODULES: &str = "java.base,java.desktop,java.logging,java.management,java.naming,java.security.jgss,\
java.security.sasl,java.sql,java.xml,java.net.http,jdk.unsupported,jdk.management,jdk.crypto.ec,jdk.zipfs";
/// Where the Java of Kafka's own image lies.
const JAVA_HOME: &str = "/opt/java/openjdk";

/// Builds Kafka's image of this version, as its makers name it and with the jars where theirs has them, and gives its name and
/// archive. `checkout` holds the script that fetches the jars.
pub fn kafka(version: &str, checkout: &Path, progress: &Progress) -> Result<(String, PathBuf)> {
    progress.during(&format!("fetching Kafka {version}"), || {
        let script = checkout.join("scripts/kafka.sh");
        command::output(Command::new(script).arg(version).env("BALLAST_CACHE", layout::cache()?))
    })?;
    let jars = kafka_jars(version)?;
    let java = progress.during("making a Java for Kafka", java)?;
    let name = format!("docker.io/apache/kafka:{version}");
    let mut entries = identity();
    entries.push(Entry::directory("/opt/kafka/libs", 0o755));
    for jar in files_below(&jars)? {
        let file_name = jar.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        entries.push(Entry { mode: 0o644, ..Entry::program(format!("/opt/kafka/libs/{file_name}"), jar) });
    }
    let mut libraries = std::collections::BTreeMap::new();
    for file in files_below(&java)? {
        let relative = file.strip_prefix(&java).context("a file below the folder")?.display().to_string();
        let program =
            relative.starts_with("bin/") || relative.ends_with("jspawnhelper") || relative.contains(".so");
        if program {
            libraries.extend(libraries_beside(&file, &[java.join("lib"), java.join("lib/server")])?);
        }
        let mode = if program { 0o755 } else { 0o644 };
        entries.push(Entry { mode, ..Entry::program(format!("{JAVA_HOME}/{relative}"), file) });
    }
    // What belongs to Java itself is in the image already.
    let own = |path: &String| path.starts_with(&*java.to_string_lossy());
    let foreign = libraries.into_iter().filter(|(path, _)| !own(path));
    entries.extend(foreign.map(|(path, file)| Entry::program(path, file)));
    entries.push(Entry::link("/usr/local/bin/java", format!("{JAVA_HOME}/bin/java")));
    let path = build(&Image { name: name.clone(), user: "1000".into(), entries, ..Image::default() })?;
    Ok((name, path))
}

/// The folder with Kafka's jars of this version.
///
/// # Errors
/// One line that says how to fetch them, if they are not there.
pub fn kafka_jars(version: &str) -> Result<PathBuf> {
    let jars = layout::cache()?.join(format!("tools/kafka-{version}/lib"));
    if !jars.join(format!("kafka_2.13-{version}.jar")).exists() {
        bail!("Kafka {version} is not in {}: run scripts/kafka.sh {version}", jars.display());
    }
    Ok(jars)
}

/// A Java run-time image, made once for each version of the machine's Java.
fn java() -> Result<PathBuf> {
    let version = command::run("jlink", ["--version"])?;
    let folder = layout::cache()?.join(format!("tools/jre-kafka-{}", version.trim()));
    if folder.exists() {
        return Ok(folder);
    }
    let fresh = folder.with_extension("new");
    if fresh.exists() {
        fs::remove_dir_all(&fresh)?;
    }
    let arguments =
        ["--add-modules", MODULES, "--strip-debug", "--no-header-files", "--no-man-pages", "--compress=2"];
    command::output(Command::new("jlink").args(arguments).arg("--output").arg(&fresh))?;
    if !fresh.join("bin/java").is_file() {
        bail!("jlink made no java in {}", fresh.display());
    }
    fs::rename(&fresh, &folder)?;
    Ok(folder)
}

/// All regular files below a folder, in order.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            // Java links files of one module to those of another: a link counts as what it leads to.
            let into = if fs::metadata(entry.path())?.is_dir() { &mut folders } else { &mut files };
            into.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
