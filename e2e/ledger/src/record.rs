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

use crate::gap::Gap;

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
        self.gap.reset(now);
    }

    /// Writing stops on purpose: the time until the next acknowledgement is nobody's fault.
    pub(crate) fn pause(&mut self, now: u64) {
        self.gap.pause(now);
    }

    /// Writing starts again.
    pub(crate) fn resume(&mut self, now: u64) {
        if self.last_acknowledged.is_some() {
            self.gap.resume(now);
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
        let applied_later = unknown && found.revision > revision;
        if !acknowledged && !applied_later {
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
mod tests;
