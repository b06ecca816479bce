//! The parts of the cluster, built from pinned Go modules and kept outside the checkout, keyed by what they are made of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::progress::Progress;
use crate::{command, layout, prerequisites};

/// Programs that are built together, from one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// API server, controller manager, scheduler, kubelet, kube-proxy and kubectl.
    Kubernetes,
    /// containerd, its shim and ctr.
    Containerd,
    /// runc.
    Runc,
    /// etcd, etcdctl and etcdutl of the 3.6 line; also the control plane's own etcd.
    Etcd36,
    /// etcd, etcdctl and etcdutl of the 3.5 line.
    Etcd35,
    /// Network plugins.
    Cni,
    /// The cluster's name server.
    CoreDns,
    /// Helm.
    Helm,
}

/// What `lab up` needs; Helm is built when it is first used.
pub(crate) const CLUSTER: [Family; 7] = [
    Family::Etcd36,
    Family::Kubernetes,
    Family::Containerd,
    Family::Runc,
    Family::Cni,
    Family::CoreDns,
    Family::Etcd35,
];

macro_rules! module {
    ($folder:literal) => {
        [
            ("go.mod", include_str!(concat!("../tools/", $folder, "/go.mod"))),
            ("go.sum", include_str!(concat!("../tools/", $folder, "/go.sum"))),
        ]
    };
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Containerd => "containerd",
            Self::Runc => "runc",
            Self::Etcd36 => "etcd-3.6",
            Self::Etcd35 => "etcd-3.5",
            Self::Cni => "cni",
            Self::CoreDns => "coredns",
            Self::Helm => "helm",
        }
    }

    /// About how long a first build takes on two cores.
    fn usual_time(self) -> &'static str {
        match self {
            Self::Kubernetes => "8 min",
            Self::Containerd | Self::Runc | Self::Etcd36 | Self::Etcd35 | Self::CoreDns => "1 min",
            Self::Cni => "10 s",
            Self::Helm => "3 min",
        }
    }

    /// The module's files. They are part of this program, so it does not need its checkout to run.
    fn sources(self) -> Vec<(&'static str, &'static str)> {
        let module = match self {
            Self::Kubernetes => module!("kubernetes"),
            Self::Containerd => module!("containerd"),
            Self::Runc => module!("runc"),
            Self::Etcd36 => module!("etcd-3.6"),
            Self::Etcd35 => module!("etcd-3.5"),
            Self::Cni => module!("cni"),
            Self::CoreDns => module!("coredns"),
            Self::Helm => module!("helm"),
        };
        let mut sources = module.to_vec();
        if self == Self::CoreDns {
            sources.push(("main.go", include_str!("../tools/coredns/main.go")));
        }
        sources
    }

    /// The pinned version of a module this family requires.
    pub(crate) fn version(self) -> Result<&'static str> {
        let module = match self {
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::Containerd => "github.com/containerd/containerd/v2",
            Self::Runc => "github.com/opencontainers/runc",
            Self::Etcd36 | Self::Etcd35 => "go.etcd.io/etcd/server/v3",
            Self::Cni => "github.com/containernetworking/plugins",
            Self::CoreDns => "github.com/coredns/coredns",
            Self::Helm => "helm.sh/helm/v4",
        };
        let (_, text) = self.sources()[0];
        required_version(text, module)
            .with_context(|| format!("go.mod of {} does not require {module}", self.name()))
    }

    /// Arguments of `go` besides the output folder, and whether C is used.
    fn recipe(self) -> Result<(Vec<String>, bool)> {
        let mut ldflags = String::from("-s -w");
        if self == Self::Kubernetes {
            let version = self.version()?;
            let minor = version.split('.').nth(1).context("a Kubernetes version has a minor part")?;
            for (package, value) in [
                ("k8s.io/component-base/version.gitVersion", version),
                ("k8s.io/component-base/version.gitMajor", "1"),
                ("k8s.io/component-base/version.gitMinor", minor),
                ("k8s.io/component-base/version.gitTreeState", "clean"),
                ("k8s.io/client-go/pkg/version.gitVersion", version),
            ] {
                ldflags = format!("{ldflags} -X {package}={value}");
            }
        }
        let mut arguments = vec!["build".into(), "-trimpath".into(), "-buildvcs=false".into()];
        match self {
            Self::Containerd => arguments.extend(["-tags".into(), "no_btrfs no_zfs no_devmapper".into()]),
            Self::Runc => arguments.extend(["-tags".into(), "seccomp".into()]),
            _ => {}
        }
        arguments.extend(["-ldflags".into(), ldflags]);
        Ok((arguments, self == Self::Runc))
    }

    fn key(self) -> Result<String> {
        let mut hash = Sha256::new();
        for (file, text) in self.sources() {
            hash.update(format!("{file} {}\n{text}", text.len()));
        }
        hash.update(format!("{:?} {}", self.recipe()?, std::env::consts::ARCH));
        Ok(hex(&hash.finalize())[..12].to_string())
    }

    /// The folder of this family's programs, built or not.
    pub(crate) fn folder(self) -> Result<PathBuf> {
        Ok(layout::cache()?.join(format!("tools/{}-{}", self.name(), self.key()?)))
    }

    /// A program of this family.
    pub(crate) fn program(self, name: &str) -> Result<PathBuf> {
        Ok(self.folder()?.join(name))
    }

    fn build(self) -> Result<()> {
        let folder = self.folder()?;
        let staging = layout::cache()?.join(format!("tools/.{}-{}", self.name(), std::process::id()));
        let sources = staging.join("source");
        fs::create_dir_all(&sources).with_context(|| format!("cannot make {}", sources.display()))?;
        for (file, text) in self.sources() {
            fs::write(sources.join(file), text)?;
        }
        let (arguments, c) = self.recipe()?;
        let output = if self == Self::CoreDns { staging.join("coredns") } else { staging.join("") };
        let built = command::output(
            Command::new("go")
                .args(arguments)
                .arg("-o")
                .arg(&output)
                .arg(if self == Self::CoreDns { "." } else { "tool" })
                .current_dir(&sources)
                .env("CGO_ENABLED", if c { "1" } else { "0" })
                .env("GOFLAGS", "-mod=readonly")
                .env("GOWORK", "off"),
        );
        if let Err(error) = built {
            fs::remove_dir_all(&staging)?;
            return Err(error.context(format!("cannot build {}", self.name())));
        }
        if matches!(self, Self::Etcd36 | Self::Etcd35) {
            fs::rename(staging.join("server"), staging.join("etcd"))?;
        }
        fs::remove_dir_all(&sources)?;
        fs::rename(&staging, &folder)
            .with_context(|| format!("cannot move the build to {}", folder.display()))
    }
}

