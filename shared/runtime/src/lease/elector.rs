//! Who leads, as a pure state machine: what time it is and what was answered → what to ask, until when to act.
//!
//! Why two never lead at once: a leader acts until the renew deadline after it *sent* its last successful renewal. Another
//! one replaces the lease only if nobody has changed it (resourceVersion) for the lease's duration after it *saw* that
//! version, which was after it was made, which was after it was sent. The duration is longer than the deadline.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use super::{
    record::{duration, held, holder, released, version},
    timing::Timing,
};
use crate::clock::Moment;

/// A request to the API server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ask {
    /// The lease, by a consistent read.
    Read,
    /// A lease where there was none.
    Create(Box<Lease>),
    /// The lease as it was read, changed; its resourceVersion must still be the current one.
    Replace(Box<Lease>),
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The lease that was asked for.
    Found(Lease),
    /// There is no such lease.
    Absent,
    /// The lease as it was written.
    Written(Lease),
    /// Somebody was quicker; nothing was written.
    Conflict,
    /// No answer, or none that says whether anything was done.
    Failed,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Ask, and take silence until `deadline` for [`Answer::Failed`].
    Ask { ask: Ask, deadline: Moment },
    /// Nothing before then.
    Wait(Moment),
    /// Nothing any more.
    Over(Outcome),
}

/// How a candidacy ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Outcome {
    /// Another one may act at once.
    #[error("it was released")]
    Released,
    /// It could not be released in time, and runs out by itself.
    #[error("it could not be released")]
    NotReleased,
    /// The renew deadline passed.
    #[error("it could not be renewed in time")]
    Expired,
    /// The lease names somebody else.
    #[error("{0} holds it now")]
    Taken(String),
    /// The lease was deleted, or its holder was.
    #[error("somebody deleted or emptied it")]
    Gone,
}

/// Where this process stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was heard yet.
    Unknown,
    /// Another one leads, or nobody does yet.
    Standby { holder: Option<String> },
    /// This process leads.
    Leading,
}

#[derive(Clone, Debug)]
enum Known {
    Nothing,
    /// This version was seen first at `since`.
    Lease {
        lease: Box<Lease>,
        since: Moment,
    },
    /// No lease is there, seen first at `since`; one that was there may be acted on for `patience` more.
    Absent {
        since: Moment,
        patience: Duration,
    },
}

/// One candidate.
#[derive(Clone, Debug)]
pub(crate) struct Elector {
    identity: String,
    timing: Timing,
    known: Known,
    /// Whether `known` may have changed: read before writing.
    stale: bool,
    /// While leading: until when.
    until: Option<Moment>,
    /// When the next request is due, and whether it is the first of an attempt.
    due: Moment,
    first: bool,
    /// When this attempt began, and when its last request was sent.
    began: Moment,
    sent: Moment,
    /// Set when the lease is to be given up: when to stop trying.
    give_up: Option<Moment>,
    outcome: Option<Outcome>,
}

impl Elector {
    /// A candidate whose `identity` no other one has or had.
    pub(crate) fn new(identity: String, timing: Timing, now: Moment) -> Self {
        Self {
            identity,
            timing,
            known: Known::Nothing,
            stale: true,
            until: None,
            due: now,
            first: true,
            began: now,
            sent: now,
            give_up: None,
            outcome: None,
        }
    }

    /// Until when this process may act, if it leads.
    pub(crate) fn leads_until(&self) -> Option<Moment> {
        self.until.filter(|_| self.outcome.is_none() && self.give_up.is_none())
    }

    /// Where this process stands.
    pub(crate) fn standing(&self) -> Standing {
        match &self.known {
            _ if self.leads_until().is_some() => Standing::Leading,
            Known::Nothing => Standing::Unknown,
            Known::Lease { lease, .. } => Standing::Standby { holder: holder(lease).map(str::to_owned) },
            Known::Absent { .. } => Standing::Standby { holder: None },
        }
    }

    /// Gives the lease up. To be called when nothing acts on it any more: another one may take it at once.
    pub(crate) fn release(&mut self, now: Moment) {
        self.give_up = Some(now + self.timing.request());
        self.go_on(now);
    }

