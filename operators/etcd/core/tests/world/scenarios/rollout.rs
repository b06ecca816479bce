//! Changes that go from member to member.

use rstest::rstest;
use serde_json::{Value, json};

use crate::simulation::{Simulation, crash_everywhere, spec};

fn old(replicas: i32) -> Value {
    let mut spec = spec(replicas);
    spec["version"] = json!("3.5.33");
    spec
}

fn image(version: &str) -> String {
    format!("gcr.io/etcd-development/etcd:v{version}")
}

/// Versions that run, by member.
fn versions(sim: &Simulation) -> Vec<String> {
    let mut all: Vec<_> = sim
        .etcd
        .running
        .values()
        .map(|running| (running.process.member.clone(), running.process.version.to_string()))
        .collect();
    all.sort();
    all.into_iter().map(|(_, version)| version).collect()
}

#[rstest]
fn an_upgrade_goes_through_all_members(#[values(1, 2, 3, 5)] replicas: i32) {
    let mut sim = Simulation::converged(&old(replicas));
    sim.edit(&json!({"version": "3.6.16"}));
    sim.converge();
    assert_eq!(versions(&sim), vec!["3.6.16"; usize::try_from(replicas).unwrap()]);
    assert_eq!(sim.cluster().unwrap().version.minor, 6);
}

#[test]
fn the_leader_is_last_and_moves_first() {
    let mut sim = Simulation::converged(&old(3));
    let leader = sim.leader();
    sim.edit(&json!({"version": "3.6.16"}));
    while sim.count("UpdateMember") < 3 {
        sim.pass();
        if sim.count("UpdateMember") < 3 {
            assert!(
                sim.running(&leader).is_some_and(|running| running.process.version.minor == 5),
                "the leader is last"
            );
        }
        sim.tick();
    }
    assert_eq!(sim.count("MoveLeader"), 1);
    sim.converge();
}

