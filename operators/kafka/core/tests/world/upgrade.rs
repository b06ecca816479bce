//! From one version to another.

use rstest::rstest;
use serde_json::Value;

use crate::{
    combined, crash_everywhere, dedicated,
    simulation::{self, Simulation},
};

fn at(version: &str, mut spec: Value) -> Value {
    spec["version"] = version.into();
    spec
}

fn edit(sim: &mut Simulation, spec: &Value) {
    sim.resource.spec = simulation::resource(spec).spec;
}

fn finalizations(sim: &Simulation) -> usize {
    sim.intents.iter().filter(|intent| *intent == "FinalizeMetadata").count()
}

#[rstest]
#[case(combined(3))]
#[case(dedicated(3))]
fn the_metadata_follows_once_every_node_runs_the_version(#[case] spec: Value) {
    let mut sim = Simulation::converged(&at("4.1.2", spec.clone()));
    assert_eq!((sim.kafka.level, finalizations(&sim)), (27, 0));
    edit(&mut sim, &at("4.4.0", spec));
    sim = crash_everywhere(sim);
    assert_eq!(sim.kafka.level, 33);
    let last = sim.trace.iter().rposition(|what| what.starts_with("stop ")).unwrap();
    let finalized = sim.trace.iter().position(|what| what == "finalize 33").unwrap();
    assert!(finalized > last, "{}", sim.told());
    assert_eq!(sim.resource.status.unwrap().metadata_version, Some(33));
}

#[test]
fn what_is_pinned_stays_until_it_is_not() {
    let mut sim = Simulation::converged(&at("4.1.2", combined(3)));
    let mut spec = at("4.4.0", combined(3));
    spec["metadataVersion"] = "4.1".into();
    edit(&mut sim, &spec);
    sim.converge();
    assert_eq!((sim.kafka.level, finalizations(&sim)), (27, 0));
    spec["metadataVersion"] = "4.3".into();
    edit(&mut sim, &spec);
    sim.converge();
    assert_eq!(sim.kafka.level, 30);
    edit(&mut sim, &at("4.4.0", combined(3)));
    sim.converge();
    assert_eq!(sim.kafka.level, 33);
}

#[test]
fn half_way_it_can_be_taken_back() {
    let mut sim = Simulation::converged(&at("4.1.2", combined(3)));
    edit(&mut sim, &at("4.4.0", combined(3)));
    while !sim.intents.iter().any(|intent| intent == "UpdateNode") {
        let _ = sim.pass();
        sim.tick();
    }
    edit(&mut sim, &at("4.1.2", combined(3)));
    sim.converge();
    assert_eq!((sim.kafka.level, finalizations(&sim)), (27, 0));
}

#[test]
fn afterwards_there_is_no_way_back_and_nothing_is_stopped() {
    let mut sim = Simulation::converged(&combined(3));
    edit(&mut sim, &at("4.1.2", combined(3)));
    sim.run_until_blocked("DowngradeNotPossible");
    assert_eq!(sim.kafka.running.len(), 3);
    assert!(!sim.intents.iter().any(|intent| intent == "UpdateNode"));
    edit(&mut sim, &combined(3));
    sim.converge();
}

#[test]
fn a_format_that_is_older_than_the_cluster_s_is_no_wish_that_can_be_granted() {
    let mut sim = Simulation::converged(&combined(3));
    let mut spec = combined(3);
    spec["metadataVersion"] = "4.1".into();
    edit(&mut sim, &spec);
    sim.run_until_blocked("MetadataVersionTooNew");
    assert_eq!(sim.kafka.level, 33);
}
