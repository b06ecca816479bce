//! etcd, API server and controller manager: real ones, on loopback, for one test binary.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ballast_lab::certificate::{self, Authority, Subject};
use ballast_lab::{Family, built};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::net::TcpStream;

use crate::ports::Reserved;
use crate::process::{Folder, Running, mortal};

/// How long the API server may take to be ready: it takes 3 s on an idle machine.
const START_DEADLINE: Duration = Duration::from_mins(2);

/// Controllers that act on what an operator makes. Claims are bound by the testbed itself, and nodes never die by
/// themselves.
const CONTROLLERS: [&str; 6] = [
    "statefulset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "disruption-controller",
    "job-controller",
    "persistentvolumeclaim-protection-controller",
];

/// A Kubernetes without nodes. Everything ends and is removed when it is dropped, or when this process ends.
#[derive(Debug)]
pub struct ControlPlane {
    // In this order: who uses another ends before it.
    controllers: Running,
    api: Running,
    etcd: Running,
    kubeconfig: PathBuf,
    _ports: [Reserved; 3],
    folder: Folder,
}

impl ControlPlane {
    /// Starts one and waits until the API server is ready and serves these resource types, which the garbage collector
    /// then knows from the beginning: of those that come later it learns only every 30 s.
    ///
    /// # Errors
    /// A line that names `lab tools` when the programs are not built; the end of its log when one does not run.
    pub async fn start(types: &[CustomResourceDefinition]) -> Result<Self> {
        let etcd_program = built(Family::Etcd36, "etcd")?;
        let api_program = built(Family::Kubernetes, "kube-apiserver")?;
        let controllers_program = built(Family::Kubernetes, "kube-controller-manager")?;
        let folder = Folder::new()?;
        let root = folder.path();
        let ports = [Reserved::new()?, Reserved::new()?, Reserved::new()?];
        let [etcd_port, peer_port, api_port] = ports.each_ref().map(Reserved::port);

        let mut etcd = start_etcd(&etcd_program, root, etcd_port, peer_port)?;
        write_pki(root, api_port)?;
        let deadline = Instant::now() + START_DEADLINE;
        until(deadline, "etcd", &mut [&mut etcd], async || {
            TcpStream::connect(("127.0.0.1", etcd_port)).await.map(drop).map_err(Into::into)
        })
        .await?;
        let mut api = start_api(&api_program, root, etcd_port, api_port)?;
        let kubeconfig = root.join("admin.yaml");
        let client = client(&kubeconfig).await?;
        until(deadline, "the API server", &mut [&mut api, &mut etcd], async || {
            let request = http::Request::get("/readyz").body(Vec::new())?;
            client.request_text(request).await.map(drop).map_err(Into::into)
        })
        .await?;
        for definition in types {
            let created = Api::all(client.clone()).create(&PostParams::default(), definition).await;
            created.with_context(|| format!("cannot install {}", definition.name_any()))?;
        }
        for definition in types {
            let path = path_of(definition)?;
            until(deadline, &path, &mut [&mut api, &mut etcd], async || {
                let request = http::Request::get(&path).body(Vec::new())?;
                client.request_text(request).await.map(drop).map_err(Into::into)
            })
            .await?;
        }
        let controllers = start_controllers(&controllers_program, root)?;
        Ok(Self { controllers, api, etcd, kubeconfig, _ports: ports, folder })
    }

