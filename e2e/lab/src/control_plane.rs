//! etcd, API server, controller manager, scheduler and volume provisioner, all in the control plane's namespace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::layout::{self, CONTROL_PLANE, CONTROL_PLANE_ADDRESS, state};
use crate::process::{self, Daemon};
use crate::tools::Family;
use crate::wait::{Seen, until_blocking};
use crate::{cgroup, command, netns, network, pki};

const GROUP: &str = "system/control-plane";
const PROVISIONER: &str = "provisioner";
/// Names of the control plane's processes without which there is no cluster.
pub(crate) const PARTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

fn start(name: &str, program: PathBuf, arguments: Vec<OsString>) -> Result<()> {
    Daemon {
        name: name.into(),
        namespace: CONTROL_PLANE.into(),
        cgroup: GROUP.into(),
        program,
        arguments,
        path: Vec::new(),
    }
    .start()
    .map(drop)
}

fn flag(name: &str, value: impl AsRef<Path>) -> OsString {
    format!("--{name}={}", value.as_ref().display()).into()
}

/// Starts etcd and the API server.
pub(crate) fn start_api() -> Result<()> {
    cgroup::create(GROUP)?;
    start_etcd()?;
    start_api_server()
}

fn start_etcd() -> Result<()> {
    start(
        "etcd",
        Family::Etcd36.program("etcd")?,
        vec![
            flag("data-dir", layout::data("etcd")),
            flag("listen-client-urls", "http://127.0.0.1:2379"),
            flag("advertise-client-urls", "http://127.0.0.1:2379"),
            flag("listen-peer-urls", "http://127.0.0.1:2380"),
            // Nothing of this cluster outlives it, so its disk need not be waited for.
            "--unsafe-no-fsync".into(),
            flag("log-level", "warn"),
        ],
    )
}

/// Starts the API server.
pub(crate) fn start_api_server() -> Result<()> {
    let policy = state("audit-policy.yaml");
    std::fs::write(&policy, include_str!("../manifests/audit-policy.yaml"))?;
    start(
        "kube-apiserver",
        Family::Kubernetes.program("kube-apiserver")?,
        vec![
            flag("etcd-servers", "http://127.0.0.1:2379"),
            flag("bind-address", "0.0.0.0"),
            flag("advertise-address", CONTROL_PLANE_ADDRESS),
            flag("secure-port", "6443"),
            flag("tls-cert-file", pki::file("apiserver.crt")),
            flag("tls-private-key-file", pki::file("apiserver.key")),
            flag("client-ca-file", pki::file("ca.crt")),
            flag("authorization-mode", "Node,RBAC"),
            flag("service-account-issuer", "https://kubernetes.default.svc"),
            flag("service-account-key-file", pki::file("service-account.pub")),
            flag("service-account-signing-key-file", pki::file("service-account.key")),
            flag("service-cluster-ip-range", network::SERVICES),
            flag("allow-privileged", "true"),
            flag("enable-admission-plugins", "NodeRestriction"),
            flag("kubelet-client-certificate", pki::file("apiserver-kubelet.crt")),
            flag("kubelet-client-key", pki::file("apiserver-kubelet.key")),
            flag("kubelet-certificate-authority", pki::file("ca.crt")),
            flag("kubelet-preferred-address-types", "InternalIP"),
            // Pods of a lost node are replaced after 10 s instead of 300 s, so that a test of it takes no coffee break.
            flag("default-not-ready-toleration-seconds", "10"),
            flag("default-unreachable-toleration-seconds", "10"),
            flag("audit-policy-file", policy),
            flag("audit-log-path", layout::audit_log()),
            flag("audit-log-maxsize", "100"),
            flag("audit-log-maxbackup", "1"),
            flag("event-ttl", "2h"),
            flag("profiling", "false"),
        ],
    )
}

/// Whether the API server says it is ready.
pub(crate) fn api_ready() -> Result<()> {
    kubectl(&["get", "--raw", "/readyz", "--request-timeout=2s"]).map(drop)
}

/// Waits until the API server serves.
pub(crate) fn await_api() -> Result<()> {
    until_blocking(Duration::from_secs(90), "the API server", || {
        for name in &PARTS[..2] {
            if process::running(name).is_none() {
                return Ok(Seen::NotYet(format!("{name} has ended, see {}", layout::log(name).display())));
            }
        }
        // Until it is ready it lists all that is not, which says no more than this.
        Ok(if api_ready().is_ok() { Seen::Met(()) } else { Seen::NotYet("it is not ready".into()) })
    })
}

/// Starts the controller manager and the scheduler.
pub(crate) fn start_controllers() -> Result<()> {
    start(
        "kube-controller-manager",
        Family::Kubernetes.program("kube-controller-manager")?,
        vec![
            flag("kubeconfig", pki::kubeconfig("controller-manager")),
            flag("root-ca-file", pki::file("ca.crt")),
            flag("service-account-private-key-file", pki::file("service-account.key")),
            flag("use-service-account-credentials", "true"),
            flag("leader-elect", "false"),
            flag("allocate-node-cidrs", "false"),
            flag("service-cluster-ip-range", network::SERVICES),
            flag("bind-address", "127.0.0.1"),
            // A lost node is noticed after 16 s instead of 50 s; kubelets report every 3 to 4 s.
            flag("node-monitor-grace-period", "16s"),
            flag("node-monitor-period", "2s"),
            flag("kube-api-qps", "100"),
            flag("kube-api-burst", "200"),
        ],
    )?;
    start(
        "kube-scheduler",
        Family::Kubernetes.program("kube-scheduler")?,
        vec![
            flag("kubeconfig", pki::kubeconfig("scheduler")),
            flag("leader-elect", "false"),
            flag("bind-address", "127.0.0.1"),
        ],
    )
}

/// Starts the volume provisioner: this program once more, in the background. One that runs stays, unless its program
/// has been built anew since.
pub(crate) fn ensure_provisioner() -> Result<()> {
    if let Some(running) = process::running(PROVISIONER) {
        let program = std::fs::read_link(format!("/proc/{}/exe", running.pid))?;
        if !program.to_string_lossy().ends_with(" (deleted)") {
            return Ok(());
        }
        running.kill();
    }
    start(PROVISIONER, lab_program()?, vec!["provision".into()])
}

/// The `lab` program: this one, or the one beside it when the library is used by another.
fn lab_program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    if own.file_stem().is_some_and(|name| name == "lab") {
        return Ok(own);
    }
    // Programs of tests lie one folder below.
    own.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("lab"))
        .find(|program| program.is_file())
        .with_context(|| format!("no lab program beside {}: run `cargo build -p ballast-lab`", own.display()))
}

/// Creates the name server and the storage classes.
pub(crate) fn apply_manifests() -> Result<()> {
    for (name, text) in [
        ("storage.yaml", include_str!("../manifests/storage.yaml")),
        ("coredns.yaml", include_str!("../manifests/coredns.yaml")),
    ] {
        let file = state(name);
        std::fs::write(&file, text)?;
        kubectl(&["apply", "--server-side", "-f", &file.to_string_lossy()])?;
    }
    Ok(())
}

/// Runs kubectl as administrator and gives its output.
pub(crate) fn kubectl(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(Family::Kubernetes.program("kubectl")?);
    command.arg("--kubeconfig").arg(layout::kubeconfig()).args(arguments);
    netns::within(CONTROL_PLANE, || command::output(&mut command))
}
