//! The ledger of a Kafka topic: what was written, what came of it, and whether that is what the topic holds. Pure.
//!
//! Records are numbered from 0. Each has a key, each key belongs to one partition, and a key's records are written in the
//! order of their numbers by one idempotent producer. So in the end must hold:
//! * each acknowledged record is there exactly once, in the partition and at the offset that were acknowledged;
//! * one that was not acknowledged is there once or not at all;
//! * in the order of offsets, the numbers of each key ascend;
//! * the offsets that a partition acknowledged ascend with the numbers.
//!
//! Times are milliseconds on a clock that never goes back.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::gap::Gap;

/// Entries of a list in an answer, at most; the counts beside it are complete.
const LISTED: usize = 100;

/// A record that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Its number; no two have the same.
    pub(crate) number: u64,
    /// Index of its key.
    pub(crate) key: u64,
    /// The partition that it is written to.
    pub(crate) partition: i32,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// What came of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing yet.
    Unknown,
    Acknowledged(Place),
    /// The producer gave up: it may be there or not.
    Failed,
}

/// A record as it was read from the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) place: Place,
    pub(crate) number: u64,
}

/// What is wrong with one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wrong {
    /// Its number.
    pub(crate) record: u64,
    /// What is wrong.
    pub(crate) why: String,
}

/// The ledger compared with what was read.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    /// Everything acknowledged is there as it should be, and everything could be read.
    pub(crate) ok: bool,
    /// Acknowledged records that were checked.
    pub(crate) checked: u64,
    /// Acknowledged records that are not there, the first hundred.
    pub(crate) missing: Vec<Wrong>,
    /// How many there are.
    pub(crate) missing_count: usize,
    /// Records that are there in another way than they should be, the first hundred.
    pub(crate) wrong: Vec<Wrong>,
    /// How many findings there are.
    pub(crate) wrong_count: usize,
    /// Records that were not acknowledged and are there all the same, which they may be.
    pub(crate) unacknowledged_present: u64,
    /// Records whose acknowledgement failed, by the code of the error.
    pub(crate) failures: BTreeMap<String, u64>,
    /// Records of which nothing was heard.
    pub(crate) unknown: u64,
    /// Reads that failed: with any, the comparison is incomplete.
    pub(crate) errors: Vec<String>,
}

impl Verdict {
    fn missing(&mut self, record: u64, why: String) {
        self.missing_count += 1;
        if self.missing.len() < LISTED {
            self.missing.push(Wrong { record, why });
        }
    }

    fn wrong(&mut self, record: u64, why: String) {
        self.wrong_count += 1;
        if self.wrong.len() < LISTED {
            self.wrong.push(Wrong { record, why });
        }
    }
}

/// What was written and what came of it.
#[derive(Debug)]
pub(crate) struct Ledger {
    partitions: i32,
    keys: u64,
    limit: usize,
    /// By number.
    outcomes: Vec<Outcome>,
    acknowledged: u64,
    failures: BTreeMap<String, u64>,
    last_acknowledged: Option<u64>,
    last_error: Option<(u64, String)>,
    gap: Gap,
}

impl Ledger {
    /// A ledger over a topic with so many partitions, of at most `limit` records with `keys` keys; every partition has at
    /// least one key.
    pub(crate) fn new(partitions: i32, keys: u64, limit: usize) -> Self {
        let partitions = partitions.max(1);
        Self {
            partitions,
            keys: keys.max(u64::from(partitions.unsigned_abs())),
            limit,
            outcomes: vec![],
            acknowledged: 0,
            failures: BTreeMap::new(),
            last_acknowledged: None,
            last_error: None,
            gap: Gap::default(),
        }
    }

    fn attempt(&self, number: u64) -> Attempt {
        let key = number % self.keys;
        let partition = key % u64::from(self.partitions.unsigned_abs());
        // Less than the number of partitions, which is one of these.
        Attempt { number, key, partition: i32::try_from(partition).unwrap_or(0) }
    }

    /// The next record; `None` when the memory that may be used is full.
    pub(crate) fn next(&mut self) -> Option<Attempt> {
        if self.is_full() {
            return None;
        }
        let attempt = self.attempt(self.outcomes.len() as u64);
        self.outcomes.push(Outcome::Unknown);
        Some(attempt)
    }

    /// Whether the memory that may be used is full.
    pub(crate) fn is_full(&self) -> bool {
        self.outcomes.len() >= self.limit
    }

    /// Records that were written, whatever came of them.
    pub(crate) fn records(&self) -> usize {
        self.outcomes.len()
    }

    /// Acknowledged records.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Records that the producer gave up, by the code of the error.
    pub(crate) fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// Records of which nothing has been heard yet.
    pub(crate) fn unknown(&self) -> u64 {
        self.outcomes.len() as u64 - self.acknowledged - self.failures.values().sum::<u64>()
    }

    /// When the last acknowledgement came.
    pub(crate) fn last_acknowledged(&self) -> Option<u64> {
        self.last_acknowledged
    }

    /// When a record last failed, and with which code.
    pub(crate) fn last_error(&self) -> Option<(u64, &str)> {
        self.last_error.as_ref().map(|(at, code)| (*at, code.as_str()))
    }

    /// The longest time without an acknowledgement, the present one included.
    pub(crate) fn gap(&self, now: u64) -> Gap {
        self.gap.until(now)
    }

    /// Forgets the longest gap; counts from now.
    pub(crate) fn reset_gap(&mut self, now: u64) {
        self.gap.reset(now);
    }

    /// Nothing more is written: what comes after is no gap.
    pub(crate) fn stop(&mut self, now: u64) {
        self.gap.pause(now);
    }

