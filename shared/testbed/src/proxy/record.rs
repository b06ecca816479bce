//! What a proxy has seen, and what it still has to do.

use std::collections::{BTreeMap, BTreeSet};

use super::disturbance::{Disturbance, Fault, Moment, Point};
use super::request::{Class, Reading, parameter, with_parameters};
use super::watch::Verdict;
use crate::chance::Chance;
use crate::mask;

/// A mutating request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Its place among the writes of its class.
    pub point: Point,
    /// The method.
    pub verb: String,
    /// The path, without parameters.
    pub path: String,
    /// The API server's answer; `None`: it was not asked, or has not answered.
    pub code: Option<u16>,
    /// What the operator was given instead, if anything.
    pub fault: Option<Fault>,
}

/// A request that reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// How.
    pub reading: Reading,
    /// The path, without parameters.
    pub path: String,
}

/// Everything of one proxy that changes.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) disturbances: Vec<Disturbance>,
    pub(crate) writes: Vec<Write>,
    pub(crate) reads: Vec<Read>,
    /// How many events of each object (kind/name, masked) were seen.
    pub(crate) events: BTreeMap<String, usize>,
    /// When an object or a status was last written, or tried to be.
    pub(crate) last_write: Option<tokio::time::Instant>,
    /// Kills that were done.
    pub(crate) kills: Vec<(Moment, Point)>,
    /// What was done only once and is done.
    spent: Vec<Disturbance>,
    counts: BTreeMap<Class, usize>,
    requests: u64,
    events_seen: u64,
    /// The revision before the write that [`Disturbance::Stale`] names.
    stale_revision: Option<String>,
    /// A kill happened since: lists are stale until each was given once.
    stale_lists: Option<BTreeSet<String>>,
    hold_until: Option<tokio::time::Instant>,
}

