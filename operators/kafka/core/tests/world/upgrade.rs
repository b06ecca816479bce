//! From one version to another.

use ballast_core::object::Kind;
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

/// One that the operator does not know, and one that cannot read what the cluster has written.
#[rstest]
fn no_node_is_given_a_version_that_does_not_fit(
    #[values(("3.9.0", "VersionNotSupported"), ("5.0.0", "VersionNotSupported"), ("4.1.2", "DowngradeNotPossible"))]
    unfit: (&str, &str),
    #[values(3, 5)] replicas: i32,
    #[values(false, true)] lost: bool,
) {
    let (version, reason) = unfit;
    let mut sim = Simulation::converged(&at("4.4.0", combined(3)));
    if lost {
        let disk =
            sim.kafka.running.values().find(|process| process.member == "my-node-1").unwrap().disk.clone();
        sim.world.wipe(&disk);
        sim.world.delete_pod_by_hand("my-node-1-0");
    }
    let before = sim.world.names(Kind::PersistentVolumeClaim);
    let mut spec = combined(3);
    spec["nodePools"][0]["replicas"] = replicas.into();
    edit(&mut sim, &at(version, spec));
    sim.run_until_blocked(reason);
    assert_eq!(sim.world.names(Kind::PersistentVolumeClaim), before);
    let updated =
        sim.intents.iter().filter(|intent| matches!(intent.as_str(), "UpdateNode" | "ReplaceVolume"));
    assert_eq!(updated.count(), 0, "{}", sim.told());
    edit(&mut sim, &at("4.4.0", combined(3)));
    sim.converge();
}