    /// A client of the administrator, for the runtime that calls this: connections belong to a runtime.
    pub async fn client(&self) -> Result<Client> {
        client(&self.kubeconfig).await
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The folder of everything that this control plane keeps; gone when it is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Process ids by name, to measure them.
    pub fn processes(&self) -> [(&'static str, u32); 3] {
        [
            ("etcd", self.etcd.pid()),
            ("kube-apiserver", self.api.pid()),
            ("kube-controller-manager", self.controllers.pid()),
        ]
    }

    /// Fails with the end of its log when one of them has ended.
    pub fn must_run(&mut self) -> Result<()> {
        [&mut self.etcd, &mut self.api, &mut self.controllers].into_iter().try_for_each(Running::must_run)
    }
}

/// A client that does nothing by itself: no time limits, since watches are silent for long, and no second attempts,
/// since what is sent twice arrives twice.
pub async fn client(kubeconfig: &Path) -> Result<Client> {
    // It can only be there already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Kubeconfig::read_from(kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    config.write_timeout = None;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

/// Asks again and again until `ready` says yes; at once an error when one of `parts` has ended.
async fn until(
    deadline: Instant,
    what: &str,
    parts: &mut [&mut Running],
    ready: impl AsyncFn() -> Result<()>,
) -> Result<()> {
    loop {
        let Err(error) = ready().await else { return Ok(()) };
        for part in parts.iter_mut() {
            part.must_run()?;
        }
        if Instant::now() >= deadline {
            let log = parts.first().map(|part| part.last_lines()).unwrap_or_default();
            bail!("{what} is not ready after {} s: {error:#}\n{log}", START_DEADLINE.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// Where all resources of a type are listed.
fn path_of(definition: &CustomResourceDefinition) -> Result<String> {
    let spec = &definition.spec;
    let version = spec.versions.iter().find(|version| version.served);
    let version = version.with_context(|| format!("{} serves no version", definition.name_any()))?;
    Ok(format!("/apis/{}/{}/{}", spec.group, version.name, spec.names.plural))
}

fn flag(name: &str, value: impl AsRef<Path>) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(value.as_ref());
    flag
}

/// Less collecting of garbage: these processes live for minutes, and share two cores with what is tested.
const GOGC: (&str, &str) = ("GOGC", "400");

fn start_etcd(program: &Path, root: &Path, port: u16, peer_port: u16) -> Result<Running> {
    let url = format!("http://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let mut command = mortal(program);
    command.args([
        flag("data-dir", root.join("etcd")),
        flag("listen-client-urls", &url),
        flag("advertise-client-urls", &url),
        flag("listen-peer-urls", &peer),
        flag("initial-advertise-peer-urls", &peer),
        flag("initial-cluster", format!("default={peer}")),
        flag("socket-reuse-port", "true"),
        // Nothing of it outlives the test, so its disk need not be waited for.
        "--unsafe-no-fsync".into(),
        flag("log-level", "warn"),
    ]);
    command.env(GOGC.0, GOGC.1);
    Running::start("etcd", command, root)
}

fn start_api(program: &Path, root: &Path, etcd_port: u16, port: u16) -> Result<Running> {
    let mut command = mortal(program);
    command.args([
        flag("etcd-servers", format!("http://127.0.0.1:{etcd_port}")),
        flag("bind-address", "127.0.0.1"),
        flag("advertise-address", "127.0.0.1"),
        flag("secure-port", port.to_string()),
        flag("permit-port-sharing", "true"),
        // There is nobody who would use the Service kubernetes.
        flag("endpoint-reconciler-type", "none"),
        flag("tls-cert-file", root.join("apiserver.crt")),
        flag("tls-private-key-file", root.join("apiserver.key")),
        flag("client-ca-file", root.join("ca.crt")),
        flag("authorization-mode", "RBAC"),
        flag("service-account-issuer", "https://kubernetes.default.svc"),
        flag("service-account-key-file", root.join("service-account.pub")),
        flag("service-account-signing-key-file", root.join("service-account.key")),
        flag("service-cluster-ip-range", "10.96.0.0/12"),
        // Hundreds of operators and clusters at a time come from one user.
        flag("enable-priority-and-fairness", "false"),
        flag("max-requests-inflight", "4000"),
        flag("max-mutating-requests-inflight", "2000"),
        flag("profiling", "false"),
    ]);
    command.env(GOGC.0, GOGC.1);
    Running::start("kube-apiserver", command, root)
}

fn start_controllers(program: &Path, root: &Path) -> Result<Running> {
    let mut command = mortal(program);
    command.args([
        flag("kubeconfig", root.join("controllers.yaml")),
        flag("controllers", CONTROLLERS.join(",")),
        flag("root-ca-file", root.join("ca.crt")),
        flag("leader-elect", "false"),
        flag("secure-port", "0"),
        flag("kube-api-qps", "2000"),
        flag("kube-api-burst", "4000"),
        flag("concurrent-statefulset-syncs", "20"),
        flag("concurrent-gc-syncs", "20"),
        flag("concurrent-namespace-syncs", "10"),
        flag("profiling", "false"),
    ]);
    command.env(GOGC.0, GOGC.1);
    Running::start("kube-controller-manager", command, root)
}

fn write_pki(root: &Path, api_port: u16) -> Result<()> {
    let write = |name: &str, text: &str| {
        let file = root.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    let authority = Authority::new("ballast-testbed")?;
    write("ca.crt", &authority.issued().certificate)?;
    let (key, public) = certificate::service_account_key()?;
    write("service-account.key", &key)?;
    write("service-account.pub", &public)?;
    let names = vec!["127.0.0.1".into(), "localhost".into(), "kubernetes.default.svc".into()];
    for (name, user, names) in [
        ("apiserver", "kube-apiserver", names),
        ("admin", "testbed-admin", vec![]),
        // All controllers as one user, which may do anything: their rights are not what is tested.
        ("controllers", "system:kube-controller-manager", vec![]),
    ] {
        let group = Some("system:masters".to_owned()).filter(|_| names.is_empty());
        let issued = authority.issue(&Subject { user: user.into(), group, names })?;
        write(&format!("{name}.crt"), &issued.certificate)?;
        write(&format!("{name}.key"), &issued.key)?;
        let server = SocketAddr::from(([127, 0, 0, 1], api_port));
        let cluster =
            json!({"server": format!("https://{server}"), "certificate-authority": root.join("ca.crt")});
        let user = json!({
            "client-certificate": root.join(format!("{name}.crt")),
            "client-key": root.join(format!("{name}.key")),
        });
        write(&format!("{name}.yaml"), &certificate::kubeconfig("ballast-testbed", name, &cluster, &user)?)?;
    }
    Ok(())
}
