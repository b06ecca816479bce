//! The canary: where its records go, and what follows from what became of them.
//!
//! Its topic is one like any other to whoever plans: it is moved, drained and counted. So it is made such that nobody has to wait for it
//! (`docs/decisions/0016-the-canary.md`), and it is made anew where it no longer fits, since there is nothing in it to keep.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::condition::Status;

use crate::observed::{Partition, Registered};

/// The canary's topic.
pub const TOPIC: &str = "__ballast_canary";

/// Replicas of each partition, where there are as many brokers: a broker whose volume is lost then never had the only copy.
const REPLICAS: usize = 2;

/// What became of the record for one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was written and read back.
    Passed,
    /// It was not, and why.
    Failed(String),
    /// None was written through this broker, and why.
    Untested(String),
}

/// What became of the records of one round, by broker.
pub type Outcomes = BTreeMap<i32, Outcome>;

/// What a round does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the topic: the brokers of each partition, who is to lead it first.
    Create(Vec<Vec<i32>>),
    /// Delete the topic, since it no longer fits the brokers; the next round makes it.
    Remake,
    /// Write to these partitions.
    Try {
        /// By the broker that leads it: a partition.
        partitions: BTreeMap<i32, i32>,
        /// Brokers through which nothing can be written, and what is known of them.
        others: Outcomes,
    },
}

/// What to do, for the brokers that are wanted and are not being emptied; `registered` and `partitions` are all that Kafka knows.
///
/// A broker that has nothing, while others have something, gets no partition: it is to get its share first, and has it no longer
/// if it has something.
pub fn step(wanted: &BTreeSet<i32>, registered: &[Registered], partitions: &[Partition]) -> Step {
    let (mine, others): (Vec<&Partition>, Vec<&Partition>) =
        partitions.iter().partition(|partition| partition.topic == TOPIC);
    let has = |id: i32| others.iter().any(|partition| partition.replicas.contains(&id));
    let takers: Vec<&Registered> = registered
        .iter()
        .filter(|broker| wanted.contains(&broker.id) && !broker.fenced)
        .filter(|broker| others.is_empty() || has(broker.id))
        .collect();
    if mine.is_empty() && !takers.is_empty() {
        return Step::Create(layout(&takers));
    }
    if !mine.is_empty() && !takers.is_empty() && !fits(wanted, &takers, &mine) {
        return Step::Remake;
    }
    let led = |id: i32| mine.iter().find(|partition| partition.leader == Some(id));
    let mut step = (BTreeMap::new(), Outcomes::new());
    for id in wanted {
        match (registered.iter().find(|broker| broker.id == *id), led(*id)) {
            (Some(broker), _) if broker.fenced => {
                step.1.insert(*id, Outcome::Failed("it is fenced, so it serves nobody".to_owned()));
            }
            (Some(_), Some(partition)) => {
                step.0.insert(*id, partition.index);
            }
            (Some(_), None) => {
                step.1.insert(*id, Outcome::Untested(format!("it leads no partition of {TOPIC} now")));
            }
            (None, _) => {
                step.1.insert(*id, Outcome::Untested("it is not registered".to_owned()));
            }
        }
    }
    Step::Try { partitions: step.0, others: step.1 }
}

/// A partition for each broker, the others' racks first.
fn layout(takers: &[&Registered]) -> Vec<Vec<i32>> {
    let replicas = |(at, first): (usize, &&Registered)| {
        let mut next: Vec<&&Registered> = takers.iter().cycle().skip(at + 1).take(takers.len() - 1).collect();
        next.sort_by_key(|broker| broker.rack == first.rack);
        let next = next.into_iter().map(|broker| broker.id).take(REPLICAS - 1);
        std::iter::once(first.id).chain(next).collect()
    };
    takers.iter().enumerate().map(replicas).collect()
}

/// Whether every broker leads a partition or is meant to, and copies are as many as they can be.
fn fits(wanted: &BTreeSet<i32>, takers: &[&Registered], mine: &[&Partition]) -> bool {
    let copies = mine.iter().map(|partition| partition.replicas.len());
    let too_few = copies.clone().any(|copies| copies < REPLICAS.min(takers.len()));
    // They could not leave the brokers that leave.
    let too_many = copies.clone().any(|copies| copies > 1) && wanted.len() < REPLICAS;
    // What is being moved has more replicas for as long as that takes.
    let moves = copies.into_iter().any(|copies| copies > REPLICAS);
    let has_one = |id: i32| {
        let its =
            |partition: &&&Partition| partition.leader == Some(id) || partition.replicas.first() == Some(&id);
        mine.iter().any(|partition| its(&partition))
    };
    let covered = takers.iter().all(|broker| has_one(broker.id));
    !too_few && !too_many && (moves || covered)
}

/// The condition `CanaryPassing`: status, reason and message. `outcomes`: of the last round, unless it is too old to tell anything.
pub fn condition(wanted: &BTreeSet<i32>, outcomes: Option<&Outcomes>) -> (Status, &'static str, String) {
    let Some(outcomes) = outcomes else {
        return (Status::Unknown, "CanaryNotRun", "no record has been written and read back yet".to_owned());
    };
    let (mut failed, mut untested) = (vec![], vec![]);
    for id in wanted {
        match outcomes.get(id) {
            Some(Outcome::Passed) => {}
            Some(Outcome::Failed(why)) => failed.push(format!("broker {id}: {why}")),
            Some(Outcome::Untested(why)) => untested.push(format!("broker {id}: {why}")),
            None => untested.push(format!("broker {id}: no record was written yet")),
        }
    }
    if !failed.is_empty() {
        return (Status::False, "RecordsDoNotPass", failed.join("; "));
    }
    if !untested.is_empty() || wanted.is_empty() {
        return (Status::Unknown, "BrokersUntested", untested.join("; "));
    }
    let ids: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    (Status::True, "RecordsPass", format!("records pass through the brokers {}", ids.join(", ")))
}

#[cfg(test)]
#[path = "canary_tests.rs"]
mod tests;
