//! The lab as its users see it.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1 as core;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::layout::{self, CONTROL_PLANE};
use crate::node::{self, Node};
use crate::partition::Partition;
use crate::progress::Progress;
use crate::tools::{self, Family};
use crate::wait::{Seen, until};
use crate::{bring_up, control_plane, netns, network, process, teardown};

/// How long a started node may take to be Ready.
const NODE_DEADLINE: Duration = Duration::from_secs(90);

/// A running lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lab {
    pub(crate) nodes: Vec<Node>,
    /// What the running programs were built from.
    pub(crate) tools: String,
    /// Seconds since 1970 when it was started.
    pub(crate) started: u64,
    /// Whether it came up wholly: one that was cut off on the way may lack images, and is made anew.
    #[serde(default)]
    pub(crate) complete: bool,
}

impl Lab {
    /// Brings a lab up with one node per zone, or finds the one that is up. Builds what is missing, cleans up what a
    /// dead lab left, and plugs in and starts what was cut or stopped.
    pub fn up(zones: &[String], progress: &Progress) -> Result<Self> {
        bring_up::up(zones, progress)
    }

    /// The lab of this machine that was brought up before.
    pub fn attach() -> Result<Self> {
        let file = layout::state("lab.json");
        let text = fs::read(&file).context("there is no lab on this machine: run `lab up`")?;
        serde_json::from_slice(&text)
            .with_context(|| format!("{} is damaged: run `lab down`", file.display()))
    }

    /// Takes the lab down and checks that nothing of it is left. Without a lab it cleans up leftovers, if any.
    pub fn down(progress: &Progress) -> Result<()> {
        let _lock = lock(progress)?;
        teardown::down(progress)
    }

    pub(crate) fn new(nodes: Vec<Node>) -> Result<Self> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        Ok(Self { nodes, tools: tools::fingerprint()?, started, complete: false })
    }

    pub(crate) fn save(&self) -> Result<()> {
        Ok(fs::write(layout::state("lab.json"), serde_json::to_vec_pretty(self)?)?)
    }

    /// Moves this process into the control plane's network namespace, from which the API server, the nodes and the pods
    /// are reachable. To be called before any thread is started.
    pub fn enter() -> Result<()> {
        netns::enter_process(CONTROL_PLANE)
    }

    /// The nodes, one per zone.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node by its name.
    pub fn node(&self, name: &str) -> Result<&Node> {
        self.nodes.iter().find(|node| node.name == name).with_context(|| {
            let names: Vec<_> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            format!("there is no node {name}; there are {}", names.join(", "))
        })
    }

    /// Stops a node as when its power is lost: its cable goes dead (unless `keep_link`) and all its processes end at
    /// once. What was written to its volumes stays, synced or not: the machine's own page cache survives.
    pub fn stop_node(&self, name: &str, keep_link: bool) -> Result<()> {
        let node = self.node(name)?;
        if !keep_link {
            // First, so that the kernel's goodbyes on the processes' connections reach nobody.
            network::set_cable(node, false)?;
        }
        node.power_off()
    }

    /// Starts a stopped node again and plugs its cable in. It returns when the daemons run; see [`Lab::await_nodes`].
    pub fn start_node(&self, name: &str) -> Result<()> {
        let node = self.node(name)?;
        network::set_cable(node, true)?;
        if node.running() {
            return Ok(());
        }
        node.power_off()?;
        node.power_on(self.nodes.len())
    }

    /// Whether a node's daemons all run.
    pub fn node_running(&self, name: &str) -> Result<bool> {
        Ok(self.node(name)?.running())
    }

    /// Cuts a node off the network; everything on it goes on running.
    pub fn cut_link(&self, name: &str) -> Result<()> {
        network::set_cable(self.node(name)?, false)
    }

    /// Undoes [`Lab::cut_link`].
    pub fn restore_link(&self, name: &str) -> Result<()> {
        network::set_cable(self.node(name)?, true)
    }

    /// Whether a node's cable is plugged in.
    pub fn link_up(&self, name: &str) -> Result<bool> {
        network::cable_plugged(self.node(name)?)
    }

    /// Cuts the traffic between two groups of addresses of pods, nodes or the control plane.
    pub fn partition(&self, left: &[Ipv4Addr], right: &[Ipv4Addr]) -> Result<Partition> {
        let running = self.nodes.iter().filter(|node| node.running()).cloned().collect();
        Partition::cut(running, left, right)
    }

    /// Ends the API server at once, as a crash would, and starts it again.
    pub async fn restart_api_server(&self) -> Result<()> {
        let running = process::running("kube-apiserver").context("the API server does not run")?;
        running.kill();
        until(Duration::from_secs(10), "the API server to have ended", || async {
            process::reap(running.pid);
            Ok(running.gone().then_some(()))
        })
        .await?;
        control_plane::start_api_server()
    }

    /// Stops a process of the control plane, such as `etcd`, without ending it, as a hung machine would.
    pub fn freeze(&self, name: &str) -> Result<()> {
        process::running(name).with_context(|| format!("{name} does not run"))?.signal(Signal::SIGSTOP)
    }

    /// Undoes [`Lab::freeze`].
    pub fn thaw(&self, name: &str) -> Result<()> {
        process::running(name).with_context(|| format!("{name} does not run"))?.signal(Signal::SIGCONT)
    }

    /// Imports image archives into the named nodes, or all; the nodes work at the same time.
    pub fn load_images(&self, archives: &[PathBuf], only: Option<&str>) -> Result<()> {
        let nodes: Vec<Node> = match only {
            Some(name) => vec![self.node(name)?.clone()],
            None => self.nodes.iter().filter(|node| node.running()).cloned().collect(),
        };
        for archive in archives {
            if !archive.is_file() {
                bail!("there is no image archive {}", archive.display());
            }
        }
        node::on_all(&nodes, |node| archives.iter().try_for_each(|archive| node.import(archive)))
    }

    /// Waits until all nodes are Ready.
    pub async fn await_nodes(&self, client: &Client) -> Result<()> {
        let names: Vec<_> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        await_ready(client, &names, None).await
    }

    /// Waits until a node says it is Ready after `since`. A node that was just stopped counts as Ready for a while.
    pub async fn await_node(&self, client: &Client, name: &str, since: SystemTime) -> Result<()> {
        await_ready(client, &[&self.node(name)?.name], Some(since)).await
    }

    /// A command that runs `program` inside the control plane's network namespace, with `KUBECONFIG` set.
    pub fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{CONTROL_PLANE}")).arg(program.into());
        command.env("KUBECONFIG", layout::kubeconfig());
        command
    }

    /// The real kubectl, as a command of this lab.
    pub fn kubectl(&self) -> Result<Command> {
        tools::demand(Family::Kubernetes)?;
        Ok(self.command(Family::Kubernetes.program("kubectl")?))
    }

    /// The real Helm, as a command of this lab; built first if need be.
    pub fn helm(&self, progress: &Progress) -> Result<Command> {
        tools::ensure(&[Family::Helm], progress)?;
        Ok(self.command(Family::Helm.program("helm")?))
    }
}

