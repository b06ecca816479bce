//! A pass of the operator: the model of `ballast-runtime`'s pipeline around the real `observe`, `plan` and `status`.

use ballast_core::{
    difference, hash, label,
    object::{Children, Kind, Object, ObjectRef},
    plan::{Intent as _, Plan},
};
use ballast_etcd_core::{
    APPLICATION,
    intent::Intent,
    observed::{Observed, observe},
    plan::plan,
    status,
    validate::{Desired, validate},
};
use ballast_testkit::{Rejected, World};
use serde_json::Value;

use crate::{
    probe::Ask as _,
    simulation::{NAME, Pass, Simulation},
};

/// Why a pass stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The operator died.
    Crashed,
    /// Not yet.
    Waiting(String),
    /// A request was refused.
    Refused(String),
}

impl Simulation {
    /// One pass.
    pub fn pass(&mut self) -> Pass {
        let desired = match validate(&self.resource, &self.environment) {
            Ok(desired) => desired,
            Err(errors) => {
                self.resource.status = Some(status::invalid(&self.resource, &errors, self.world.now()));
                self.blocked = vec![];
                return Pass::Invalid;
            }
        };
        let live = self.world.children(APPLICATION, NAME);
        let cached = self.stale.take().unwrap_or_else(|| live.clone());
        let (observed, plan) = self.look(&desired, cached);
        if plan.is_empty() {
            self.finish(&desired, &observed, &plan);
            return Pass::Quiet;
        }
        let (observed, plan) = self.look(&desired, live);
        if plan.is_empty() {
            self.finish(&desired, &observed, &plan);
            return Pass::Quiet;
        }
        let before = self.writes;
        let result = self.execute(&desired, &observed, &plan);
        self.error = result.clone().err().map(|stop| format!("{stop:?}"));
        if result == Err(Stop::Crashed) {
            self.crash_after = None;
            return Pass::Crashed;
        }
        self.finish(&desired, &observed, &plan);
        if self.writes == before && result.is_ok() { Pass::Quiet } else { Pass::Wrote }
    }

    /// Observes and plans; leaves only the applies that change something.
    pub fn look(&mut self, desired: &Desired, children: Children) -> (Observed, Plan<Intent>) {
        let answers = self.etcd.ask(desired, &children);
        let observed = observe(desired, self.resource.status.as_ref(), children.clone(), answers);
        let mut plan = plan(desired, &observed, self.world.now());
        plan.apply = std::mem::take(&mut plan.apply)
            .into_iter()
            .filter_map(|object| pending(object, &children, &self.world))
            .collect();
        (observed, plan)
    }

    fn finish(&mut self, desired: &Desired, observed: &Observed, plan: &Plan<Intent>) {
        let now = self.world.now();
        self.blocked = plan
            .blocked
            .iter()
            .map(|blocked| (blocked.predicate.to_owned(), blocked.reason.to_owned()))
            .collect();
        let error = self.error.clone();
        let status = status::planned(&self.resource, desired, observed, plan, error.as_deref(), now);
        self.resource.status = Some(status);
    }

    fn execute(&mut self, desired: &Desired, observed: &Observed, plan: &Plan<Intent>) -> Result<(), Stop> {
        for object in &plan.apply {
            self.apply(object)?;
        }
        for object in &plan.prune {
            self.delete(object)?;
        }
        if let Some(intent) = &plan.intent {
            self.intents.push(intent.reason().to_owned());
            self.note(format!("-- {}: {}", intent.reason(), intent.message()));
            return self.act(desired, observed, intent);
        }
        Ok(())
    }

    /// A write: it may be the one before which the operator dies, and after it the world is looked at.
    pub fn request<T>(
        &mut self,
        what: String,
        send: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        match &mut self.crash_after {
            Some(0) => {
                self.note(format!("(died before: {what})"));
                return Err(Stop::Crashed);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.writes += 1;
        let result = send(self);
        self.note(match &result {
            Ok(_) => what,
            Err(stop) => format!("{what}: {stop:?}"),
        });
        self.check();
        if self.eager {
            self.settle();
        }
        result
    }

    pub fn apply(&mut self, object: &Object) -> Result<(), Stop> {
        self.request(describe("apply", object), |sim| sim.world.apply(object).map_err(refused))
    }

    pub fn create(&mut self, object: &Object) -> Result<(String, String), Stop> {
        self.request(describe("create", object), |sim| {
            let created = sim.world.create(object).map_err(refused)?;
            Ok((created.uid, created.resource_version))
        })
    }

    pub fn replace(&mut self, object: &Object) -> Result<(), Stop> {
        self.request(describe("replace", object), |sim| sim.world.replace(object).map_err(refused))
    }

    pub fn delete(&mut self, object: &ObjectRef) -> Result<(), Stop> {
        let what = format!("delete {} {}", object.kind.as_str(), object.name);
        self.request(what, |sim| {
            sim.watch_delete(object);
            sim.world.delete(object).map_err(refused)
        })
    }

    pub fn delete_pod(&mut self, member: &str, uid: &str, grace: Option<i64>) -> Result<(), Stop> {
        self.request(format!("delete pod {member}-0 (grace {grace:?})"), |sim| {
            sim.watch_stop(member, uid);
            sim.world.delete_pod(&format!("{member}-0"), uid, grace).map_err(refused)
        })
    }
}

fn describe(verb: &str, object: &Object) -> String {
    format!("{verb} {} {}", object.kind().as_str(), object.name())
}

fn refused(rejected: Rejected) -> Stop {
    Stop::Refused(format!("{rejected:?}"))
}

/// The runtime's `pending` and `ours`: sent only if it changes something, and only to what is ours.
fn pending(mut object: Object, children: &Children, world: &World) -> Option<Object> {
    let (kind, name) = (object.kind(), object.name().to_owned());
    let live = match kind {
        Kind::Secret => world.live(kind, &name).cloned(),
        _ => children.live(kind, &name),
    };
    let hash = hash::json_hash(&object.to_json());
    object
        .metadata_mut()
        .annotations
        .get_or_insert_default()
        .insert("ballast.dev/applied-hash".to_owned(), hash);
    let Some(live) = live else { return Some(object) };
    difference::first(&object.to_json(), &live)?;
    let owner = object.metadata().labels.as_ref().and_then(|labels| labels.get(label::CLUSTER_UID)).cloned();
    let theirs = live["metadata"]["labels"][label::CLUSTER_UID].as_str().map(str::to_owned);
    assert_eq!(owner, theirs, "{} {name} belongs to another cluster", kind.as_str());
    object.metadata_mut().uid = live.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
    Some(object)
}
