//! What an operator decides in one pass: harmless applies, at most one intent, and what holds it back.

use std::{fmt::Debug, time::Duration};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    message::printable,
    object::{Object, ObjectRef},
};

/// Longest message in `.status.plan`, in characters.
const LONGEST_MESSAGE: usize = 1024;

/// The outcome of planning: everything a pass will do, and why it does not do more.
///
/// Order of execution: `apply` (in the given order), then `prune`, then `intent`.
#[derive(Clone, Debug)]
pub struct Plan<I> {
    /// Objects to apply, in order; never disruptive, StatefulSets last.
    pub apply: Vec<Object>,
    /// The one thing the operator wants to do next.
    pub intent: Option<I>,
    /// What holds the operator back; shown in `.status.plan` and as a metric.
    pub blocked: Vec<Blocked>,
    /// Owned objects that nothing needs any more.
    pub prune: Vec<ObjectRef>,
    /// When to look again even if nothing happens; `None`: the runtime's resync.
    pub requeue_after: Option<Duration>,
    /// Events to emit; the runtime emits an event only when it was not in the previous pass.
    pub events: Vec<Event>,
}

impl<I> Default for Plan<I> {
    fn default() -> Self {
        Self {
            apply: vec![],
            intent: None,
            blocked: vec![],
            prune: vec![],
            requeue_after: None,
            events: vec![],
        }
    }
}

impl<I: Intent> Plan<I> {
    /// True when executing this plan would send no write.
    pub fn is_empty(&self) -> bool {
        self.apply.is_empty() && self.intent.is_none() && self.prune.is_empty()
    }

    /// Asks to look again after `delay`, or earlier if something asked for that already.
    pub fn requeue(&mut self, delay: Duration) {
        self.requeue_after = Some(self.requeue_after.map_or(delay, |have| have.min(delay)));
    }
}

/// What a concern answers when it is asked what to do next. Concerns are asked in a fixed order; the first that wants
/// something, or must wait, decides.
#[derive(Debug, PartialEq)]
pub enum Next<I> {
    /// Nothing to do here: ask the next concern.
    Nothing,
    /// Do this, and nothing else in this pass.
    Do(I),
    /// Nothing else may be done before this holds.
    Wait(Vec<Blocked>),
    /// Something is under way that ends soon by itself: nothing else is done, and it is looked at again in a second.
    Busy(Blocked),
}

impl<I> Next<I> {
    /// Nothing else may be done before this holds.
    pub fn wait(predicate: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::Wait(vec![Blocked::new(predicate, reason, message)])
    }

    /// Something is under way.
    pub fn busy(predicate: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::Busy(Blocked::new(predicate, reason, message))
    }
}

impl<I: Intent> Plan<I> {
    /// Ends the planning: what holds back what is wanted next comes first, then what was only told until now.
    pub fn conclude(&mut self, next: Next<I>) {
        let told = std::mem::take(&mut self.blocked);
        match next {
            Next::Do(intent) => self.intent = Some(intent),
            Next::Wait(blocked) => {
                self.blocked.extend(blocked);
                self.requeue(Duration::from_secs(3));
            }
            Next::Busy(blocked) => {
                self.blocked.push(blocked);
                self.requeue(Duration::from_secs(1));
            }
            Next::Nothing => {}
        }
        self.blocked.extend(told);
    }
}

/// What a plan says while people have told the operator to change nothing.
pub fn paused<I>() -> Plan<I> {
    let message =
        "spec.paused or the annotation ballast.dev/paused is set: nothing is changed until it is removed";
    Plan { blocked: vec![Blocked::new("not-paused", "Paused", message)], ..Plan::default() }
}

/// One thing an operator wants: it may be several ordered requests, and is always safe to repeat.
pub trait Intent: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// `PascalCase` constant, for instance `AddMember`; a metric label and an event reason.
    fn reason(&self) -> &'static str;
    /// One sentence for people: what is being done and why.
    fn message(&self) -> String;
    /// Whether the application may notice (a member stops, leaves, or joins).
    fn disruptive(&self) -> bool;
}

/// A predicate that does not hold, in words that a person understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Name of the predicate in kebab-case, as used by `ballast.dev/skip-predicate`.
    pub predicate: &'static str,
    /// `PascalCase` reason, constant.
    pub reason: &'static str,
    /// What is wrong and what would change it.
    pub message: String,
}

impl Blocked {
    /// A predicate that does not hold.
    pub fn new(predicate: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { predicate, reason, message: message.into() }
    }
}

/// A named condition on facts `F` that must hold before something may be done.
pub struct Predicate<F: ?Sized> {
    /// Name in kebab-case.
    pub name: &'static str,
    /// `PascalCase` reason when it does not hold.
    pub reason: &'static str,
    /// Whether people may skip it by annotation; never for quorum, tickets or emptiness.
    pub skippable: bool,
    /// `Err(message)` when it does not hold.
    pub check: fn(&F) -> Result<(), String>,
}

/// Evaluates all predicates in order and returns those that do not hold and are not in `skipped`.
pub fn evaluate<F: ?Sized>(facts: &F, predicates: &[Predicate<F>], skipped: &[String]) -> Vec<Blocked> {
    predicates
        .iter()
        .filter(|predicate| !(predicate.skippable && skipped.iter().any(|name| name == predicate.name)))
        .filter_map(|predicate| {
            (predicate.check)(facts)
                .err()
                .map(|message| Blocked::new(predicate.name, predicate.reason, message))
        })
        .collect()
}

/// Severity of an event, as Kubernetes has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something happened as it should.
    Normal,
    /// A person may have to act.
    Warning,
}

/// An event on the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Normal or Warning.
    pub severity: Severity,
    /// `PascalCase` constant.
    pub reason: &'static str,
    /// At most 1 kB.
    pub message: String,
}

/// `.status.plan`: what the operator is doing and what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// What is being done now, as a `PascalCase` reason (for instance `AddMember`); absent when nothing is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// What holds the operator back; empty when nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedStatus>,
}

/// One entry of `.status.plan.blocked`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockedStatus {
    /// Name of the predicate that does not hold.
    pub predicate: String,
    /// `PascalCase` reason.
    pub reason: String,
    /// What is wrong and what would change it.
    pub message: String,
    /// Since when the predicate has not held (RFC 3339).
    pub since: String,
}

impl PlanStatus {
    /// The status of `plan`, keeping the times of what `previous` said already.
    pub fn of<I: Intent>(plan: &Plan<I>, previous: Option<&Self>, now: Timestamp) -> Self {
        let now = crate::condition::rfc3339(now);
        let step = plan.intent.as_ref().map(|intent| intent.reason().to_owned());
        let message = plan.intent.as_ref().map(Intent::message);
        let since = step.as_ref().map(|_| {
            previous
                .filter(|previous| previous.step == step && previous.message == message)
                .and_then(|previous| previous.since.clone())
                .unwrap_or_else(|| now.clone())
        });
        let blocked =
            plan.blocked
                .iter()
                .map(|blocked| BlockedStatus {
                    predicate: blocked.predicate.to_owned(),
                    reason: blocked.reason.to_owned(),
                    message: printable(&blocked.message, LONGEST_MESSAGE),
                    since: previous
                        .and_then(|previous| {
                            previous.blocked.iter().find(|old| {
                                old.predicate == blocked.predicate && old.reason == blocked.reason
                            })
                        })
                        .map_or_else(|| now.clone(), |old| old.since.clone()),
                })
                .collect();
        Self { step, message, since, blocked }
    }
}
