//! The ledger itself: what was attempted, what was acknowledged, and whether that is what is stored. Pure.
//!
//! Values are numbered attempts, written in turn to a fixed set of keys. For one key three things must hold in the
//! end, and together they find a lost write even if a later one hid it:
//! * its value is the last acknowledged one, or one of unknown outcome that was applied after it;
//! * its revision is the acknowledged one, or later if the value is one of unknown outcome;
//! * its version, which the server counts from 1, is at least the number of acknowledged writes, and at most that
//!   plus the number of unknown ones.
//!
//! Times are milliseconds on a clock that never goes back.

use std::collections::BTreeMap;

use serde::Serialize;

/// Entries of a list in an answer, at most; the counts beside it are complete.
const LISTED: usize = 100;

/// A write that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Index of the key.
    slot: u64,
    /// The number that is written; no two attempts have the same.
    value: u64,
}

/// What the server holds for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The value, as read.
    pub(crate) value: String,
    /// Revision of the last change.
    pub(crate) revision: i64,
    /// Number of changes.
    pub(crate) version: i64,
}

/// What a server said to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// Revision of the write.
    pub(crate) revision: i64,
    /// Id of the cluster that acknowledged it.
    pub(crate) cluster: u64,
}

#[derive(Debug, Default)]
struct Slot {
    acknowledged: u64,
    last: Option<(u64, i64)>,
    unknown: Vec<u64>,
}

/// A key whose acknowledged writes are not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wrong {
    /// The key; empty if the finding is not about one key.
    key: String,
    /// What is wrong.
    why: String,
}

/// The result of comparing the ledger with what is stored.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    /// Everything acknowledged is there, and everything could be read.
    pub(crate) ok: bool,
    /// Acknowledged writes that were checked.
    pub(crate) checked: u64,
    /// Keys that do not exist, the first hundred.
    pub(crate) missing: Vec<Wrong>,
    /// How many there are.
    pub(crate) missing_count: usize,
    /// Keys that hold something else, the first hundred.
    pub(crate) wrong: Vec<Wrong>,
    /// How many there are.
    pub(crate) wrong_count: usize,
    /// Reads that failed: with any, the comparison is incomplete.
    pub(crate) errors: Vec<String>,
}

/// What was attempted and acknowledged.
#[derive(Debug)]
pub(crate) struct Ledger {
    prefix: String,
    keys: u64,
    limit: usize,
    attempts: u64,
    acknowledged: u64,
    failed: u64,
    slots: BTreeMap<u64, Slot>,
    unknown: usize,
    last: Option<Acknowledgement>,
    violations: Vec<Wrong>,
    violation_count: usize,
    last_acknowledged: Option<u64>,
    last_error: Option<(u64, String)>,
    gap: Gap,
}

/// The longest time without an acknowledgement.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Counted from here; `None` before the first acknowledgement and while paused.
    since: Option<u64>,
    longest: u64,
    ended: Option<u64>,
}

impl Gap {
    fn acknowledged(&mut self, now: u64) {
        *self = self.until(now);
        self.since = Some(now);
    }

    /// With the gap that is still open.
    fn until(mut self, now: u64) -> Self {
        let open = self.since.map_or(0, |since| now.saturating_sub(since));
        if open > self.longest {
            self.longest = open;
            self.ended = Some(now);
        }
        self
    }

    /// How long it was, in milliseconds.
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// When it ended, or now if it is still open; `None` if there was none.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }
}

impl Ledger {
    /// A ledger over `keys` keys under `prefix`, that stops at `limit` records in memory.
    pub(crate) fn new(prefix: String, keys: u64, limit: usize) -> Self {
        Self {
            prefix,
            keys: keys.max(1),
            limit,
            attempts: 0,
            acknowledged: 0,
            failed: 0,
            slots: BTreeMap::new(),
            unknown: 0,
            last: None,
            violations: vec![],
            violation_count: 0,
            last_acknowledged: None,
            last_error: None,
            gap: Gap::default(),
        }
    }

    /// Prefix of all keys.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The key of an attempt.
    pub(crate) fn key(&self, attempt: &Attempt) -> String {
        self.slot_key(attempt.slot)
    }

    fn slot_key(&self, slot: u64) -> String {
        format!("{}{slot:08}", self.prefix)
    }

    /// The value of an attempt.
    pub(crate) fn value(attempt: &Attempt) -> String {
        attempt.value.to_string()
    }