async fn await_ready(client: &Client, wanted: &[&str], since: Option<SystemTime>) -> Result<()> {
    // The API counts whole seconds.
    let since =
        since.map(|since| since.duration_since(UNIX_EPOCH)).transpose()?.map_or(0, |since| since.as_secs());
    let api: Api<core::Node> = Api::all(client.clone());
    until(NODE_DEADLINE, &format!("{} to be Ready", wanted.join(", ")), || async {
        let nodes = api.list(&ListParams::default()).await?.items;
        let ready = |name: &&str| {
            nodes
                .iter()
                .filter(|node| node.metadata.name.as_deref() == Some(name))
                .filter_map(ready_condition)
                .any(|said| {
                    said.last_heartbeat_time
                        .as_ref()
                        .is_some_and(|at| at.0.as_second() >= since.cast_signed())
                })
        };
        let missing: Vec<_> = wanted.iter().copied().filter(|name| !ready(name)).collect();
        let found = if missing.is_empty() {
            Seen::Met(())
        } else {
            Seen::NotYet(format!("not Ready: {}", missing.join(", ")))
        };
        Ok(found)
    })
    .await
}

fn ready_condition(node: &core::Node) -> Option<&core::NodeCondition> {
    node.status.as_ref()?.conditions.as_ref()?.iter().find(|c| c.type_ == "Ready" && c.status == "True")
}

/// Whether the node's condition Ready is true.
pub(crate) fn is_ready(node: &core::Node) -> bool {
    ready_condition(node).is_some()
}

/// A client of the lab's API server with the administrator's rights. It works after [`Lab::enter`].
pub async fn client() -> Result<Client> {
    client_from(&layout::kubeconfig()).await
}

pub(crate) async fn client_from(kubeconfig: &Path) -> Result<Client> {
    // Another provider may be installed already; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = Kubeconfig::read_from(kubeconfig)
        .context("cannot read the kubeconfig: is the lab up? Run `lab up`")?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.connect_timeout = Some(Duration::from_secs(5));
    Ok(Client::try_from(config)?)
}

/// Keeps other commands from changing the lab until the file is closed.
pub(crate) fn lock(progress: &Progress) -> Result<fs::File> {
    let file = fs::File::create(layout::LOCK).with_context(|| format!("cannot write {}", layout::LOCK))?;
    progress.during("waiting for another lab command to finish", || file.lock())?;
    Ok(file)
}
