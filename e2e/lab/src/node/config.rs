//! Configuration files of a node's three daemons.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::Node;
use crate::tools::Family;
use crate::{image, network, pki};

/// Writes a node's configuration files. `nodes` is how many share this machine.
pub(super) fn write(node: &Node, nodes: usize) -> Result<()> {
    let state = node.state();
    fs::create_dir_all(state.join("cni"))?;
    fs::create_dir_all(node.data().join("containerd"))?;
    let store = |file: &str, text: String| {
        fs::write(state.join(file), text).with_context(|| format!("cannot write {file} of {}", node.name))
    };
    store("cni/10-bridge.conflist", cni(node)?)?;
    store("containerd.toml", containerd(node)?)?;
    store("kubelet.yaml", kubelet(node, nodes)?)?;
    store("proxy.yaml", proxy(node)?)?;
    // Pods with dnsPolicy Default get no name server: there is none outside.
    store("resolv.conf", String::new())
}

fn cni(node: &Node) -> Result<String> {
    let config = json!({
        "cniVersion": "1.0.0",
        // The name starts the names of the result files that plugins leave on this machine.
        "name": node.namespace(),
        "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true, "ipam": {
                "type": "host-local", "dataDir": node.state().join("ipam"),
                "ranges": [[{"subnet": node.pods()}]], "routes": [{"dst": "0.0.0.0/0"}],
            }},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    Ok(serde_json::to_string_pretty(&config)?)
}

fn containerd(node: &Node) -> Result<String> {
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    Ok(format!(
        r#"version = 3
root = {root}
state = {state}
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = {socket}
[ttrpc]
  address = {ttrpc}
# No node outlives its machine, so its records need not wait for the disk.
[plugins."io.containerd.metadata.v1.bolt"]
  no_sync = true
[plugins."io.containerd.shim.v1.manager"]
  socket_dir = {shims}
# Its socket has one fixed path, for which the three would fight.
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{pause}"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  # Without CAP_SYS_RESOURCE (in a container, in some virtual machines) no sandbox would start.
  restrict_oom_score_adj = true
  # Pod namespaces go with the rest of the state.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
      BinaryName = {runc}
      Root = {runc_state}
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [{cni}]
    conf_dir = {cni_config}
"#,
        root = quoted(&node.data().join("containerd")),
        state = quoted(&node.state().join("containerd")),
        socket = quoted(&node.socket()),
        ttrpc = quoted(&node.state().join("containerd.sock.ttrpc")),
        pause = image::PAUSE,
        runc = quoted(&Family::Runc.program("runc")?),
        runc_state = quoted(&node.state().join("containerd/runc")),
        // A short path: a socket's name has room for 108 bytes.
        shims = quoted(&node.state().join("s")),
        cni = quoted(&Family::Cni.folder()?),
        cni_config = quoted(&node.state().join("cni")),
    ))
}

fn kubelet(node: &Node, nodes: usize) -> Result<String> {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": crate::cgroup::node_root(&node.name),
        "enforceNodeAllocatable": ["none"],
        "failSwapOn": false,
        // Lowering the own score needs CAP_SYS_RESOURCE, and the lab must not survive the machine's real work.
        "oomScoreAdj": 0,
        "containerRuntimeEndpoint": format!("unix://{}", node.socket().display()),
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": pki::file("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": pki::file(&format!("{}.crt", node.name)),
        "tlsPrivateKeyFile": pki::file(&format!("{}.key", node.name)),
        "clusterDNS": [network::DNS],
        "clusterDomain": "cluster.local",
        "resolvConf": node.state().join("resolv.conf"),
        "volumePluginDir": node.data().join("kubelet/plugins"),
        "podLogsDir": node.data().join("pods"),
        // Quicker than the defaults (10 s and 40 s), so that a lost node is noticed within node-monitor-grace-period.
        "nodeStatusUpdateFrequency": "4s",
        "nodeLeaseDurationSeconds": 12,
        "serializeImagePulls": false,
        // Each kubelet sees the whole machine; reserving the others' part makes the sum of the nodes true.
        "systemReserved": {"memory": format!("{}Ki", reserved_kib(&fs::read_to_string("/proc/meminfo")?, nodes)?)},
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageMinimumGCAge": "24h",
        "imageGCHighThresholdPercent": 100,
        "maxPods": 100,
    });
    Ok(serde_yaml::to_string(&config)?)
}

fn proxy(node: &Node) -> Result<String> {
    let config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": pki::kubeconfig("proxy")},
        "mode": "iptables",
        "clusterCIDR": network::PODS,
        "hostnameOverride": node.name,
        // The machine's own limits stay as they are.
        "conntrack": {"maxPerCore": 0},
        "oomScoreAdj": 0,
    });
    Ok(serde_yaml::to_string(&config)?)
}

/// The part of the machine's memory that is not this node's.
fn reserved_kib(meminfo: &str, nodes: usize) -> Result<u64> {
    let total: u64 = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.split_whitespace().next())
        .context("/proc/meminfo has no MemTotal")?
        .parse()?;
    Ok(total - total / u64::try_from(nodes.max(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_nodes_share_the_machine() -> Result<()> {
        assert_eq!(reserved_kib("MemTotal:       24000 kB\nMemFree: 1 kB\n", 3)?, 16000);
        Ok(())
    }
}
