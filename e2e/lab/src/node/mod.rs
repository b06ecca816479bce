//! One node: its names and addresses, and its containerd, kubelet and kube-proxy.

mod config;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::process::Daemon;
use crate::tools::{self, Family};
use crate::wait::{Seen, until_blocking};
use crate::{cgroup, command, layout, mount, pki, process};

/// A node of the lab.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Node {
    /// Name in the cluster: n1, n2, …
    pub name: String,
    /// Its zone, as in the label `topology.kubernetes.io/zone`.
    pub zone: String,
    number: u8,
}

impl Node {
    pub(crate) fn new(number: u8, zone: &str) -> Self {
        Self { name: format!("n{number}"), zone: zone.into(), number }
    }

    /// Address other machines of the lab reach it at.
    pub fn address(&self) -> String {
        format!("10.99.0.{}", 10 + self.number)
    }

    /// Name of its network namespace.
    pub fn namespace(&self) -> String {
        format!("ballast-{}", self.name)
    }

    /// The control plane's end of its cable.
    pub(crate) fn cable(&self) -> String {
        format!("v{}", self.number)
    }

    /// Range of its pods' addresses.
    pub(crate) fn pods(&self) -> String {
        format!("10.244.{}.0/24", self.number)
    }

    pub(crate) fn state(&self) -> PathBuf {
        layout::state(format!("nodes/{}", self.name))
    }

    pub(crate) fn data(&self) -> PathBuf {
        layout::data(format!("nodes/{}", self.name))
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.state().join("containerd.sock")
    }

    fn system_group(&self) -> String {
        format!("system/{}", self.name)
    }

    fn pod_group(&self) -> String {
        format!("nodes/{}", self.name)
    }

    fn daemon_names(&self) -> [String; 3] {
        ["containerd", "kubelet", "kube-proxy"].map(|part| format!("{part}-{}", self.name))
    }

    /// Whether all its daemons run.
    pub(crate) fn running(&self) -> bool {
        self.daemon_names().iter().all(|name| process::running(name).is_some())
    }

    /// Writes its configuration and starts its containerd.
    pub(crate) fn start_containerd(&self, nodes: usize) -> Result<()> {
        config::write(self, nodes)?;
        cgroup::create(&self.system_group())?;
        cgroup::create(&self.pod_group())?;
        self.daemon(
            "containerd",
            Family::Containerd,
            ["--config".into(), self.state().join("containerd.toml").into()],
        )
    }

    /// Waits for its containerd to answer.
    pub(crate) fn await_containerd(&self) -> Result<()> {
        let what = format!("containerd of {}", self.name);
        until_blocking(Duration::from_mins(1), &what, || {
            if process::running(&format!("containerd-{}", self.name)).is_none() {
                return Ok(Seen::NotYet(format!(
                    "it has ended, see {}",
                    layout::log(&format!("containerd-{}", self.name)).display()
                )));
            }
            self.ctr(&["version"]).map(|_| Seen::Met(()))
        })
    }

    /// Starts its kubelet and kube-proxy.
    pub(crate) fn start_kubelet(&self) -> Result<()> {
        let state = self.state();
        let argument =
            |name: &str, value: &Path| -> OsString { format!("--{name}={}", value.display()).into() };
        self.daemon(
            "kubelet",
            Family::Kubernetes,
            [
                argument("config", &state.join("kubelet.yaml")),
                argument("kubeconfig", &pki::kubeconfig(&self.name)),
                argument("root-dir", &self.data().join("kubelet")),
                argument("cert-dir", &state),
                format!("--hostname-override={}", self.name).into(),
                format!("--node-ip={}", self.address()).into(),
                format!(
                    "--node-labels=topology.kubernetes.io/region=lab,topology.kubernetes.io/zone={}",
                    self.zone
                )
                .into(),
                "--v=1".into(),
            ],
        )?;
        self.daemon("kube-proxy", Family::Kubernetes, [argument("config", &state.join("proxy.yaml"))])
    }