/// Builds what is not built yet.
pub(crate) fn ensure(families: &[Family], progress: &Progress) -> Result<()> {
    let mut missing = Vec::new();
    for family in families {
        if !family.folder()?.exists() {
            missing.push(*family);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    prerequisites::check_build()?;
    let folder = layout::cache()?.join("tools");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Two commands at once would build the same twice, on the same cores.
    let lock = fs::File::create(folder.join(".lock"))?;
    progress.during("waiting for another build of the tools", || lock.lock())?;
    let count = missing.len();
    for (index, family) in missing.into_iter().enumerate() {
        if family.folder()?.exists() {
            continue;
        }
        let what = format!(
            "building {} {} ({} of {count}; a first build takes about {})",
            family.name(),
            family.version()?,
            index + 1,
            family.usual_time()
        );
        progress.say(&what);
        // Go itself uses all cores, so one family after the other.
        progress.during(&what, || family.build())?;
    }
    Ok(())
}

/// The folder of one family, by its name, built if it is not.
pub fn folder_of(name: &str, progress: &Progress) -> Result<PathBuf> {
    let known = [&CLUSTER[..], &[Family::Helm]].concat();
    let Some(family) = known.iter().find(|family| family.name() == name) else {
        let names: Vec<_> = known.iter().map(|family| family.name()).collect();
        bail!("there is no family of tools {name}; there are {}", names.join(", "));
    };
    ensure(&[*family], progress)?;
    family.folder()
}

/// The folders of all families, for `PATH`.
pub(crate) fn folders(families: &[Family]) -> Result<Vec<PathBuf>> {
    families.iter().map(|family| family.folder()).collect()
}

/// What the cluster's tools are made of, in one word: a running lab of other tools is not up to date.
pub(crate) fn fingerprint() -> Result<String> {
    let keys: Result<Vec<_>> = CLUSTER.iter().map(|family| family.key()).collect();
    Ok(keys?.join("-"))
}

/// Compiles the pause program every pod's namespaces hang on.
pub(crate) fn pause(destination: &Path) -> Result<()> {
    prerequisites::check_build()?;
    let source = destination.with_extension("c");
    fs::write(&source, include_str!("../tools/pause/pause.c"))?;
    let built = command::output(
        Command::new("gcc").args(["-Os", "-static", "-s", "-o"]).arg(destination).arg(&source),
    );
    fs::remove_file(&source)?;
    built.map(drop).context("cannot compile the pause program")
}

fn required_version(go_mod: &'static str, module: &str) -> Option<&'static str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().filter(|word| *word != "require");
        (words.next()? == module).then(|| words.next()).flatten().filter(|version| version.starts_with('v'))
    })
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Fails with the way out when a family's programs are not there.
pub(crate) fn demand(family: Family) -> Result<()> {
    if !family.folder()?.exists() {
        bail!("{} is not built: run `lab tools`", family.name());
    }
    Ok(())
}

/// A program that is built already.
///
/// # Errors
/// One line that says how to build it.
pub fn built(family: Family, program: &str) -> Result<PathBuf> {
    demand(family)?;
    family.program(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_pins_its_version() -> Result<()> {
        for family in CLUSTER.into_iter().chain([Family::Helm]) {
            assert!(family.version()?.starts_with('v'), "{family:?}");
        }
        assert!(Family::Etcd35.version()?.starts_with("v3.5."));
        assert!(Family::Etcd36.version()?.starts_with("v3.6."));
        Ok(())
    }

    #[test]
    fn keys_differ_between_families_and_are_stable() -> Result<()> {
        assert_eq!(Family::Cni.key()?, Family::Cni.key()?);
        assert_ne!(Family::Etcd35.key()?, Family::Etcd36.key()?);
        Ok(())
    }
}