impl Record {
    /// The next number of any request.
    pub(crate) fn number(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Notes a write; its index in the record.
    pub(crate) fn write(&mut self, class: Class, verb: &str, path: &str) -> usize {
        let count = self.counts.entry(class).or_default();
        *count += 1;
        let point = Point { class, number: *count };
        if matches!(class, Class::Object | Class::Status) {
            self.last_write = Some(tokio::time::Instant::now());
        }
        let (verb, path) = (verb.to_owned(), path.to_owned());
        self.writes.push(Write { point, verb, path, code: None, fault: None });
        self.writes.len() - 1
    }

    /// Whether the operator is killed now; asked once per moment and write.
    pub(crate) fn kills(&mut self, moment: Moment, point: Point) -> bool {
        let kill = Disturbance::Kill(moment, point);
        let now = self.once(&kill);
        if now {
            self.kills.push((moment, point));
            if self.stale_revision.is_some() {
                self.stale_lists = Some(BTreeSet::new());
                let hold = self.disturbances.iter().find_map(|one| match one {
                    Disturbance::Stale { hold, .. } => Some(*hold),
                    _ => None,
                });
                self.hold_until = hold.map(|hold| tokio::time::Instant::now() + hold);
            }
        }
        now
    }

    /// The fault that was ordered for this write.
    pub(crate) fn ordered_fault(&mut self, point: Point) -> Option<Fault> {
        let fault = self.disturbances.iter().find_map(|one| match one {
            Disturbance::Answer(at, fault) if *at == point => Some(*fault),
            _ => None,
        })?;
        self.once(&Disturbance::Answer(point, fault)).then_some(fault)
    }

    /// Whether a write is held back now.
    pub(crate) fn holds(&self, verb: &str, path: &str) -> bool {
        self.disturbances.iter().any(
            |one| matches!(one, Disturbance::Hold { verb: held, path: at } if *held == verb && at == path),
        )
    }

    fn once(&mut self, disturbance: &Disturbance) -> bool {
        let now = self.disturbances.contains(disturbance) && !self.spent.contains(disturbance);
        if now {
            self.spent.push(disturbance.clone());
        }
        now
    }

    /// Whether the present revision is to be remembered before this write.
    pub(crate) fn remembers(&self, point: Point) -> bool {
        self.disturbances
            .iter()
            .any(|one| matches!(one, Disturbance::Stale { before, .. } if *before == point))
    }

    /// Remembers it.
    pub(crate) fn remember(&mut self, revision: String) {
        self.stale_revision = Some(revision);
    }

    /// The address for a list, if it is to be stale. Only what fills caches is: a list in pages, or one of any version.
    /// Whoever lists without either is promised the present by the API server, and gets it.
    pub(crate) fn stale(&mut self, uri: &http::Uri) -> Option<String> {
        let revision = self.stale_revision.clone()?;
        let fills_cache = parameter(uri, "limit").is_some() || parameter(uri, "resourceVersion") == Some("0");
        if !fills_cache || parameter(uri, "continue").is_some() {
            return None;
        }
        let plain = with_parameters(uri, &[("resourceVersion", ""), ("resourceVersionMatch", "")]);
        if !self.stale_lists.as_mut()?.insert(plain) {
            return None;
        }
        Some(with_parameters(uri, &[("resourceVersion", &revision), ("resourceVersionMatch", "Exact")]))
    }

    /// Until when watches wait.
    pub(crate) fn held(&self) -> Option<tokio::time::Instant> {
        self.hold_until
    }

    /// The order of a list's items.
    pub(crate) fn shuffle(&self, number: u64) -> Option<Chance> {
        self.disturbances.iter().find_map(|one| match one {
            Disturbance::ShuffleLists { seed } => Some(Chance::new(*seed, number)),
            _ => None,
        })
    }

    /// What becomes of an event about this object.
    pub(crate) fn event(&mut self, kind: &str, name: &str) -> Verdict {
        self.events_seen += 1;
        let object = mask::text(&format!("{kind}/{name}"), "");
        let count = self.events.entry(object.clone()).or_default();
        *count += 1;
        let change = *count;
        if self.once(&Disturbance::HideEvent { object, change }) {
            return Verdict::Hide;
        }
        let seen = self.events_seen;
        let ends = self.disturbances.iter().any(|one| match one {
            Disturbance::EndWatches { seed, one_in } => Chance::new(*seed, seen).one_in(*one_in),
            _ => false,
        });
        if ends { Verdict::DeliverAndEnd } else { Verdict::Deliver }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn point(number: usize) -> Point {
        Point { class: Class::Object, number }
    }

    #[test]
    fn writes_are_numbered_within_their_class() {
        let mut record = Record::default();
        for class in [Class::Object, Class::Status, Class::Object] {
            record.write(class, "PATCH", "/x");
        }
        let points: Vec<_> =
            record.writes.iter().map(|write| (write.point.class, write.point.number)).collect();
        assert_eq!(points, [(Class::Object, 1), (Class::Status, 1), (Class::Object, 2)]);
    }

    #[test]
    fn a_kill_happens_once() {
        let kill = Disturbance::Kill(Moment::After, point(2));
        let mut record = Record { disturbances: vec![kill], ..Record::default() };
        assert!(!record.kills(Moment::After, point(1)));
        assert!(!record.kills(Moment::Before, point(2)));
        assert!(record.kills(Moment::After, point(2)));
        assert!(!record.kills(Moment::After, point(2)));
        assert_eq!(record.kills, [(Moment::After, point(2))]);
    }

    #[test]
    fn lists_are_stale_once_each_after_a_kill() {
        let disturbances = vec![
            Disturbance::Stale { before: point(1), hold: Duration::from_secs(1) },
            Disturbance::Kill(Moment::Before, point(2)),
        ];
        let mut record = Record { disturbances, ..Record::default() };
        let pods: http::Uri = "/api/v1/pods?resourceVersion=0&limit=5".parse().expect("an address");
        let present: http::Uri = "/api/v1/pods".parse().expect("an address");
        let again: http::Uri = "/api/v1/pods?limit=5".parse().expect("an address");
        assert!(record.remembers(point(1)));
        record.remember("41".into());
        assert_eq!(record.stale(&pods), None, "not before the kill");
        assert!(record.kills(Moment::Before, point(2)));
        assert_eq!(record.stale(&present), None, "the present was asked for");
        let stale = record.stale(&pods);
        assert_eq!(
            stale.as_deref(),
            Some("/api/v1/pods?limit=5&resourceVersion=41&resourceVersionMatch=Exact")
        );
        assert_eq!(record.stale(&again), None, "the second one is fresh");
        assert!(record.held().is_some());
    }

    #[test]
    fn the_named_change_of_an_object_is_hidden() {
        let hide = Disturbance::HideEvent { object: "Pod/a-*".into(), change: 2 };
        let mut record = Record { disturbances: vec![hide], ..Record::default() };
        let mut seen = |name: &str| record.event("Pod", name);
        assert_eq!(seen("a-0a1b2c3d"), Verdict::Deliver);
        assert_eq!(seen("b"), Verdict::Deliver);
        assert_eq!(seen("a-0a1b2c3d"), Verdict::Hide);
        assert_eq!(seen("a-0a1b2c3d"), Verdict::Deliver);
        assert_eq!(record.events["Pod/a-*"], 3);
    }
}
