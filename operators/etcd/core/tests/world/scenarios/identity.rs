//! Bootstrap happens once; nothing of an earlier cluster is used by accident.

use ballast_core::{object::Kind, plan::Intent as _};
use ballast_etcd_core::APPLICATION;
use rstest::rstest;
use serde_json::json;

use crate::simulation::{NAME, Simulation, crash_everywhere, resource, spec};

/// Deletes the resource and makes another one of the same name.
fn delete_and_create_again(sim: &mut Simulation, spec: &serde_json::Value) {
    let uid = sim.resource.metadata.uid.clone().unwrap();
    sim.world.collect_owned_by(&uid);
    sim.world.step(&mut sim.etcd);
    sim.world.step(&mut sim.etcd);
    sim.resource = resource(NAME, "22222222-bbbb", spec);
    sim.disrupted.clear();
}

#[test]
fn retained_volumes_hold_the_bootstrap_back() {
    let mut sim = Simulation::converged(&spec(3));
    delete_and_create_again(&mut sim, &spec(3));
    sim.run_until_blocked("RetainedVolumes");
    assert!(sim.etcd.running.is_empty());
    assert_eq!(sim.world.names(Kind::PersistentVolumeClaim).len(), 3);
    assert_eq!(sim.condition("Progressing").0, "False");
}

#[rstest]
#[case(3, 3)]
#[case(1, 1)]
#[case(3, 5)]
#[case(3, 1)]
fn retained_volumes_are_adopted(#[case] before: i32, #[case] after: i32) {
    let mut sim = Simulation::converged(&spec(before));
    let (id, acknowledged) = (sim.cluster().unwrap().id, sim.cluster().unwrap().acknowledged);
    delete_and_create_again(&mut sim, &spec(after));
    sim.annotate("ballast.dev/adopt-volumes", Some("11111111-aaaa"));
    sim.converge();
    assert_eq!(sim.cluster().unwrap().id, id);
    assert!(sim.cluster().unwrap().acknowledged >= acknowledged);
}

#[test]
fn an_adoption_survives_a_crash_before_any_write() {
    let mut sim = Simulation::converged(&spec(2));
    delete_and_create_again(&mut sim, &spec(2));
    sim.annotate("ballast.dev/adopt-volumes", Some("11111111-aaaa"));
    crash_everywhere(sim);
}

#[test]
fn the_wrong_uid_adopts_nothing() {
    let mut sim = Simulation::converged(&spec(3));
    delete_and_create_again(&mut sim, &spec(3));
    sim.annotate("ballast.dev/adopt-volumes", Some("33333333-cccc"));
    sim.run_until_blocked("RetainedVolumes");
    assert!(sim.etcd.running.is_empty());
}

#[test]
fn volumes_to_be_deleted_go_with_the_resource() {
    let mut spec = spec(3);
    spec["storage"]["whenDeleted"] = json!("Delete");
    let mut sim = Simulation::converged(&spec);
    let uid = sim.resource.metadata.uid.clone().unwrap();
    sim.world.collect_owned_by(&uid);
    sim.world.step(&mut sim.etcd);
    sim.world.step(&mut sim.etcd);
    assert!(sim.world.names(Kind::PersistentVolumeClaim).is_empty());
    assert!(sim.world.disks().is_empty());
}

#[test]
fn without_its_record_nothing_is_bootstrapped() {
    let mut sim = Simulation::converged(&spec(3));
    let record = ballast_core::bootstrap::name(NAME, "11111111-aaaa");
    // The watcher on the client Service would complain about the record that is gone, rightly; it goes first.
    sim.world.delete_by_hand(Kind::Service, "my-client");
    sim.world.delete_by_hand(Kind::ConfigMap, &record);
    let list = sim.cluster().unwrap().members.clone();
    sim.run_until_blocked("BootstrapRecordMissing");
    assert_eq!(sim.cluster().unwrap().members, list);
    assert_eq!(sim.etcd.running.len(), 3, "what runs runs on");
}

#[test]
fn an_unreadable_record_stops_everything() {
    let mut sim = Simulation::converged(&spec(3));
    let record = ballast_core::bootstrap::name(NAME, "11111111-aaaa");
    sim.world.delete_by_hand(Kind::Service, "my-client");
    sim.world.edit(Kind::ConfigMap, &record, "/data/state", &json!("Odd"));
    let writes = sim.writes;
    sim.run_until_blocked("BootstrapRecordUnreadable");
    assert_eq!(sim.writes, writes);
}

/// The seed's data goes before the cluster was recorded as started: nobody is given a second permission.
#[rstest]
fn the_seed_is_bootstrapped_on_one_claim_only(#[values(true, false)] recorded: bool) {
    let mut sim = Simulation::new(&spec(3));
    sim.until(|sim| sim.running("my-0").is_some());
    let claim = sim.claim_of("my-0");
    sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim);
    sim.world.delete_pod_by_hand("my-0-0");
    if !recorded {
        sim.tick();
    }
    sim.run(60);
    assert!(sim.etcd.running.is_empty());
    assert!(sim.blocked.iter().any(|(_, reason)| reason == "DataLost"), "{:?}", sim.blocked);
}

/// Somebody makes a claim of the same name: it is another claim, and the cluster never counts as started on it.
#[test]
fn another_claim_of_the_same_name_is_not_the_seeds() {
    let mut sim = Simulation::new(&spec(3));
    sim.eager = false;
    sim.pass();
    assert_eq!(sim.count("Bootstrap"), 1);
    sim.tick();
    let desired = sim.desired().unwrap();
    let mut children = sim.world.children(APPLICATION, NAME);
    let (_, plan) = sim.look(&desired, children.clone());
    assert_eq!(plan.intent.unwrap().reason(), "ConfirmStarted");
    children.claims[0].metadata.uid = Some("another".to_owned());
    let (_, plan) = sim.look(&desired, children);
    assert_eq!(plan.intent, None);
    assert_eq!(plan.blocked[0].reason, "DataLost");
}