    /// The next write; `None` when the memory that may be used is full.
    pub(crate) fn next(&mut self) -> Option<Attempt> {
        if self.is_full() {
            return None;
        }
        let value = self.attempts;
        self.attempts += 1;
        Some(Attempt { slot: value % self.keys, value })
    }

    /// Whether the memory that may be used is full.
    pub(crate) fn is_full(&self) -> bool {
        self.records() >= self.limit
    }

    /// Records in memory.
    pub(crate) fn records(&self) -> usize {
        self.slots.len() + self.unknown
    }

    /// Acknowledged writes.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Writes that failed or timed out; each may or may not have been applied.
    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }

    /// When the last acknowledgement came.
    pub(crate) fn last_acknowledged(&self) -> Option<u64> {
        self.last_acknowledged
    }

    /// When a write last failed, and why.
    pub(crate) fn last_error(&self) -> Option<(u64, &str)> {
        self.last_error.as_ref().map(|(at, error)| (*at, error.as_str()))
    }

    /// The longest time without an acknowledgement, the present one included.
    pub(crate) fn gap(&self, now: u64) -> Gap {
        self.gap.until(now)
    }

    /// Forgets the longest gap; counts from now.
    pub(crate) fn reset_gap(&mut self, now: u64) {
        self.gap = Gap { since: self.gap.since.map(|_| now), ..Gap::default() };
    }

    /// Writing stops on purpose: the time until the next acknowledgement is nobody's fault.
    pub(crate) fn pause(&mut self, now: u64) {
        self.gap = self.gap.until(now);
        self.gap.since = None;
    }

    /// Writing starts again.
    pub(crate) fn resume(&mut self, now: u64) {
        if self.gap.since.is_none() && self.last_acknowledged.is_some() {
            self.gap.since = Some(now);
        }
    }

    /// A write was acknowledged.
    pub(crate) fn acknowledge(&mut self, attempt: &Attempt, acknowledgement: Acknowledgement, now: u64) {
        if let Some(last) = self.last {
            if last.cluster != acknowledgement.cluster {
                let why = format!(
                    "cluster {:x} acknowledged write {} after cluster {:x} had acknowledged others",
                    acknowledgement.cluster, attempt.value, last.cluster
                );
                self.violation(attempt.slot, why);
            }
            if last.revision >= acknowledgement.revision {
                let why = format!(
                    "write {} was acknowledged at revision {}, after revision {} had been acknowledged",
                    attempt.value, acknowledgement.revision, last.revision
                );
                self.violation(attempt.slot, why);
            }
        }
        self.last = Some(acknowledgement);
        self.acknowledged += 1;
        self.last_acknowledged = Some(now);
        self.gap.acknowledged(now);
        let slot = self.slots.entry(attempt.slot).or_default();
        slot.acknowledged += 1;
        slot.last = Some((attempt.value, acknowledgement.revision));
    }

    /// A write failed or timed out: it may or may not have been applied, or may still be.
    pub(crate) fn fail(&mut self, attempt: &Attempt, error: String, now: u64) {
        self.failed += 1;
        self.unknown += 1;
        self.last_error = Some((now, error));
        self.slots.entry(attempt.slot).or_default().unknown.push(attempt.value);
    }

    fn violation(&mut self, slot: u64, why: String) {
        self.violation_count += 1;
        if self.violations.len() < LISTED {
            self.violations.push(Wrong { key: self.slot_key(slot), why });
        }
    }

    /// Compares with what is stored now, by key. `errors` are the reads that failed.
    pub(crate) fn verify(&self, stored: &BTreeMap<String, Stored>, errors: Vec<String>) -> Verdict {
        let mut verdict = Verdict {
            wrong: self.violations.clone(),
            wrong_count: self.violation_count,
            errors,
            ..Verdict::default()
        };
        if verdict.errors.is_empty() {
            for (slot, record) in &self.slots {
                let key = self.slot_key(*slot);
                verdict.checked += record.acknowledged;
                record.judge(key, stored, &mut verdict);
            }
        }
        verdict.ok = verdict.errors.is_empty() && verdict.missing_count == 0 && verdict.wrong_count == 0;
        verdict
    }
}

impl Slot {
    fn judge(&self, key: String, stored: &BTreeMap<String, Stored>, verdict: &mut Verdict) {
        let Some((value, revision)) = self.last else { return };
        let why = match stored.get(&key) {
            None => {
                verdict.missing_count += 1;
                if verdict.missing.len() < LISTED {
                    let why = format!("value {value} was acknowledged at revision {revision}");
                    verdict.missing.push(Wrong { key, why });
                }
                return;
            }
            Some(found) => self.difference(value, revision, found),
        };
        if let Some(why) = why {
            verdict.wrong_count += 1;
            if verdict.wrong.len() < LISTED {
                verdict.wrong.push(Wrong { key, why });
            }
        }
    }

