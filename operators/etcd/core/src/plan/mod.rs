//! What to do next: (desired, observed, now) → plan. Pure, total, deterministic.
//!
//! Concerns are asked in a fixed order; the first that wants something, or must wait, decides. What is under way is
//! finished first, then what is broken is repaired, then changes are rolled out, last the cluster is resized.

mod bootstrap;
mod learner;
mod leftovers;
mod objects;
pub mod predicates;
mod repair;
mod resize;
mod rollout;

use std::time::Duration;

use ballast_core::{
    bootstrap::Record,
    plan::{self, Blocked, Plan},
    version::Minor,
};
use jiff::Timestamp;

use crate::{build, intent::Intent, observed::Observed, validate::Desired, versions};

/// What a concern answers.
pub(crate) type Next = ballast_core::plan::Next<Intent>;

/// Everything that concerns look at.
pub(crate) struct Context<'a> {
    pub(crate) desired: &'a Desired,
    pub(crate) observed: &'a Observed,
    pub(crate) now: Timestamp,
    /// Hash of the template that members should have.
    pub(crate) template_hash: String,
}

impl Context<'_> {
    /// Names of the predicates that people asked not to wait for, at this time.
    pub(crate) fn skipped(&self) -> Vec<String> {
        self.desired
            .skip
            .iter()
            .filter(|(_, until)| self.now < *until)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Whether `since` is at least `duration` ago; an unknown time never is.
    pub(crate) fn passed(&self, since: Option<Timestamp>, duration: Duration) -> bool {
        since.is_some_and(|since| {
            self.now.duration_since(since).unsigned_abs() >= duration && self.now > since
        })
    }
}

/// Decides.
pub fn plan(desired: &Desired, observed: &Observed, now: Timestamp) -> Plan<Intent> {
    if desired.paused {
        return plan::paused();
    }
    let context = Context { desired, observed, now, template_hash: build::template_hash(desired) };
    let mut plan = Plan::default();
    let next = decide(&context, &mut plan);
    plan.conclude(next);
    plan
}

fn decide(context: &Context<'_>, plan: &mut Plan<Intent>) -> Next {
    let Context { desired, observed, .. } = context;
    if let Err(message) = &observed.record {
        return Next::wait(
            "bootstrap-record-readable",
            "BootstrapRecordUnreadable",
            format!("the bootstrap record cannot be read: {message}"),
        );
    }
    let ids = observed.cluster_ids();
    if ids.len() > 1 {
        let ids = ids.iter().map(|id| format!("{id:x}")).collect::<Vec<_>>().join(", ");
        return Next::wait(
            "one-cluster-id",
            "SplitBrain",
            format!(
                "members answer with different cluster ids ({ids}): nothing is changed, a person must decide"
            ),
        );
    }
    let record = observed.record.as_ref().ok().and_then(Option::as_ref).map(|found| &found.record);
    if let (None, Err(message)) = (record, versions::supported(&desired.version)) {
        return Next::wait("version-supported", "VersionNotSupported", message);
    }
    let started = match record {
        None | Some(Record::Preparing { .. } | Record::Granted { .. }) => false,
        Some(Record::Started { .. } | Record::Adopted { .. }) => true,
    };
    // An unsafe version stops what would carry it; it never stops the repair of what runs.
    let refused = version_refused(context);
    if !(started && refused.is_some()) {
        objects::apply(context, started, plan);
    }
    if let Some(record) = record.filter(|_| !started) {
        return bootstrap::proceed(context, record);
    }
    if !started {
        return bootstrap::begin(context);
    }
    if let Some(Record::Adopted { from_uid }) = record {
        let next = bootstrap::adopted(context, from_uid);
        if next != Next::Nothing {
            return next;
        }
    }
    objects::prune(context, plan);
    repair::tell(context, plan);
    let concerns: &[fn(&Context<'_>) -> Next] = &[
        rollout::without_quorum,
        |context| predicates::list_known(context),
        leftovers::next,
        learner::next,
        repair::next,
        |context| predicates::no_foreign_members(context),
    ];
    for concern in concerns {
        match (concern(context), &refused) {
            (Next::Nothing, _) => {}
            // What would leave a gap that only the refused version could fill, or carry it, waits.
            (
                Next::Do(Intent::AddMember { .. } | Intent::Update { .. } | Intent::RemoveMember { .. }),
                Some(blocked),
            ) => {
                return Next::Wait(vec![blocked.clone()]);
            }
            (next, _) => return next,
        }
    }
    if let Some(blocked) = refused {
        return Next::Wait(vec![blocked]);
    }
    for concern in [rollout::next, resize::next, rollout::version_agreed] {
        match concern(context) {
            Next::Nothing => {}
            next => return next,
        }
    }
    Next::Nothing
}

/// Why the wanted version may not be rolled out to a cluster that has started.
fn version_refused(context: &Context<'_>) -> Option<Blocked> {
    let Context { desired, observed, .. } = context;
    if let Err(message) = versions::supported(&desired.version) {
        return Some(Blocked::new("version-supported", "VersionNotSupported", message));
    }
    let running: Vec<_> = observed
        .members
        .iter()
        .filter_map(|member| member.answer().map(|answer| answer.version.clone()))
        .collect();
    // While nobody answers, what the status remembers is enough to refuse, and too little to go on.
    // A cluster that has just started says 3.0 until its leader has looked at all members: that is not known either.
    let known = |minor: &Minor| versions::SUPPORTED.iter().any(|row| row.minor == *minor);
    let cluster = observed
        .answers
        .cluster_version
        .filter(known)
        .or_else(|| observed.last_cluster_version.filter(known));
    let settled = !running.is_empty() && running.iter().all(|version| *version == desired.version);
    if settled || (running.is_empty() && cluster.is_none()) {
        return None;
    }
    versions::step(&running, cluster, &desired.version)
        .err()
        .map(|message| Blocked::new("version-step-safe", "VersionStepRefused", message))
}

/// How long a zone that could not take a member is avoided.
pub fn suspect_for() -> jiff::SignedDuration {
    resize::SUSPECT_FOR
}
