//! `spec.canary`: what its condition tells, and that its topic holds nobody up.

use ballast_kafka_core::canary::{Outcome, Outcomes, TOPIC};
use serde_json::{Value, json};

use crate::{
    combined, dedicated,
    model::Placed,
    simulation::{self, Simulation},
};

fn with_canary(mut spec: Value) -> Value {
    spec["canary"] = json!({"mode": "Enabled"});
    spec
}

/// Status, reason and message of the condition, after a pass.
fn condition(sim: &mut Simulation) -> Option<(String, String, String)> {
    sim.pass().unwrap();
    let conditions = sim.resource.status.clone().unwrap().conditions;
    let condition = conditions.into_iter().find(|condition| condition.type_ == "CanaryPassing")?;
    Some((condition.status, condition.reason, condition.message))
}

#[test]
fn the_condition_follows_the_canary_and_goes_with_it() {
    let mut sim = Simulation::converged(&with_canary(combined(3)));
    let status =
        |told: Option<(String, String, String)>| told.map(|(status, reason, _)| (status, reason)).unwrap();
    assert_eq!(status(condition(&mut sim)), ("Unknown".into(), "CanaryNotRun".into()));
    let passed: Outcomes = (0..3).map(|id| (id, Outcome::Passed)).collect();
    sim.kafka.canary = Some(passed.clone());
    assert_eq!(status(condition(&mut sim)), ("True".into(), "RecordsPass".into()));
    let mut failed = passed;
    failed.insert(1, Outcome::Failed("no answer".to_owned()));
    sim.kafka.canary = Some(failed);
    let (status, _, message) = condition(&mut sim).unwrap();
    assert_eq!((status.as_str(), message.as_str()), ("False", "broker 1: no answer"));
    sim.resource.spec = simulation::resource(&combined(3)).spec;
    assert_eq!(condition(&mut sim), None);
}

#[test]
fn a_paused_cluster_has_none() {
    let mut spec = with_canary(combined(3));
    let mut sim = Simulation::converged(&spec);
    sim.kafka.canary = Some((0..3).map(|id| (id, Outcome::Passed)).collect());
    spec["paused"] = json!(true);
    sim.resource.spec = simulation::resource(&spec).spec;
    let (status, reason, _) = condition(&mut sim).unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "CanaryNotRun"));
}

#[test]
fn its_topic_is_moved_off_a_broker_that_leaves_and_lets_nodes_restart() {
    let mut sim = Simulation::converged(&with_canary(dedicated(3)));
    sim.kafka.min_isr = Some(1);
    sim.kafka.partitions.clear();
    for id in 0..3 {
        let placed = Placed::of(&[id, (id + 1) % 3], 100);
        sim.kafka.partitions.insert((TOPIC.to_owned(), id), placed);
    }
    let mut spec = with_canary(dedicated(2));
    spec["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&spec).spec;
    sim.converge();
    assert!(!sim.kafka.holds(2), "{}", sim.told());
    assert!(!sim.kafka.registered.contains_key(&2), "{}", sim.told());
}
