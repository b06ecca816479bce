//! The end of a pass: status, events, metrics, and when to look again.

use std::time::Duration;

use ballast_core::plan::{Blocked, Intent, Plan, Severity};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource, core::error_boundary::InvalidObject};
use tracing::{debug, error, info, warn};

use crate::{
    backoff,
    execute::{Class, Failure},
    memory::Memory,
    operator::{Operator, ResourceKey, View},
    pipeline::{Done, Ended, Pipeline},
    status,
    writer::WriteError,
};

/// After something was sent: watch events will arrive, this is for when they do not.
const AFTER_WRITE: Duration = Duration::from_secs(1);
/// After an intent that has to wait.
const AFTER_WAITING: Duration = Duration::from_secs(2);
/// Conflicts in a row that are told to no one.
const STALE_IN_A_ROW: u32 = 3;
/// While something holds the plan back.
const WHILE_BLOCKED: Duration = Duration::from_secs(5);

/// What the application asked to wait for holds the plan back like any predicate.
fn show_waiting<O: Operator>(done: &mut Done<O>) {
    if let Done::Planned { planned, failure: Some(failure), .. } = done
        && failure.class() == Class::Waiting
    {
        planned.plan.blocked.push(Blocked::new(
            "application-accepts",
            "ApplicationAsksToWait",
            failure.to_string(),
        ));
    }
}

impl<O: Operator> Pipeline<O> {
    /// Tells what a pass did, and decides when to look again.
    pub(crate) async fn finish(
        &self,
        key: &ResourceKey,
        resource: &O::Resource,
        memory: &mut Memory<O::Resource>,
        mut done: Done<O>,
    ) -> Ended {
        show_waiting(&mut done);
        let reference = resource.object_ref(&());
        self.measure(key, &done);
        let failure = match &done {
            Done::Planned { failure: Some(failure), .. } => Some((failure.class(), failure)),
            _ => None,
        };
        if let Some((Class::GateClosed, _)) = failure {
            return Ended::AWAIT_CHANGE;
        }
        if let Done::Planned { planned, .. } = &done {
            self.operator.tend(key, &planned.desired, &planned.observed, &self.writer(key));
            self.tell(&reference, memory, &planned.plan);
        }
        let shown =
            failure.filter(|(class, _)| *class == Class::Error).map(|(_, failure)| failure.to_string());
        let status = {
            let view = match &done {
                Done::Invalid(invalid) => View::Invalid(invalid),
                Done::Planned { planned, .. } => View::Planned {
                    desired: &planned.desired,
                    observed: &planned.observed,
                    plan: &planned.plan,
                    error: shown.as_deref(),
                },
            };
            self.operator.status(resource, view, self.time.now())
        };
        self.metrics.set_conditions(key, &status);
        let mut written =
            status::write(&self.writer(key), &self.memories, memory, key, resource, &status).await;
        if let (Ok(()), Done::Planned { planned, .. }) = (&written, &done) {
            written = self.tell_companions(key, resource, planned).await;
        }
        let ended = match failure {
            Some((class, failure)) => self.after_failure(memory, class, failure, &reference),
            None => self.after_success(memory, &done),
        };
        match written {
            Err(WriteError::GateClosed(_)) => Ended::AWAIT_CHANGE,
            // Deleted meanwhile; its watch event ends this.
            Ok(()) | Err(WriteError::NotFound(_)) => ended,
            Err(error) => {
                self.failed(memory, "StatusFailed", &format!("cannot write the status: {error}"), &reference)
            }
        }
    }

    fn after_success(&self, memory: &mut Memory<O::Resource>, done: &Done<O>) -> Ended {
        memory.failures = 0;
        memory.error = None;
        memory.waiting = None;
        match done {
            Done::Invalid(invalid) => {
                debug!(count = invalid.len(), "the resource is invalid");
                Ended::AWAIT_CHANGE
            }
            Done::Planned { planned, acted, .. } => {
                Ended::after(delay(&planned.plan, *acted, &memory.uid, self.resync))
            }
        }
    }

    fn after_failure(
        &self,
        memory: &mut Memory<O::Resource>,
        class: Class,
        failure: &Failure,
        reference: &ObjectReference,
    ) -> Ended {
        let message = failure.to_string();
        match class {
            Class::GateClosed => Ended::AWAIT_CHANGE,
            Class::Waiting => {
                if memory.waiting.as_ref() != Some(&message) {
                    info!("waiting: {message}");
                    memory.waiting = Some(message);
                }
                memory.failures = 0;
                memory.error = None;
                Ended::after(AFTER_WAITING)
            }
            // Once or twice is how it goes; more than that is worth a look.
            Class::Stale if memory.failures < STALE_IN_A_ROW => {
                info!("what was read has changed meanwhile: {message}");
                memory.failures = memory.failures.saturating_add(1);
                Ended::after(backoff::after_failures(&memory.uid, memory.failures))
            }
            Class::Stale | Class::Error => self.failed(memory, failure.reason(), &message, reference),
        }
    }

