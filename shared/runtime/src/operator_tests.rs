//! A small operator for the tests of this crate.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use ballast_core::{
    invalid::Invalid,
    object::{Children, Companion, Object, ObjectRef},
    plan::{Blocked, Intent, Plan},
};
use jiff::Timestamp;
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::api::resource::Quantity};
use kube::{CustomResource, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    companion::CompanionKind,
    operator::{ActError, Operator, Seen, View},
    writer::Writer,
};

/// A thing.
#[derive(Clone, Debug, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "test.ballast.dev",
    version = "v1alpha1",
    kind = "Thing",
    namespaced,
    status = "ThingStatus",
    doc = "A thing."
)]
#[serde(rename_all = "camelCase")]
pub struct ThingSpec {
    /// How many.
    #[serde(default = "three")]
    pub replicas: i32,
    /// How large.
    pub size: Quantity,
    /// Its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = null))]
    pub parts: Vec<Part>,
    /// Its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, Quantity>>,
}

/// A part.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Name | of the part.
    pub name: String,
}

/// Its status.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ThingStatus {
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// Something that is asked of a thing.
#[derive(Clone, Debug, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "test.ballast.dev",
    version = "v1alpha1",
    kind = "Wish",
    plural = "wishes",
    namespaced,
    doc = "A wish."
)]
pub struct WishSpec {
    /// Of whom.
    pub cluster: String,
    /// For what.
    pub text: String,
}

fn three() -> i32 {
    3
}

/// What it wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Poke;

impl Intent for Poke {
    fn reason(&self) -> &'static str {
        "Poke"
    }
    fn message(&self) -> String {
        "pokes it".to_owned()
    }
    fn disruptive(&self) -> bool {
        true
    }
}

/// Applies a ConfigMap with the number of replicas; pokes as long as it is told to.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)]
pub struct ThingOperator {
    /// How often it was poked.
    pub pokes: AtomicUsize,
    /// Whether it wants to be poked.
    pub poke: bool,
    /// Whether poking has to wait.
    pub waiting: bool,
    /// Whether something holds it back.
    pub blocked: bool,
    /// Whether it never answers.
    pub hung: bool,
    /// What it does not need any more.
    pub prune: Vec<ObjectRef>,
}

/// The resolved specification.
#[derive(Debug)]
pub struct Desired {
    pub config_map: ConfigMap,
}

impl Operator for ThingOperator {
    type Resource = Thing;
    type Desired = Desired;
    type Observed = Children;
    type Intent = Poke;

    const APPLICATION: &'static str = "thing";

    fn validate(&self, resource: &Thing) -> Result<Desired, Vec<Invalid>> {
        if resource.spec.replicas < 1 {
            return Err(vec![Invalid::new("spec.replicas", "at least one")]);
        }
        let config_map = serde_json::from_value(json!({
            "metadata": {
                "name": resource.name_any(),
                "labels": {
                    "app.kubernetes.io/managed-by": "ballast-thing",
                    "app.kubernetes.io/instance": resource.name_any(),
                    "ballast.dev/cluster-uid": resource.uid(),
                },
                "ownerReferences": resource.controller_owner_ref(&()).into_iter().collect::<Vec<_>>(),
            },
            "data": { "replicas": resource.spec.replicas.to_string() },
        }))
        .map_err(|error| vec![Invalid::new("spec", error.to_string())])?;
        Ok(Desired { config_map })
    }

    async fn observe(&self, resource: &Thing, _desired: &Desired, children: Children) -> Children {
        assert!(resource.name_any() != "panic", "observing panics");
        if self.hung {
            std::future::pending::<()>().await;
        }
        children
    }

    fn answered(&self, _observed: &Children) -> bool {
        true
    }

    fn plan(&self, desired: &Desired, _observed: &Children, _now: Timestamp) -> Plan<Poke> {
        let blocked = self.blocked.then(|| Blocked::new("quorum", "QuorumLost", "one of three answers"));
        Plan {
            apply: self.render(desired),
            intent: self.poke.then_some(Poke),
            prune: self.prune.clone(),
            blocked: blocked.into_iter().collect(),
            ..Plan::default()
        }
    }

    async fn act(
        &self,
        writer: &Writer,
        _desired: &Desired,
        _observed: &Children,
        _intent: &Poke,
    ) -> Result<(), ActError> {
        writer.guarded(async { self.pokes.fetch_add(1, Ordering::SeqCst) }).await?;
        if self.waiting { Err(ActError::Waiting("it sleeps".into())) } else { Ok(()) }
    }

    fn status(&self, _resource: &Thing, view: View<'_, Self>, _now: Timestamp) -> Value {
        let state = match view {
            View::Invalid(invalid) => ballast_core::invalid::summary(invalid),
            View::Planned { error: Some(error), .. } => error.to_owned(),
            View::Planned { .. } => "fine".to_owned(),
        };
        json!({ "state": state })
    }

    fn companions() -> Vec<CompanionKind> {
        vec![CompanionKind::of::<Wish>()]
    }

    fn companion_statuses(&self, seen: Seen<'_, Self>, _now: Timestamp) -> Vec<(Companion, Value)> {
        let granted = |wish: &Companion| {
            let text = wish.spec["text"].as_str().unwrap_or_default();
            (wish.clone(), json!({ "answer": format!("{}: {text}", seen.resource.name_any()) }))
        };
        seen.observed.companions.iter().map(granted).collect()
    }

    fn companion_without_cluster(&self, _companion: &Companion, _now: Timestamp) -> Option<Value> {
        Some(json!({ "answer": "there is no such thing" }))
    }

    fn render(&self, desired: &Desired) -> Vec<Object> {
        vec![desired.config_map.clone().into()]
    }
}
