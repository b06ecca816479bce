//! What every operator needs to know about where it runs.

/// Defaults that come from how the operator was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The DNS domain of the Kubernetes cluster, for instance `cluster.local`.
    pub cluster_domain: String,
    /// The operator's own image: init containers of application pods use it.
    pub operator_image: String,
    /// `imagePullPolicy` of those init containers, if not Kubernetes' default.
    pub operator_pull_policy: Option<String>,
    /// The namespace that the operator runs in; `None`: it is not known, or it runs outside of Kubernetes.
    pub operator_namespace: Option<String>,
}