    fn daemon(&self, program: &str, family: Family, arguments: impl Into<Vec<OsString>>) -> Result<()> {
        Daemon {
            name: format!("{program}-{}", self.name),
            namespace: self.namespace(),
            cgroup: self.system_group(),
            program: family.program(program)?,
            arguments: arguments.into(),
            path: tools::folders(&[Family::Containerd, Family::Runc])?,
        }
        .start()
        .map(drop)
    }

    /// Imports an image archive.
    pub(crate) fn import(&self, archive: &Path) -> Result<()> {
        let archive = archive.to_string_lossy();
        self.ctr(&["--namespace", "k8s.io", "images", "import", "--local=true", &archive])
            .map(drop)
            .map_err(|error| error.context(format!("cannot import {archive} into {}", self.name)))
    }

    fn ctr(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(Family::Containerd.program("ctr")?);
        command.arg("--address").arg(self.socket()).args(arguments);
        command::output(&mut command)
    }

    /// Ends all its processes at once, as when its power is lost: daemons, shims and containers, with no word to anyone.
    /// What a reboot would clear (mounts, run state, control groups) goes, what is on its disks stays.
    pub(crate) fn power_off(&self) -> Result<()> {
        for name in self.daemon_names() {
            process::forget(&name)?;
        }
        // The daemons first, or they would start again what the second line ends.
        cgroup::kill(&self.system_group())?;
        cgroup::kill(&self.pod_group())?;
        mount::unmount_below(&self.state())?;
        mount::unmount_below(&self.data())?;
        mount::remove_tree(&self.state().join("containerd"))?;
        mount::remove_tree(&self.state().join("s"))?;
        mount::remove_tree(&self.state().join("ipam"))?;
        cgroup::remove(&self.system_group())?;
        cgroup::remove(&self.pod_group())
    }

    /// Starts all its daemons again.
    pub(crate) fn power_on(&self, nodes: usize) -> Result<()> {
        self.start_containerd(nodes)?;
        self.await_containerd()?;
        self.start_kubelet()
    }
}

/// Makes one node per zone.
pub(crate) fn in_zones(zones: &[String]) -> Result<Vec<Node>> {
    if zones.is_empty() || zones.len() > 9 {
        return Err(anyhow!("a lab has one to nine zones, not {}", zones.len()));
    }
    if let Some(zone) = zones
        .iter()
        .find(|zone| zone.is_empty() || !zone.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    {
        return Err(anyhow!("{zone:?} is no zone: use letters, digits and dashes"));
    }
    (1u8..).zip(zones).map(|(number, zone)| Ok(Node::new(number, zone))).collect()
}

/// Does the same on all nodes at once.
pub(crate) fn on_all(nodes: &[Node], work: impl Fn(&Node) -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let all: Vec<_> = nodes.iter().map(|node| scope.spawn(|| work(node))).collect();
        all.into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("the work on a node panicked"))?)
    })
}

/// Forgets what the network plugins and kubelets leave in places all clusters of a machine share.
pub(crate) fn remove_shared_leftovers() -> Result<()> {
    for file in shared_leftovers() {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// Result files of network plugins, and links to logs of containers that are gone.
pub(crate) fn shared_leftovers() -> Vec<PathBuf> {
    let entries =
        |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let results = entries("/var/lib/cni/results")
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ballast-n")));
    let links = entries("/var/log/containers")
        .filter(|path| fs::read_link(path).is_ok_and(|target| target.starts_with(layout::DATA)));
    results.chain(links).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_gets_a_node() -> Result<()> {
        let nodes = in_zones(&["a".into(), "b".into()])?;
        assert_eq!(
            nodes.iter().map(|n| (n.name.as_str(), n.zone.as_str())).collect::<Vec<_>>(),
            [("n1", "a"), ("n2", "b")]
        );
        assert_eq!(nodes[1].address(), "10.99.0.12");
        assert!(in_zones(&[]).is_err());
        assert!(in_zones(&["a b".into()]).is_err());
        Ok(())
    }
}