    fn difference(&self, value: u64, revision: i64, found: &Stored) -> Option<String> {
        let acknowledged = found.value == value.to_string();
        let unknown = self.unknown.iter().any(|attempt| found.value == attempt.to_string());
        if acknowledged && found.revision != revision {
            return Some(format!(
                "value {value} was acknowledged at revision {revision}, and is there at revision {}",
                found.revision
            ));
        }
        if !acknowledged && !(unknown && found.revision > revision) {
            return Some(format!(
                "value {value} was acknowledged at revision {revision}, but {:?} is there, of revision {}",
                found.value, found.revision
            ));
        }
        let version = u64::try_from(found.version).unwrap_or(0);
        let most = self.acknowledged + self.unknown.len() as u64;
        (version < self.acknowledged || version > most).then(|| {
            format!(
                "{} writes were acknowledged and {} have an unknown outcome, but the key was changed {version} times",
                self.acknowledged,
                self.unknown.len()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: u64 = 7;

    fn ledger(keys: u64) -> Ledger {
        Ledger::new("ledger/run/".into(), keys, 100)
    }

    /// A server that applies writes.
    #[derive(Default)]
    struct Server {
        revision: i64,
        stored: BTreeMap<String, Stored>,
    }

    impl Server {
        fn put(&mut self, key: String, value: String) -> Acknowledgement {
            self.revision += 1;
            let version = self.stored.get(&key).map_or(0, |stored| stored.version) + 1;
            self.stored.insert(key, Stored { value, revision: self.revision, version });
            Acknowledgement { revision: self.revision, cluster: CLUSTER }
        }

        fn write(&mut self, ledger: &mut Ledger, now: u64) {
            let attempt = ledger.next().unwrap();
            let acknowledgement = self.put(ledger.key(&attempt), Ledger::value(&attempt));
            ledger.acknowledge(&attempt, acknowledgement, now);
        }
    }

    #[test]
    fn everything_acknowledged_and_there_is_ok() {
        let (mut ledger, mut server) = (ledger(3), Server::default());
        for now in 0..10 {
            server.write(&mut ledger, now);
        }
        let verdict = ledger.verify(&server.stored, vec![]);
        assert!(verdict.ok, "{verdict:?}");
        assert_eq!((verdict.checked, ledger.acknowledged(), ledger.records()), (10, 10, 3));
    }

    #[test]
    fn a_lost_key_is_missing() {
        let (mut ledger, mut server) = (ledger(3), Server::default());
        server.write(&mut ledger, 0);
        server.stored.clear();
        let verdict = ledger.verify(&server.stored, vec![]);
        assert!(!verdict.ok);
        assert_eq!(verdict.missing_count, 1);
        assert_eq!(verdict.missing[0].key, "ledger/run/00000000");
    }

    #[test]
    fn an_older_value_is_wrong() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        server.write(&mut ledger, 0);
        let before = server.stored.clone();
        server.write(&mut ledger, 1);
        assert!(ledger.verify(&server.stored, vec![]).ok);
        assert_eq!(ledger.verify(&before, vec![]).wrong_count, 1);
    }

    #[test]
    fn a_lost_write_that_a_later_one_hides_is_found() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        server.write(&mut ledger, 0);
        let before = server.stored.clone();
        server.write(&mut ledger, 1);
        server.stored = before;
        server.write(&mut ledger, 2);
        let verdict = ledger.verify(&server.stored, vec![]);
        assert_eq!(verdict.wrong_count, 1, "{verdict:?}");
        assert!(verdict.wrong[0].why.contains("changed 2 times"), "{verdict:?}");
    }

    #[test]
    fn a_write_of_unknown_outcome_may_be_there_or_not() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        server.write(&mut ledger, 0);
        let lost = ledger.next().unwrap();
        ledger.fail(&lost, "timed out".into(), 1);
        assert!(ledger.verify(&server.stored, vec![]).ok, "not applied");
        server.put(ledger.key(&lost), Ledger::value(&lost));
        assert!(ledger.verify(&server.stored, vec![]).ok, "applied");
        assert_eq!(ledger.failed(), 1);
        assert_eq!(ledger.last_error(), Some((1, "timed out")));
    }

    #[test]
    fn a_write_of_unknown_outcome_may_be_applied_after_a_later_one() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        let late = ledger.next().unwrap();
        ledger.fail(&late, "timed out".into(), 0);
        server.write(&mut ledger, 1);
        server.put(ledger.key(&late), Ledger::value(&late));
        assert!(ledger.verify(&server.stored, vec![]).ok);
        let old = server.stored.values_mut().next().unwrap();
        old.revision = 1;
        assert!(!ledger.verify(&server.stored, vec![]).ok, "but not from before it");
    }