    /// A pass failed: told once, tried again later and later.
    pub(crate) fn failed(
        &self,
        memory: &mut Memory<O::Resource>,
        reason: &'static str,
        message: &str,
        reference: &ObjectReference,
    ) -> Ended {
        memory.failures = memory.failures.saturating_add(1);
        let delay = backoff::after_failures(&memory.uid, memory.failures);
        if memory.error.as_deref() == Some(message) {
            debug!(reason, failures = memory.failures, "again: {message}");
        } else {
            warn!(reason, "{message}");
            self.events.publish(Severity::Warning, reason, message, reference);
            memory.error = Some(message.to_owned());
        }
        Ended::failed(delay)
    }

    /// Says what is about to be done, when it is not what was done last.
    pub(crate) fn announce(
        &self,
        resource: &O::Resource,
        memory: &mut Memory<O::Resource>,
        plan: &Plan<O::Intent>,
    ) {
        let Some(intent) = &plan.intent else { return };
        let now = (intent.reason(), intent.message());
        if memory.intent.as_ref() != Some(&now) {
            self.events.publish(Severity::Normal, now.0, &now.1, &resource.object_ref(&()));
            memory.intent = Some(now);
        }
    }

    /// The events of the plan that were not in the last one.
    fn tell(&self, reference: &ObjectReference, memory: &mut Memory<O::Resource>, plan: &Plan<O::Intent>) {
        for event in plan.events.iter().filter(|event| !memory.events.contains(event)) {
            info!(reason = event.reason, "{}", event.message);
            self.events.publish(event.severity, event.reason, &event.message, reference);
        }
        memory.events.clone_from(&plan.events);
        if plan.intent.is_none() {
            memory.intent = None;
        }
    }

    fn measure(&self, key: &ResourceKey, done: &Done<O>) {
        match done {
            Done::Invalid(_) => self.metrics.set_blocked(key, std::iter::empty()),
            Done::Planned { planned, .. } => {
                self.metrics.set_blocked(key, planned.plan.blocked.iter().map(|blocked| blocked.predicate));
                self.metrics.set_gauges(key, self.operator.gauges(&planned.observed));
            }
        }
    }

    /// A resource that this version cannot read: told once, left alone.
    pub(crate) fn unparsable(&self, key: &ResourceKey, invalid: &InvalidObject) {
        let uid = invalid.metadata.uid.clone().unwrap_or_default();
        let memory = self.memories.of(key, &uid);
        let message = format!("this version of the operator cannot read the resource: {}", invalid.error);
        self.metrics.set_unparsable(key, true);
        let Ok(mut memory) = memory.try_lock() else { return };
        if memory.error.as_deref() == Some(&message) {
            return;
        }
        error!(reason = "Unparsable", "{message}");
        let reference = ObjectReference {
            api_version: Some(O::Resource::api_version(&()).into_owned()),
            kind: Some(O::Resource::kind(&()).into_owned()),
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            uid: Some(uid),
            ..ObjectReference::default()
        };
        self.events.publish(Severity::Warning, "Unparsable", &message, &reference);
        memory.error = Some(message);
    }
}

fn delay<I: Intent>(plan: &Plan<I>, acted: bool, uid: &str, resync: Duration) -> Duration {
    match plan.requeue_after {
        wanted if acted => wanted.unwrap_or(AFTER_WRITE).min(AFTER_WRITE),
        Some(wanted) => wanted,
        None if !plan.blocked.is_empty() => WHILE_BLOCKED,
        None => backoff::resync(uid, resync),
    }
}

#[cfg(test)]
mod tests {
    use ballast_core::plan::Blocked;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Never;

    impl Intent for Never {
        fn reason(&self) -> &'static str {
            "Never"
        }
        fn message(&self) -> String {
            String::new()
        }
        fn disruptive(&self) -> bool {
            false
        }
    }

    #[test]
    fn when_to_look_again() {
        let resync = Duration::from_mins(5);
        let seconds = |plan: &Plan<Never>, acted| delay(plan, acted, "u", resync).as_secs();
        let mut plan = Plan::<Never>::default();
        assert_eq!(seconds(&plan, true), 1);
        assert!((270..=330).contains(&seconds(&plan, false)));
        plan.blocked.push(Blocked::new("quorum", "QuorumLost", "no"));
        assert_eq!(seconds(&plan, false), 5);
        plan.requeue(Duration::from_secs(20));
        assert_eq!((seconds(&plan, false), seconds(&plan, true)), (20, 1));
    }
}
