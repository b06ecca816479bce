//! What the world needs to know of the application in a container.

use ballast_core::guard::decide::Start;

/// A container of the application that is about to run, or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name of the member.
    pub member: String,
    /// uid of the pod.
    pub pod: String,
    /// Address of the pod.
    pub address: String,
    /// Identity of the disk: uid of the claim, or of the pod with ephemeral storage.
    pub disk: String,
    /// Image.
    pub image: String,
    /// Name of the ConfigMap with the configuration.
    pub config: String,
}

/// The application.
pub trait Application {
    /// A container starts; the guard allowed it in this way. An error is the message with which it ends at once.
    fn start(&mut self, process: &Process, how: &Start) -> Result<(), String>;
    /// The container of the pod with this uid has stopped.
    fn stop(&mut self, pod: &str);
    /// Whether the pod with this uid is ready for clients.
    fn ready(&self, pod: &str) -> bool;
    /// Pods whose application has ended by itself since it was last asked.
    fn ended(&mut self) -> Vec<String>;
}
