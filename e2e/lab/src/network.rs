//! The lab's network: a bridge in the control plane's namespace, one cable to each node, own pod ranges, and no way out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::command::run;
use crate::layout::{CONTROL_PLANE, CONTROL_PLANE_ADDRESS};
use crate::node::Node;
use crate::{layout, netns};

/// Range of cluster IPs of Services.
pub(crate) const SERVICES: &str = "10.96.0.0/16";
/// Range all pods' addresses are from.
pub(crate) const PODS: &str = "10.244.0.0/16";
/// The cluster's name server.
pub(crate) const DNS: &str = "10.96.0.10";

/// Says that `ip netns` made its mount for us, so that it goes with us.
fn netns_mount_marker() -> std::path::PathBuf {
    layout::state("made-netns-mount")
}

/// Makes the namespaces, the bridge, the cables and the routes.
pub(crate) fn create(nodes: &[Node]) -> Result<()> {
    if !crate::mount::all()?.iter().any(|m| m.target == Path::new("/run/netns")) {
        fs::write(netns_mount_marker(), "")?;
    }
    run("ip", ["netns", "add", CONTROL_PLANE])?;
    let center = |text: &str| ip(CONTROL_PLANE, text);
    center("link set lo up")?;
    center("link add br0 type bridge")?;
    center(&format!("addr add {CONTROL_PLANE_ADDRESS}/24 dev br0"))?;
    center("link set br0 up")?;
    for node in nodes {
        let (namespace, cable) = (node.namespace(), node.cable());
        run("ip", ["netns", "add", &namespace])?;
        run(
            "ip",
            format!("link add {cable} netns {CONTROL_PLANE} type veth peer name eth0 netns {namespace}")
                .split(' '),
        )?;
        center(&format!("link set {cable} master br0 up"))?;
        ip(&namespace, "link set lo up")?;
        ip(&namespace, &format!("addr add {}/24 dev eth0", node.address()))?;
        ip(&namespace, "link set eth0 up")?;
        // Services need a route before kube-proxy rewrites them. Everything unknown fails at once instead of hanging,
        // so a pull from a registry ends in ErrImagePull within a moment.
        ip(&namespace, &format!("route add {SERVICES} via {CONTROL_PLANE_ADDRESS}"))?;
        ip(&namespace, "route add unreachable default")?;
        center(&format!("route add {} via {}", node.pods(), node.address()))?;
        netns::within(&namespace, || {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot enable forwarding")?;
            // So that kube-proxy also sees traffic between two pods of one node. Absent without module br_netfilter.
            let _ = fs::write("/proc/sys/net/bridge/bridge-nf-call-iptables", "1");
            Ok(())
        })?;
    }
    for node in nodes {
        for other in nodes.iter().filter(|other| other.name != node.name) {
            ip(&node.namespace(), &format!("route add {} via {}", other.pods(), other.address()))?;
        }
    }
    Ok(())
}

/// Plugs a node's cable in or out.
pub(crate) fn set_cable(node: &Node, plugged: bool) -> Result<()> {
    ip(CONTROL_PLANE, &format!("link set {} {}", node.cable(), if plugged { "up" } else { "down" }))
}

/// Whether a node's cable is plugged in.
pub(crate) fn cable_plugged(node: &Node) -> Result<bool> {
    let text = run(
        "nsenter",
        [&format!("--net=/run/netns/{CONTROL_PLANE}"), "ip", "-o", "link", "show", &node.cable()],
    )?;
    Ok(text
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'))
        .is_some_and(|(flags, _)| flags.split(',').any(|flag| flag == "UP")))
}

fn ip(namespace: &str, arguments: &str) -> Result<()> {
    run("ip", ["-n", namespace].into_iter().chain(arguments.split(' '))).map(drop)
}

/// The lab's namespaces that exist.
pub(crate) fn namespaces() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("ballast-"))
        .collect()
}

/// Deletes the lab's namespaces, and the mount that `ip netns` made for the first of them.
pub(crate) fn remove() -> Result<()> {
    for name in namespaces() {
        run("ip", ["netns", "delete", &name])?;
    }
    let unused = fs::read_dir("/run/netns").is_ok_and(|mut entries| entries.next().is_none());
    if unused && netns_mount_marker().exists() {
        crate::mount::unmount_below(Path::new("/run/netns"))?;
    }
    Ok(())
}
