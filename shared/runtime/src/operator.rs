//! What an operator brings to the pipeline.

use std::{fmt::Debug, future::Future, hash::Hash};

use ballast_core::{
    invalid::Invalid,
    object::{Children, Companion, Object},
    plan::{Intent, Plan},
};
use jiff::Timestamp;
use kube::{CustomResourceExt, core::NamespaceResourceScope};
use prometheus_client::registry::Registry;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{companion::CompanionKind, writer::Writer};

/// What a pass knows when the status is computed.
#[derive(Debug)]
pub enum View<'a, O: Operator> {
    /// The resource is wrong; nothing was touched.
    Invalid(&'a [Invalid]),
    /// The resource was planned for.
    Planned {
        /// The resolved specification.
        desired: &'a O::Desired,
        /// What was observed.
        observed: &'a O::Observed,
        /// What was decided.
        plan: &'a Plan<O::Intent>,
        /// The first error of executing it, if any.
        error: Option<&'a str>,
    },
}

/// What a pass has seen and decided.
#[derive(Debug)]
pub struct Seen<'a, O: Operator> {
    /// The resource.
    pub resource: &'a O::Resource,
    /// The resolved specification.
    pub desired: &'a O::Desired,
    /// What was observed.
    pub observed: &'a O::Observed,
    /// What was decided.
    pub plan: &'a Plan<O::Intent>,
}

/// Why an intent was not carried out. The next pass looks again and plans anew.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// Kubernetes refused or did not answer.
    #[error(transparent)]
    Write(#[from] crate::writer::WriteError),
    /// The application refused, or what was confirmed is no longer so: waiting, not a failure.
    #[error("{0}")]
    Waiting(String),
    /// The application failed.
    #[error("{0}")]
    Application(String),
}

/// One of our operators: pure steps and two that talk to the application.
///
/// A pass is: `validate` → `observe` → `plan`; if the plan holds anything, `observe` again from live
/// reads and plan again; then the applies, the prunes and at most one intent through `act`; last `status`.
pub trait Operator: Send + Sync + Sized + Debug + 'static {
    /// The custom resource.
    type Resource: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + CustomResourceExt
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;
    /// The resolved specification.
    type Desired: Send + Sync + Debug;
    /// What exists and what the application said; a failed probe is data, never an error.
    type Observed: Send + Sync + Debug;
    /// What the operator can want.
    type Intent: Intent;

    /// `etcd`, `kafka`, `elasticsearch`.
    const APPLICATION: &'static str;

    /// Resolves the specification. Pure.
    fn validate(&self, resource: &Self::Resource) -> Result<Self::Desired, Vec<Invalid>>;

    /// Asks the application, and joins the answer with what exists in Kubernetes. Reads only, bounded, never fails.
    fn observe(
        &self,
        resource: &Self::Resource,
        desired: &Self::Desired,
        children: Children,
    ) -> impl Future<Output = Self::Observed> + Send;

    /// Whether the application answered; if not, the cluster goes to the slow lane. Pure.
    fn answered(&self, observed: &Self::Observed) -> bool;

    /// Decides. Pure, total, deterministic.
    fn plan(&self, desired: &Self::Desired, observed: &Self::Observed, now: Timestamp) -> Plan<Self::Intent>;

    /// Carries out one intent that has just been confirmed by live reads. Every write goes through `writer`.
    fn act(
        &self,
        writer: &Writer,
        desired: &Self::Desired,
        observed: &Self::Observed,
        intent: &Self::Intent,
    ) -> impl Future<Output = Result<(), ActError>> + Send;

    /// The whole new status, given the resource with its previous one. Pure. Written only when it differs.
    fn status(&self, resource: &Self::Resource, view: View<'_, Self>, now: Timestamp) -> Value;

    /// The kinds of resources that ask something of a cluster, beside its own.
    fn companions() -> Vec<CompanionKind> {
        vec![]
    }

    /// The new status of each companion that was seen. Pure. Written only where it differs.
    fn companion_statuses(&self, _planned: Seen<'_, Self>, _now: Timestamp) -> Vec<(Companion, Value)> {
        vec![]
    }

    /// The new status of a companion whose cluster does not exist. Pure.
    fn companion_without_cluster(&self, _companion: &Companion, _now: Timestamp) -> Option<Value> {
        None
    }

    /// Starts, or tells, what watches the application outside of passes; called at the end of each pass, by the leading replica only. Neither
    /// waits nor asks. Every write of what is started goes through `writer`.
    fn tend(
        &self,
        _key: &ResourceKey,
        _desired: &Self::Desired,
        _observed: &Self::Observed,
        _writer: &Writer,
    ) {
    }

    /// The resource is gone, or going: what [`Operator::tend`] has started for it ends.
    fn forget(&self, _key: &ResourceKey) {}

    /// Adds metrics of the domain's own, beside [`Operator::gauges`].
    fn register(&self, _registry: &mut Registry) {}

    /// Everything that would be applied for a fresh resource, without a cluster, for `render`. Pure.
    fn render(&self, desired: &Self::Desired) -> Vec<Object>;

    /// Gauges of the domain for this resource, name (without prefix) and value; for metrics. Pure.
    fn gauges(&self, _observed: &Self::Observed) -> Vec<(&'static str, f64)> {
        vec![]
    }
}

/// Identity of a resource in queues and metrics.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceKey {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}
