//! A control plane with its kubelets, for all tests of one binary.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Namespace, Node, ServiceAccount};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::kubelet::{Kubelets, PROVISIONER, STORAGE_CLASS, follow, places};
use crate::{Application, ControlPlane};

/// Everything that the tests of one binary share. Each test works in a namespace of its own.
pub struct Testbed {
    kubelets: Arc<Kubelets>,
    client: Client,
    namespaces: AtomicU32,
    plane: ControlPlane,
    handle: Handle,
    /// Connections and kubelets live here, whichever test began them.
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for Testbed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Testbed").field("plane", &self.plane).finish_non_exhaustive()
    }
}

impl Testbed {
    /// Starts a control plane with these resource types, three nodes, a storage class, and kubelets that run
    /// `application`.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub fn start(application: Arc<dyn Application>, types: &[CustomResourceDefinition]) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (plane, client, kubelets) = runtime.block_on(async {
            let plane = ControlPlane::start(types).await?;
            let client = plane.client().await?;
            furnish(&client).await.context("cannot make nodes and storage class")?;
            let kubelets = Arc::new(Kubelets::new(client.clone(), application)?);
            tokio::spawn(follow(kubelets.clone()));
            Ok::<_, anyhow::Error>((plane, client, kubelets))
        })?;
        let (handle, runtime) = (runtime.handle().clone(), Some(runtime));
        Ok(Self { kubelets, client, namespaces: AtomicU32::new(0), plane, handle, runtime })
    }

    /// Runs a test on the runtime of the testbed. Tests of several threads may do so at once.
    pub fn block_on<F: Future>(&self, test: F) -> F::Output {
        self.handle.block_on(test)
    }

    /// Where proxies and watches of a test run.
    pub fn runtime(&self) -> &Handle {
        &self.handle
    }

    /// A client of the administrator, for what runs in [`Self::block_on`].
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The control plane.
    pub fn control_plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// The kubelets: what people and hardware do to pods and disks.
    pub fn kubelets(&self) -> &Kubelets {
        &self.kubelets
    }

    /// A new namespace, in which pods must meet Pod Security *restricted*.
    pub async fn namespace(&self, about: &str) -> Result<String> {
        let number = self.namespaces.fetch_add(1, Ordering::Relaxed);
        let name = format!("{about}-{number}");
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name, "labels": {
            "pod-security.kubernetes.io/enforce": "restricted"}}}))?;
        let create = PostParams::default();
        Api::all(self.client.clone())
            .create(&create, &namespace)
            .await
            .with_context(|| format!("cannot make namespace {name}"))?;
        // Pods are refused without it, and the controller that would make it does not run.
        let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": "default"}}))?;
        Api::namespaced(self.client.clone(), &name).create(&create, &account).await?;
        Ok(name)
    }

    /// A test is done with its namespace: everything in it is deleted in the background, so that a long series of tests
    /// does not pile up.
    pub async fn discard(&self, namespace: &str) -> Result<()> {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        namespaces
            .delete(namespace, &DeleteParams::background())
            .await
            .with_context(|| format!("cannot delete namespace {namespace}"))?;
        Ok(())
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping a runtime inside another one panics, and a test may hold the testbed there.
            runtime.shutdown_background();
        }
        if thread::panicking() {
            // Whoever looks for the reason finds it here.
            for complaint in self.kubelets.complaints() {
                let _ =
                    std::io::Write::write_all(&mut std::io::stderr(), format!("{complaint}\n").as_bytes());
            }
        }
    }
}

/// Nodes and the default storage class.
async fn furnish(client: &Client) -> Result<()> {
    let (create, patch) = (PostParams::default(), PatchParams::default());
    let nodes = Api::<Node>::all(client.clone());
    for place in places() {
        let node: Node = serde_json::from_value(json!({"metadata": {"name": place.node, "labels": {
            "kubernetes.io/hostname": place.node, "topology.kubernetes.io/zone": place.zone}}}))?;
        nodes.create(&create, &node).await?;
        let capacity = json!({"cpu": "64", "memory": "256Gi", "pods": "10000"});
        let status = json!({"status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "addresses": [{"type": "InternalIP", "address": place.address}],
            "capacity": capacity, "allocatable": capacity}});
        nodes.patch_status(&place.node, &patch, &Patch::Merge(status)).await?;
        // Every new node is tainted until a controller says that it is there; ours are.
        nodes.patch(&place.node, &patch, &Patch::Merge(json!({"spec": {"taints": null}}))).await?;
    }
    let class: StorageClass = serde_json::from_value(json!({
        "metadata": {"name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true,
    }))?;
    Api::all(client.clone()).create(&create, &class).await?;
    Ok(())
}