    #[test]
    fn a_key_without_an_acknowledgement_is_not_expected() {
        let mut ledger = ledger(3);
        let attempt = ledger.next().unwrap();
        ledger.fail(&attempt, "refused".into(), 0);
        let verdict = ledger.verify(&BTreeMap::new(), vec![]);
        assert!(verdict.ok);
        assert_eq!(verdict.checked, 0);
    }

    #[test]
    fn a_value_that_was_never_attempted_is_wrong() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        server.write(&mut ledger, 0);
        server.put("ledger/run/00000000".into(), "foreign".into());
        assert_eq!(ledger.verify(&server.stored, vec![]).wrong_count, 1);
    }

    #[test]
    fn the_same_write_applied_twice_is_wrong() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        server.write(&mut ledger, 0);
        server.put("ledger/run/00000000".into(), "0".into());
        assert_eq!(ledger.verify(&server.stored, vec![]).wrong_count, 1);
    }

    #[test]
    fn a_revision_that_goes_back_and_another_cluster_are_findings() {
        let mut ledger = ledger(100);
        for (revision, cluster) in [(5, 1), (4, 1), (6, 2)] {
            let attempt = ledger.next().unwrap();
            ledger.acknowledge(&attempt, Acknowledgement { revision, cluster }, 0);
        }
        assert_eq!(ledger.violation_count, 2);
        let verdict = ledger.verify(&BTreeMap::new(), vec![]);
        assert_eq!((verdict.wrong_count, verdict.missing_count), (2, 3));
    }

    #[test]
    fn failed_reads_are_no_verdict_about_keys() {
        let (mut ledger, mut server) = (ledger(1), Server::default());
        server.write(&mut ledger, 0);
        let verdict = ledger.verify(&BTreeMap::new(), vec!["timed out".into()]);
        assert_eq!((verdict.ok, verdict.checked, verdict.missing_count), (false, 0, 0));
    }

    #[test]
    fn memory_is_bounded() {
        let mut ledger = Ledger::new(String::new(), 10, 5);
        for _ in 0..5 {
            let attempt = ledger.next().unwrap();
            ledger.fail(&attempt, String::new(), 0);
        }
        assert!(ledger.is_full());
        assert_eq!(ledger.next(), None);
    }

    #[test]
    fn the_longest_gap_is_between_two_acknowledgements() {
        let (mut ledger, mut server) = (ledger(3), Server::default());
        assert_eq!(ledger.gap(10_000).longest(), 0, "nothing counts before the first");
        for now in [10_000, 10_020, 10_520, 10_540] {
            server.write(&mut ledger, now);
        }
        let gap = ledger.gap(10_560);
        assert_eq!((gap.longest(), gap.ended()), (500, Some(10_520)));
    }

    #[test]
    fn a_gap_that_is_still_open_counts() {
        let (mut ledger, mut server) = (ledger(3), Server::default());
        server.write(&mut ledger, 0);
        let attempt = ledger.next().unwrap();
        ledger.fail(&attempt, "timed out".into(), 2_000);
        assert_eq!(ledger.gap(3_000).longest(), 3_000);
    }

    #[test]
    fn a_reset_forgets_the_gap_but_counts_on() {
        let (mut ledger, mut server) = (ledger(3), Server::default());
        server.write(&mut ledger, 0);
        ledger.reset_gap(5_000);
        assert_eq!(ledger.gap(5_100).longest(), 100);
        server.write(&mut ledger, 5_300);
        assert_eq!(ledger.gap(5_310).longest(), 300);
    }

    #[test]
    fn a_pause_is_not_a_gap() {
        let (mut ledger, mut server) = (ledger(3), Server::default());
        server.write(&mut ledger, 0);
        ledger.pause(50);
        assert_eq!(ledger.gap(9_000).longest(), 50);
        ledger.resume(9_000);
        server.write(&mut ledger, 9_020);
        assert_eq!(ledger.gap(9_030).longest(), 50);
    }
}