    fn settle(&mut self, number: u64, outcome: Outcome) -> bool {
        let slot = usize::try_from(number).ok().and_then(|number| self.outcomes.get_mut(number));
        match slot {
            Some(slot) if *slot == Outcome::Unknown => {
                *slot = outcome;
                true
            }
            _ => false,
        }
    }

    /// A record was acknowledged.
    pub(crate) fn acknowledge(&mut self, number: u64, place: Place, now: u64) {
        if self.settle(number, Outcome::Acknowledged(place)) {
            self.acknowledged += 1;
            self.last_acknowledged = Some(now);
            self.gap.acknowledged(now);
        }
    }

    /// The producer gave a record up, with this code.
    pub(crate) fn fail(&mut self, number: u64, code: String, now: u64) {
        if self.settle(number, Outcome::Failed) {
            *self.failures.entry(code.clone()).or_default() += 1;
            self.last_error = Some((now, code));
        }
    }

    /// Of each partition, the offset after the last one that was acknowledged: a reader must come this far.
    pub(crate) fn ends(&self) -> BTreeMap<i32, i64> {
        let mut ends: BTreeMap<i32, i64> = (0..self.partitions).map(|partition| (partition, 0)).collect();
        for outcome in &self.outcomes {
            if let Outcome::Acknowledged(place) = outcome {
                let end = ends.entry(place.partition).or_default();
                *end = (*end).max(place.offset + 1);
            }
        }
        ends
    }

    /// Compares with what the topic holds. `errors` are the reads that failed.
    pub(crate) fn verify(&self, read: &[Read], errors: Vec<String>) -> Verdict {
        let mut verdict = Verdict {
            failures: self.failures.clone(),
            unknown: self.unknown(),
            errors,
            ..Verdict::default()
        };
        self.check_acknowledged_order(&mut verdict);
        if verdict.errors.is_empty() {
            let places = self.check_read_order(read, &mut verdict);
            self.check_places(&places, &mut verdict);
        }
        verdict.ok = verdict.errors.is_empty() && verdict.missing_count == 0 && verdict.wrong_count == 0;
        verdict
    }

    fn check_acknowledged_order(&self, verdict: &mut Verdict) {
        let mut last: BTreeMap<i32, i64> = BTreeMap::new();
        for (number, outcome) in (0..).zip(&self.outcomes) {
            let Outcome::Acknowledged(Place { partition, offset }) = *outcome else { continue };
            let asked = self.attempt(number).partition;
            if asked != partition {
                let why = format!("written to partition {asked}, acknowledged in {partition}");
                verdict.wrong(number, why);
            }
            if let Some(before) = last.insert(partition, offset).filter(|before| *before >= offset) {
                let why = format!(
                    "acknowledged at offset {offset} of partition {partition}, after offset {before} had been for an earlier record"
                );
                verdict.wrong(number, why);
            }
        }
    }

    /// Where each record is, by number.
    fn check_read_order(&self, read: &[Read], verdict: &mut Verdict) -> BTreeMap<u64, Vec<Place>> {
        let mut places: BTreeMap<u64, Vec<Place>> = BTreeMap::new();
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        let mut sorted = read.to_vec();
        sorted.sort_by_key(|read| (read.place.partition, read.place.offset));
        for Read { place, number } in sorted {
            if number >= self.outcomes.len() as u64 {
                verdict.wrong(number, format!("never written, and there at {place}"));
                continue;
            }
            let key = self.attempt(number).key;
            let before = last.insert(key, number);
            if let Some(before) = before.filter(|before| *before > number) {
                verdict.wrong(number, format!("at {place}, after the later record {before} of the same key"));
            }
            places.entry(number).or_default().push(place);
        }
        places
    }

    fn check_places(&self, places: &BTreeMap<u64, Vec<Place>>, verdict: &mut Verdict) {
        for (number, outcome) in (0..).zip(&self.outcomes) {
            let there = places.get(&number).map_or(&[][..], Vec::as_slice);
            if there.len() > 1 {
                let listed: Vec<String> = there.iter().map(ToString::to_string).collect();
                verdict.wrong(number, format!("there {} times: {}", there.len(), listed.join(", ")));
            }
            match outcome {
                Outcome::Acknowledged(place) => {
                    verdict.checked += 1;
                    match there {
                        [] => verdict.missing(number, format!("acknowledged at {place}")),
                        [one] if one != place => {
                            verdict.wrong(number, format!("acknowledged at {place}, there at {one}"));
                        }
                        _ => {}
                    }
                }
                Outcome::Unknown | Outcome::Failed if !there.is_empty() => {
                    verdict.unacknowledged_present += 1;
                }
                Outcome::Unknown | Outcome::Failed => {}
            }
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "offset {} of partition {}", self.offset, self.partition)
    }
}

/// What a consumer saw that reads while it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Live {
    /// Records that it read.
    pub(crate) read: u64,
    /// Records that it read although it had read the same number before.
    pub(crate) read_again: u64,
    /// Records whose offset was not after the one before, in their partition.
    pub(crate) went_back: u64,
    #[serde(skip)]
    last: BTreeMap<i32, i64>,
    #[serde(skip)]
    seen: Vec<bool>,
}

impl Live {
    /// It read this one.
    pub(crate) fn see(&mut self, read: Read) {
        self.read += 1;
        let Read { place, number } = read;
        let last = self.last.insert(place.partition, place.offset);
        if last.is_some_and(|last| place.offset <= last) {
            self.went_back += 1;
        }
        let Ok(number) = usize::try_from(number) else { return };
        if self.seen.len() <= number {
            self.seen.resize(number + 1, false);
        }
        if std::mem::replace(&mut self.seen[number], true) {
            self.read_again += 1;
        }
    }
}

#[cfg(test)]
mod tests;
