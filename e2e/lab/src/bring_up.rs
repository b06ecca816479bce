//! From nothing to a ready cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;

use crate::lab::{Lab, client, lock};
use crate::layout::{CONTROL_PLANE, data, state};
use crate::node::{self, Node};
use crate::progress::Progress;
use crate::tools::{self, CLUSTER};
use crate::wait::{Seen, until_in};
use crate::{
    command, control_plane, image, netns, network, partition, pki, prerequisites, process, teardown,
};

pub(crate) fn up(zones: &[String], progress: &Progress) -> Result<Lab> {
    prerequisites::check()?;
    let nodes = node::in_zones(zones)?;
    let _lock = lock(progress)?;
    if let Some(lab) = running(&nodes)? {
        repair(&lab, progress)?;
        progress.say("the lab is up");
        return Ok(lab);
    }
    tools::ensure(&CLUSTER, progress)?;
    let images = progress.during("building the base images", image::base)?;
    let images: Vec<PathBuf> = images.into_iter().map(|(_, archive)| archive).collect();
    if teardown::anything_left()? {
        progress.say("cleaning up what an earlier lab left");
        teardown::down(progress)?;
    }
    let mut lab = create(nodes, progress)?;
    start(&lab, &images, progress)
        .context("the lab did not come up; its logs are in /run/ballast-lab/logs until `lab down`")?;
    lab.complete = true;
    lab.save()?;
    progress.say(format!("the lab is up: {} nodes Ready. Try: lab kubectl get nodes", lab.nodes.len()));
    Ok(lab)
}

/// The lab that is up, if it came up wholly, its control plane works and its programs are the current ones.
fn running(nodes: &[Node]) -> Result<Option<Lab>> {
    let Ok(lab) = Lab::attach() else { return Ok(None) };
    if control_plane::PARTS.iter().any(|name| process::running(name).is_none())
        || control_plane::api_ready().is_err()
    {
        return Ok(None);
    }
    if lab.nodes != nodes {
        let zones: Vec<_> = lab.nodes.iter().map(|node| node.zone.as_str()).collect();
        bail!("a lab with zones {} is up: use those, or run `lab down` first", zones.join(","));
    }
    Ok((lab.complete && lab.tools == tools::fingerprint()?).then_some(lab))
}

/// Undoes stopped nodes, cut links and partitions; serves volumes with the current program.
fn repair(lab: &Lab, progress: &Progress) -> Result<()> {
    control_plane::ensure_provisioner()?;
    for node in &lab.nodes {
        if !node.running() || !lab.link_up(&node.name)? {
            progress.say(format!("starting {}", node.name));
            lab.start_node(&node.name)?;
        }
        partition::heal(node)?;
    }
    ready(lab)
}

fn create(nodes: Vec<Node>, progress: &Progress) -> Result<Lab> {
    for folder in ["pids", "logs", "pki", "kubeconfig", "nodes", "volumes"].map(state) {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    for folder in ["volumes", "shared", "nodes"].map(data) {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // Written first, so that whatever follows can be taken down again.
    let lab = Lab::new(nodes)?;
    lab.save()?;
    settings()?;
    pki::create(&lab.nodes)?;
    network::create(&lab.nodes)?;
    progress.say("keys and network are made");
    Ok(lab)
}

/// Settings of the whole machine that three kubelets and databases in pods need. They are only ever raised, and stay.
fn settings() -> Result<()> {
    for (name, least) in [
        ("fs/inotify/max_user_instances", 8192u64),
        ("fs/inotify/max_user_watches", 524_288),
        ("vm/max_map_count", 262_144),
    ] {
        let file = Path::new("/proc/sys").join(name);
        let now: u64 = fs::read_to_string(&file)?.trim().parse()?;
        if now < least {
            fs::write(&file, least.to_string())
                .with_context(|| format!("cannot raise {}", file.display()))?;
        }
    }
    // Volumes mounted later must be seen in pods, and the other way round.
    command::run("mount", ["--make-rshared", "/"]).map(drop)
}

fn start(lab: &Lab, images: &[PathBuf], progress: &Progress) -> Result<()> {
    // What the nodes need to become Ready comes first, the rest beside their becoming so.
    let (first, others) = images.split_at_checked(image::NEEDED_FIRST).context("images are missing")?;
    let import = |images: &[PathBuf]| {
        node::on_all(&lab.nodes, |node| images.iter().try_for_each(|archive| node.import(archive)))
    };
    control_plane::start_api()?;
    for node in &lab.nodes {
        node.start_containerd(lab.nodes.len())?;
    }
    node::on_all(&lab.nodes, Node::await_containerd)?;
    progress.during("importing the first images", || import(first))?;
    progress.say("containerd runs on all nodes");
    control_plane::await_api()?;
    progress.say("the API server is ready");
    control_plane::start_controllers()?;
    for node in &lab.nodes {
        node.start_kubelet()?;
    }
    control_plane::apply_manifests()?;
    control_plane::ensure_provisioner()?;
    progress.say("kubelets, controllers and provisioner run");
    thread::scope(|scope| {
        let importing = scope.spawn(|| progress.during("importing images", || import(others)));
        ready(lab)?;
        importing.join().map_err(|_| anyhow!("the import of images panicked"))?
    })
}

/// Waits for what a first user needs: Ready nodes, names, and the default namespace's identity.
fn ready(lab: &Lab) -> Result<()> {
    netns::block_on(CONTROL_PLANE, || async {
        let client = client().await?;
        lab.await_nodes(&client).await?;
        let dns: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
        until_in(&client, "kube-system", Duration::from_mins(1), "the name server", || async {
            let status = dns.get("coredns").await?.status.unwrap_or_default();
            let ready = usize::try_from(status.number_ready)?;
            let all = lab.nodes.len();
            Ok(if ready >= all { Seen::Met(()) } else { Seen::NotYet(format!("{ready} of {all} are ready")) })
        })
        .await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        until_in(&client, "default", Duration::from_secs(30), "the default service account", || async {
            Ok(accounts.get_opt("default").await?.map(drop))
        })
        .await
    })
}
