//! What people can tell the operator to do, or not to do.

use rstest::rstest;
use serde_json::json;

use crate::simulation::{Pass, Simulation, spec};

#[rstest]
fn paused_changes_nothing_and_still_reports(#[values(true, false)] by_annotation: bool) {
    let mut sim = Simulation::converged(&spec(3));
    if by_annotation {
        sim.annotate("ballast.dev/paused", Some("true"));
    } else {
        sim.edit(&json!({"paused": true}));
    }
    sim.edit(&json!({"replicas": 5}));
    sim.world.wipe(&sim.disk_of("my-1"));
    sim.world.kill_container("my-1-0", &mut sim.etcd);
    for _ in 0..60 {
        assert_eq!(sim.pass(), Pass::Quiet);
        sim.tick();
    }
    assert_eq!(sim.condition("Progressing"), ("False".to_owned(), "Paused".to_owned()));
    assert_eq!(sim.condition("Ready").0, "False");
    sim.annotate("ballast.dev/paused", None);
    sim.edit(&json!({"paused": null}));
    sim.converge();
}

#[test]
fn a_member_is_replaced_by_its_id_once() {
    let mut sim = Simulation::converged(&spec(3));
    let before = sim.id("my-1").unwrap();
    sim.annotate("ballast.dev/replace", Some(&format!("{before:x}")));
    sim.converge();
    let after = sim.id("my-1").unwrap();
    assert_ne!(after, before);
    sim.run(30);
    assert_eq!(sim.id("my-1"), Some(after), "the annotation is still there, and names nobody");
    assert_eq!(sim.count("RemoveMember"), 1);
}

#[rstest]
#[case(1)]
#[case(2)]
fn replacing_waits_where_it_would_break_the_quorum(#[case] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    let before = sim.id("my-0").unwrap();
    sim.annotate("ballast.dev/replace", Some(&format!("{before:x}")));
    sim.run(30);
    if replicas == 1 {
        assert_eq!(sim.id("my-0"), Some(before));
    }
    assert!(sim.cluster().unwrap().acknowledged > 0);
}

#[test]
fn every_member_is_restarted_once_by_annotation() {
    let mut sim = Simulation::converged(&spec(3));
    sim.annotate("ballast.dev/restart", Some("2026-01-01T01:00:00Z"));
    sim.converge();
    assert_eq!(sim.count("UpdateMember"), 3);
}

#[test]
fn an_invalid_edit_changes_nothing_and_mending_it_recovers() {
    let mut sim = Simulation::converged(&spec(3));
    let writes = sim.writes;
    sim.edit(&json!({"replicas": 5, "etcd": {"extraConfig": {"no-such-key": "1"}}}));
    for _ in 0..5 {
        assert_eq!(sim.pass(), Pass::Invalid);
        sim.tick();
    }
    assert_eq!(sim.writes, writes);
    assert_eq!(sim.condition("SpecValid").0, "False");
    sim.edit(&json!({"replicas": 3, "etcd": null}));
    sim.edit(&json!({"etcd": {}}));
    sim.converge();
    assert_eq!(sim.condition("SpecValid").0, "True");
}