    /// What to do at `now`; an [`Step::Ask`] counts as sent at `now`. `wall` is written into the lease for people.
    pub(crate) fn next(&mut self, now: Moment, wall: Timestamp) -> Step {
        if self.outcome.is_none() {
            self.outcome = self.ends(now);
        }
        if let Some(outcome) = &self.outcome {
            return Step::Over(outcome.clone());
        }
        if now < self.due {
            return Step::Wait(self.end().map_or(self.due, |end| end.min(self.due)));
        }
        if self.first {
            self.began = now;
            // Only a leader knows that the lease is as it was.
            self.stale |= self.until.is_none();
        }
        self.sent = now;
        let deadline = now + self.timing.request();
        let deadline = self.end().map_or(deadline, |end| end.min(deadline));
        Step::Ask { ask: self.ask(wall), deadline }
    }

    /// When the candidacy ends if nothing more is answered: who gives the lease up no longer cares until when it led.
    fn end(&self) -> Option<Moment> {
        self.give_up.or(self.until)
    }

    fn ends(&self, now: Moment) -> Option<Outcome> {
        match self.give_up {
            None => self.until.filter(|until| now >= *until).map(|_| Outcome::Expired),
            Some(_) if !self.stale && !self.ours() => Some(Outcome::Released),
            Some(give_up) => (now >= give_up).then_some(Outcome::NotReleased),
        }
    }

    fn ask(&self, wall: Timestamp) -> Ask {
        let held = |lease| Box::new(held(lease, &self.identity, &self.timing, wall));
        match &self.known {
            _ if self.stale => Ask::Read,
            Known::Nothing => Ask::Read,
            Known::Lease { lease, .. } if self.give_up.is_some() => {
                Ask::Replace(Box::new(released(lease, wall)))
            }
            Known::Lease { lease, .. } => Ask::Replace(held(lease)),
            Known::Absent { .. } => Ask::Create(held(&Lease::default())),
        }
    }

    fn ours(&self) -> bool {
        matches!(&self.known, Known::Lease { lease, .. } if holder(lease) == Some(&self.identity))
    }

    /// The last request was answered, or was given up, at `now`.
    pub(crate) fn answered(&mut self, now: Moment, answer: Answer) {
        match answer {
            Answer::Found(lease) => self.found(now, lease),
            Answer::Absent => self.absent(now),
            Answer::Written(lease) => {
                self.known = Known::Lease { lease: Box::new(lease), since: now };
                self.stale = false;
                let until = self.sent + self.timing.renew_deadline;
                // Answered too late to be of use: it is renewed before it is acted on.
                if self.ours() && now < until {
                    self.until = Some(until);
                }
                self.attempt_ends();
            }
            Answer::Conflict => {
                self.stale = true;
                // Once per attempt it is read again at once: somebody may have put a label on it.
                if self.first { self.go_on(now) } else { self.attempt_ends() }
            }
            Answer::Failed => {
                self.stale = true;
                self.attempt_ends();
            }
        }
    }

    fn found(&mut self, now: Moment, lease: Lease) {
        let since = match &self.known {
            Known::Lease { lease: known, since } if same_version(known, &lease) => *since,
            _ => now,
        };
        self.stale = false;
        let who = holder(&lease).map(str::to_owned);
        let ours = who.as_ref() == Some(&self.identity);
        let free = who.is_none() || now >= since + duration(&lease, self.timing.lease);
        self.known = Known::Lease { lease: Box::new(lease), since };
        if self.until.is_some() && !ours {
            self.outcome = self.outcome.take().or_else(|| Some(who.map_or(Outcome::Gone, Outcome::Taken)));
        }
        if ours || free { self.go_on(now) } else { self.attempt_ends() }
    }

    fn absent(&mut self, now: Moment) {
        let (since, patience) = match &self.known {
            Known::Absent { since, patience } => (*since, *patience),
            // Whoever held it may not have noticed yet.
            Known::Lease { lease, .. } => (now, duration(lease, self.timing.lease).max(self.timing.lease)),
            Known::Nothing => (now, Duration::ZERO),
        };
        self.stale = false;
        self.known = Known::Absent { since, patience };
        if self.until.is_some() {
            // Who starts afresh creates it and acts at once: better nobody for a moment than two.
            self.outcome = self.outcome.take().or(Some(Outcome::Gone));
        }
        if now >= since + patience { self.go_on(now) } else { self.attempt_ends() }
    }

    /// The next request belongs to the same attempt, and is due now.
    fn go_on(&mut self, now: Moment) {
        self.due = now;
        self.first = false;
    }

    fn attempt_ends(&mut self) {
        self.due = self.began + self.timing.retry;
        self.first = true;
    }
}

fn same_version(one: &Lease, other: &Lease) -> bool {
    version(one).is_some() && version(one) == version(other) && one.metadata.uid == other.metadata.uid
}