#[test]
fn a_change_of_settings_keeps_every_member() {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[rstest]
fn a_rollout_survives_a_crash_before_any_write(#[values(1, 3)] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    crash_everywhere(sim);
}

#[rstest]
fn a_bad_image_stops_at_the_first_member_and_reverting_recovers(#[values(1, 3)] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    let list = sim.cluster().unwrap().members.clone();
    sim.world.break_image(&image("3.6.15"), true);
    sim.edit(&json!({"version": "3.6.15"}));
    sim.run(60);
    assert_eq!(sim.count("UpdateMember"), 1, "it stops at the first");
    if replicas == 3 {
        assert!(
            sim.blocked.iter().any(|(_, reason)| reason == "UpdatedMemberNotServing"),
            "{:?}",
            sim.blocked
        );
        let killed = sim.etcd.running.values().next().unwrap().process.member.clone();
        sim.world.delete_pod_by_hand(&format!("{killed}-0"));
        sim.run(3);
        let running = sim.running(&killed).unwrap();
        assert_eq!(running.process.version.to_string(), "3.6.16", "it comes back on the old template");
        assert_eq!(sim.condition("QuorumHealthy").0, "True");
    }
    assert_eq!(sim.condition("Ready").0, "False");
    sim.edit(&json!({"version": "3.6.16"}));
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

/// As when Kubernetes refuses every pod of the template, for a service account that is not there.
#[test]
fn a_template_of_which_no_pod_is_made_is_reverted() {
    let mut sim = Simulation::converged(&spec(1));
    let list = sim.cluster().unwrap().members.clone();
    let without_pod = |sim: &mut Simulation| {
        for _ in 0..20 {
            sim.world.delete_pod_by_hand("my-0-0");
            sim.pass();
        }
    };
    sim.edit(&json!({"pod": {"template": {"spec": {"serviceAccountName": "nobody"}}}}));
    sim.run(3);
    assert_eq!(sim.count("UpdateMember"), 1);
    without_pod(&mut sim);
    sim.edit(&json!({"pod": null}));
    without_pod(&mut sim);
    assert_eq!(sim.count("UpdateMember"), 2, "{:?}", sim.blocked);
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

/// Nobody says of such a pod that it has no place: nobody looks at it.
#[rstest]
fn a_scheduler_that_is_not_there_is_told_of_and_reverted(#[values(1, 3)] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    let list = sim.cluster().unwrap().members.clone();
    sim.edit(&json!({"pod": {"template": {"spec": {"schedulerName": "nobody"}}}}));
    sim.run(20);
    assert_eq!(sim.count("UpdateMember"), 1, "the others keep what works");
    let members = &sim.resource.status.as_ref().unwrap().members;
    let told = members.iter().filter_map(|member| member.doing.as_deref());
    let told = told.filter(|doing| doing.contains("nobody has not looked at its pod yet"));
    assert_eq!(told.count(), 1, "{members:?}");
    sim.edit(&json!({"pod": null}));
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[test]
fn a_bad_image_from_the_start_is_mended_by_an_edit() {
    let mut sim = Simulation::new(&spec(3));
    sim.world.break_image(&image("3.6.16"), true);
    sim.run(60);
    assert_eq!(sim.condition("Ready").0, "False");
    sim.edit(&json!({"version": "3.6.15"}));
    sim.converge();
}

#[test]
fn a_learner_with_a_bad_image_is_mended_by_an_edit() {
    let mut sim = Simulation::converged(&spec(1));
    sim.world.break_image(&image("3.6.16"), true);
    sim.edit(&json!({"replicas": 2}));
    sim.run(15);
    assert_eq!(sim.cluster().unwrap().members.len(), 2, "it waits as a learner");
    sim.edit(&json!({"version": "3.6.15"}));
    sim.converge();
}

/// Two members, one with a bad image: there is no quorum, and mending it still works, forwards and backwards.
#[rstest]
fn a_bad_image_in_a_cluster_of_two_is_mended(#[values("3.6.16", "3.6.14")] mended: &str) {
    let mut sim = Simulation::converged(&spec(2));
    sim.world.break_image(&image("3.6.15"), true);
    sim.edit(&json!({"version": "3.6.15"}));
    sim.run(20);
    assert_eq!(sim.condition("QuorumHealthy").0, "Unknown");
    sim.edit(&json!({"version": mended}));
    sim.run(20);
    if mended != "3.6.16" {
        // The version that the members agreed on cannot be known now: only the way back is certainly safe.
        sim.edit(&json!({"version": "3.6.16"}));
    }
    sim.converge();
}

#[rstest]
#[case::downgrade("3.6.16", "3.5.33", "VersionStepRefused")]
#[case::unsupported("3.5.33", "3.7.1", "VersionNotSupported")]
#[case::too_old("3.6.16", "3.6.1", "VersionNotSupported")]
fn unsafe_steps_are_refused(#[case] from: &str, #[case] to: &str, #[case] reason: &str) {
    let mut spec = spec(3);
    spec["version"] = json!(from);
    let mut sim = Simulation::converged(&spec);
    let writes = sim.writes;
    sim.edit(&json!({"version": to}));
    sim.run_until_blocked(reason);
    assert_eq!(sim.writes, writes, "nothing is changed");
    assert_eq!(versions(&sim), [from; 3]);
    // A lost pod is not the refused version's fault: it comes back, on the old template.
    sim.world.delete_pod_by_hand("my-1-0");
    sim.run(3);
    assert_eq!(versions(&sim), [from; 3]);
    sim.edit(&json!({"version": from}));
    sim.converge();
}

/// Nobody answers, and somebody tries an older version in the hope that it helps: what is remembered refuses it.
#[test]
fn a_downgrade_is_refused_while_nobody_answers() {
    let mut sim = Simulation::converged(&spec(3));
    let image = "gcr.io/etcd-development/etcd:v3.6.16";
    sim.world.break_image(image, true);
    for member in ["my-0", "my-1", "my-2"] {
        sim.world.delete_pod_by_hand(&format!("{member}-0"));
    }
    sim.run(3);
    let writes = sim.writes;
    sim.edit(&json!({"version": "3.5.33"}));
    sim.run_until_blocked("VersionStepRefused");
    sim.run(5);
    assert_eq!(sim.writes, writes, "nothing is changed");
    sim.edit(&json!({"version": "3.6.16"}));
    sim.world.break_image(image, false);
    sim.converge();
}

#[test]
fn a_half_done_upgrade_can_be_taken_back() {
    let mut sim = Simulation::converged(&old(3));
    sim.edit(&json!({"version": "3.6.16"}));
    sim.until(|sim| sim.count("UpdateMember") >= 2);
    assert_eq!(sim.cluster().unwrap().version.minor, 5, "not all run the new version");
    sim.edit(&json!({"version": "3.5.33"}));
    sim.converge();
    assert_eq!(versions(&sim), ["3.5.33"; 3]);
}

#[test]
fn a_rollout_waits_for_a_member_that_lags() {
    let mut sim = Simulation::converged(&spec(3));
    let lagging = (0..3).map(|n| format!("my-{n}")).find(|name| *name != sim.leader()).unwrap();
    sim.etcd.slow.insert(lagging.clone());
    let id = sim.cluster().unwrap().id;
    for _ in 0..6000 {
        sim.etcd.write(id);
    }
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.run(30);
    assert!(sim.count("UpdateMember") <= 1, "only the lagging one itself may be restarted");
    sim.etcd.slow.clear();
    sim.converge();
}

#[test]
fn a_new_operator_version_restarts_nothing() {
    let mut sim = Simulation::converged(&spec(3));
    let pods: Vec<String> = sim.etcd.running.keys().cloned().collect();
    sim.environment.operator_image = "ballast/etcd-operator:newer".to_owned();
    sim.run(10);
    assert_eq!(sim.etcd.running.keys().cloned().collect::<Vec<_>>(), pods);
}

#[test]
fn volumes_grow_without_a_restart() {
    let mut sim = Simulation::converged(&spec(3));
    let pods: Vec<String> = sim.etcd.running.keys().cloned().collect();
    sim.edit(&json!({"storage": {"size": "2Gi"}}));
    sim.converge();
    assert_eq!(sim.etcd.running.keys().cloned().collect::<Vec<_>>(), pods);
    for ordinal in 0..3 {
        let claim = sim.claim_of(&format!("my-{ordinal}"));
        let live = sim.world.live(ballast_core::object::Kind::PersistentVolumeClaim, &claim).unwrap();
        assert_eq!(live["spec"]["resources"]["requests"]["storage"], "2Gi");
    }
}

#[rstest]
fn a_change_while_a_member_is_lost_grows_first(#[values(0, 1, 2)] lost: usize) {
    let mut sim = Simulation::converged(&spec(3));
    let member = format!("my-{lost}");
    sim.world.wipe(&sim.disk_of(&member));
    sim.world.kill_container(&format!("{member}-0"), &mut sim.etcd);
    sim.until(|sim| sim.count("RemoveMember") > 0);
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.converge();
}

#[test]
fn growing_and_changing_at_once_never_loses_the_quorum() {
    let mut sim = Simulation::converged(&spec(1));
    sim.edit(&json!({"replicas": 3, "etcd": {"snapshotCount": 20000}}));
    sim.converge();
}

/// Its StatefulSet comes back on the claim that it had, not on none.
#[rstest]
fn a_stateful_set_deleted_during_a_rollout_comes_back_with_its_data(#[values(1, 3)] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    let list = sim.cluster().unwrap().members.clone();
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.world.delete_by_hand(ballast_core::object::Kind::StatefulSet, "my-0");
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

/// `kubectl delete --cascade=orphan`: the pod runs on, and gets a StatefulSet again.
#[test]
fn an_orphaned_pod_is_taken_back() {
    let mut sim = Simulation::converged(&spec(3));
    let pods: Vec<String> = sim.etcd.running.keys().cloned().collect();
    sim.world.orphan("my-1");
    sim.converge();
    assert_eq!(sim.etcd.running.keys().cloned().collect::<Vec<_>>(), pods);
}

#[test]
fn a_rollout_waits_until_all_others_are_ready() {
    let mut sim = Simulation::converged(&spec(3));
    let leader = sim.leader();
    sim.etcd.unready.insert(leader);
    sim.tick();
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.run(5);
    assert!(sim.blocked.iter().any(|(predicate, _)| predicate == "other-voters-serve"), "{:?}", sim.blocked);
    assert_eq!(sim.count("UpdateMember"), 0);
    sim.etcd.unready.clear();
    sim.converge();
}

#[test]
fn a_predicate_is_skipped_by_annotation_until_its_time() {
    let mut sim = Simulation::converged(&spec(3));
    let leader = sim.leader();
    sim.etcd.unready.insert(leader);
    sim.tick();
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.annotate("ballast.dev/skip-predicate", Some("other-voters-serve@2025-01-01T00:00:00Z"));
    sim.run(5);
    assert_eq!(sim.count("UpdateMember"), 0, "that time has passed");
    sim.annotate("ballast.dev/skip-predicate", Some("other-voters-serve@2027-01-01T00:00:00Z"));
    sim.run(5);
    assert!(sim.count("UpdateMember") > 0);
}
