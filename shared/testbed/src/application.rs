//! What the testbed needs to know of the application in a container.
//!
//! Many namespaces run at the same time, each with clusters of its own: whatever an application keeps, it keeps by
//! namespace, and nothing of one namespace may reach another.

use std::collections::BTreeMap;

use ballast_core::guard::Start;

/// A container of the application that is about to run, or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the member: what the guard's `--member` says.
    pub member: String,
    /// uid of the cluster: what the guard's `--cluster-uid` says.
    pub cluster_uid: String,
    /// uid of the pod.
    pub pod: String,
    /// Name of the pod.
    pub pod_name: String,
    /// Address of the pod: an IP address that no other pod of the testbed has had.
    pub address: String,
    /// Identity of the disk: uid of the claim, or of the pod with ephemeral storage.
    pub disk: String,
    /// Image of the main container.
    pub image: String,
    /// The command that the guard runs: what follows its `--`.
    pub command: Vec<String>,
    /// The configuration files as the application reads them, by file name: from the ConfigMaps that must exist, with
    /// the pod's host, member and zone filled in, and with what a ticket appends.
    pub config: BTreeMap<String, String>,
    /// Zone of the node.
    pub zone: String,
}

/// The application under test, as the fake kubelet runs it. Calls do not block, and come from several threads.
pub trait Application: Send + Sync + 'static {
    /// The main container starts, after the guard decided that it may, in this way.
    ///
    /// # Errors
    /// The message with which the container exits at once, with code 1.
    fn start(&self, process: &Process, how: &Start) -> Result<(), String>;

    /// The container of the pod with this uid has been stopped, or its pod is gone.
    fn stop(&self, pod: &str);

    /// Whether the pod with this uid is ready for clients: the readiness probe.
    fn ready(&self, pod: &str) -> bool;

    /// uids of pods whose application has ended by itself since this was last asked.
    fn ended(&self) -> Vec<String>;

    /// The disk with this identity does not exist any more.
    fn disk_removed(&self, _disk: &str) {}
}
