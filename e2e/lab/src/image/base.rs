//! The images every lab has.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Entry, Image, build};
use crate::tools::Family;
use crate::{command, layout, tools};

/// Holds the namespaces of every pod.
pub(crate) const PAUSE: &str = "localhost/pause:3.10";
/// The cluster's name server.
const COREDNS: &str = "localhost/coredns:1";
/// A shell and its friends, for clients of tests. Nothing under test needs it.
pub const BUSYBOX: &str = "localhost/busybox:1";

/// How many of the base images a node needs before it is Ready: pause and the name server.
pub(crate) const NEEDED_FIRST: usize = 2;

/// Builds the images every lab has, unless they are in the cache, and gives name and archive of each; first those of
/// [`NEEDED_FIRST`].
pub fn base() -> Result<Vec<(String, PathBuf)>> {
    [pause()?, coredns()?, busybox()?, etcd(Family::Etcd36)?, etcd(Family::Etcd35)?]
        .into_iter()
        .map(|image| Ok((image.name.clone(), build(&image)?)))
        .collect()
}

fn pause() -> Result<Image> {
    let program = layout::cache()?.join("images/pause");
    if !program.exists() {
        fs::create_dir_all(program.parent().context("a program lies in a folder")?)?;
        tools::pause(&program)?;
    }
    Ok(Image {
        name: PAUSE.into(),
        entrypoint: vec!["/pause".into()],
        entries: vec![Entry::program("/pause", program)],
        ..Image::default()
    })
}

fn coredns() -> Result<Image> {
    Ok(Image {
        name: COREDNS.into(),
        entrypoint: vec!["/coredns".into()],
        entries: vec![Entry::program("/coredns", Family::CoreDns.program("coredns")?)],
        ..Image::default()
    })
}

fn busybox() -> Result<Image> {
    let program = ["/bin/busybox", "/usr/bin/busybox"]
        .map(Path::new)
        .into_iter()
        .find(|path| path.exists())
        .context("busybox is missing: run scripts/prerequisites.sh")?;
    let applets = command::run("busybox", ["--list"])?;
    let mut entries = identity();
    entries.push(Entry::program("/bin/busybox", program));
    entries.extend(
        applets
            .lines()
            .filter(|applet| *applet != "busybox")
            .map(|applet| Entry::link(format!("/bin/{applet}"), "busybox")),
    );
    Ok(Image { name: BUSYBOX.into(), command: vec!["sh".into()], entries, ..Image::default() })
}

/// etcd as its makers publish it: the same name, the same three programs in the same place, and no shell.
pub fn etcd(family: Family) -> Result<Image> {
    let mut entries = identity();
    entries.push(Entry::directory("/var/etcd", 0o755));
    entries.push(Entry::directory("/var/lib/etcd", 0o755));
    for program in ["etcd", "etcdctl", "etcdutl"] {
        entries.push(Entry::program(format!("/usr/local/bin/{program}"), family.program(program)?));
    }
    Ok(Image {
        name: format!("gcr.io/etcd-development/etcd:{}", family.version()?),
        command: vec!["/usr/local/bin/etcd".into()],
        working_directory: "/var/lib/etcd/".into(),
        entries,
        ..Image::default()
    })
}

/// Users, groups, name lookup and a folder for temporary files: what a minimal public base image has.
pub(super) fn identity() -> Vec<Entry> {
    vec![
        Entry::directory("/tmp", 0o1777),
        Entry::text(
            "/etc/passwd",
            "root:x:0:0:root:/root:/sbin/nologin\n\
             nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n\
             nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
        ),
        Entry::text("/etc/group", "root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n"),
        Entry::text("/etc/nsswitch.conf", "hosts: files dns\n"),
        Entry { owner: 65532, ..Entry::directory("/home/nonroot", 0o700) },
    ]
}
