//! Brokers that leave: everything on them is moved first, each replica once, whenever the operator dies.

use ballast_core::object::Kind;
use ballast_kafka_core::moving::Lists;
use rstest::rstest;
use serde_json::json;

use crate::{
    combined, crash_everywhere, dedicated,
    model::Placed,
    simulation::{self, Simulation},
};

/// Five brokers with partitions of one, two and three replicas of unlike sizes.
pub fn five() -> Simulation {
    let mut sim = Simulation::converged(&dedicated(5));
    let placed = [
        ("one", 0, vec![3], 150),
        ("one", 1, vec![4], 50),
        ("one", 2, vec![0], 70),
        ("two", 0, vec![3, 4], 90),
        ("two", 1, vec![0, 1], 60),
        ("three", 0, vec![0, 3, 4], 200),
        ("three", 1, vec![4, 1, 2], 20),
        ("three", 2, vec![0, 1, 2], 30),
    ];
    let placed = placed.map(|(topic, number, on, size)| ((topic.to_owned(), number), Placed::of(&on, size)));
    sim.kafka.partitions = placed.into_iter().collect();
    sim
}

/// What no plan can avoid to copy of [`five`] when brokers 3 and 4 leave.
const BOUND: u64 = 150 + 50 + 90 + 90 + 200 + 200 + 20;

pub fn lower(sim: &mut Simulation, brokers: i32) {
    let pinned = sim.resource.spec.metadata_version.take();
    sim.resource.spec = simulation::resource(&dedicated(brokers)).spec;
    sim.resource.spec.metadata_version = pinned;
}

/// As if it had begun with Kafka 4.1.
fn before_cordons(sim: &mut Simulation) {
    sim.kafka.level = 27;
    sim.resource.spec.metadata_version = Some("4.1".to_owned());
}

/// Nothing of a drain is left in Kafka or in Kubernetes.
pub fn nothing_is_left(sim: &Simulation, brokers: &[i32]) {
    assert!(sim.kafka.cordoned.is_empty(), "{:?}\n{}", sim.kafka.cordoned, sim.told());
    assert!(sim.kafka.throttled.is_empty(), "{:?}", sim.kafka.throttled);
    assert_eq!(sim.kafka.rates, (None, None), "{:?}\n{}", sim.resource.status, sim.told());
    let registered: Vec<i32> = sim.kafka.registered.keys().copied().collect();
    assert_eq!(registered, brokers);
    let status = sim.resource.status.as_ref().unwrap();
    assert_eq!(status.rebalance, None);
    let sets = sim.world.names(Kind::StatefulSet);
    assert_eq!(sets.len(), brokers.len() + 3, "{sets:?}");
    let tickets = sim.world.names(Kind::ConfigMap);
    assert!(!tickets.iter().any(|name| name.ends_with("-ticket")), "{tickets:?}");
    for (name, placed) in &sim.kafka.partitions {
        assert!(placed.replicas.iter().all(|id| brokers.contains(id)), "{name:?}: {placed:?}");
    }
}

#[rstest]
#[case::with_cordons(false)]
#[case::before_cordons(true)]
fn brokers_that_leave_are_emptied_and_each_replica_is_copied_once(#[case] old_level: bool) {
    let mut sim = five();
    if old_level {
        before_cordons(&mut sim);
    }
    let factors: Vec<usize> = sim.kafka.partitions.values().map(|placed| placed.replicas.len()).collect();
    lower(&mut sim, 3);
    sim = crash_everywhere(sim);
    nothing_is_left(&sim, &[0, 1, 2]);
    assert_eq!((sim.kafka.copies, sim.kafka.bytes), (7, BOUND));
    let after: Vec<usize> = sim.kafka.partitions.values().map(|placed| placed.replicas.len()).collect();
    assert_eq!(factors, after);
    let cordons = sim.intents.iter().filter(|intent| *intent == "CordonBroker").count();
    assert_eq!(cordons == 0, old_level);
    assert!(!sim.intents.iter().any(|intent| intent == "UpdateNode"), "{:?}", sim.intents);
}

#[test]
fn what_is_moved_is_told() {
    let mut sim = five();
    lower(&mut sim, 3);
    let mut seen = vec![];
    for _ in 0..60 {
        let _ = sim.pass();
        sim.tick();
        let status = sim.resource.status.clone().unwrap();
        seen.extend(status.rebalance.map(|it| (it.moved_bytes, it.bytes_to_go, it.total_bytes, it.brokers)));
    }
    assert_eq!(
        seen.first(),
        Some(&(0, i64::try_from(BOUND).unwrap(), i64::try_from(BOUND).unwrap(), vec![3, 4]))
    );
    assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{seen:?}");
    assert!(seen.iter().any(|it| it.0 > 0 && it.1 > 0), "{seen:?}");
}

#[test]
fn a_topic_that_does_not_fit_is_named_and_nothing_is_moved() {
    let mut sim = Simulation::converged(&dedicated(3));
    lower(&mut sim, 2);
    sim.run_until_blocked("DrainInfeasible");
    assert_eq!((sim.kafka.copies, sim.kafka.cordoned.len(), sim.kafka.running.len()), (0, 0, 6));
    let status = sim.resource.status.as_ref().unwrap();
    assert!(status.rebalance.as_ref().unwrap().blocked[0].contains("t has 3 replicas"), "{status:#?}");
    lower(&mut sim, 3);
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2]);
}

#[test]
fn a_change_does_not_wait_for_a_drain_that_cannot_go_on() {
    let mut sim = Simulation::converged(&dedicated(4));
    sim.kafka.only(&[0, 1, 2, 3]);
    let mut spec = dedicated(3);
    spec["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&spec).spec;
    for _ in 0..200 {
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.blocked, ["DrainInfeasible"]);
    let updates = sim.intents.iter().filter(|intent| *intent == "UpdateNode").count();
    assert_eq!(updates, 7, "{:?}", sim.intents);
}

#[rstest]
fn brokers_that_are_wanted_again_keep_what_they_have(
    #[values(2, 4, 6, 8, 11, 14, 17, 20, 25, 30)] passes: u32,
) {
    let mut sim = five();
    lower(&mut sim, 3);
    for _ in 0..passes {
        let _ = sim.pass();
        sim.tick();
    }
    let mut spec = dedicated(5);
    spec["rebalance"] = json!({"onScaleUp": "Nothing"});
    sim.resource.spec = simulation::resource(&spec).spec;
    let copies = sim.kafka.copies;
    // What is not copied yet never will be: only cancelling ends it.
    sim.kafka.stalled = true;
    sim = crash_everywhere(sim);
    assert!(sim.kafka.copies <= copies, "nothing more is copied");
    assert!(sim.kafka.cordoned.is_empty() && sim.kafka.throttled.is_empty());
    assert!(sim.kafka.partitions.values().all(|placed| placed.adding.is_empty()));
    assert_eq!((sim.kafka.rates, sim.kafka.registered.len()), ((None, None), 5));
    assert_eq!(sim.resource.status.unwrap().rebalance, None);
}

#[test]
fn a_topic_that_is_made_on_a_broker_that_was_just_stopped_brings_it_back() {
    let mut sim = five();
    before_cordons(&mut sim);
    lower(&mut sim, 4);
    for _ in 0..200 {
        let _ = sim.pass();
        if sim.intents.last().is_some_and(|intent| intent == "StopNode") {
            break;
        }
        sim.tick();
    }
    sim.kafka.partitions.insert(("late".to_owned(), 0), Placed::of(&[4, 1, 2], 10));
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2, 3]);
    assert_eq!(sim.intents.iter().filter(|intent| *intent == "StopNode").count(), 2);
}

#[test]
fn a_topic_that_is_deleted_and_one_that_is_made_meanwhile_are_no_fault() {
    let mut sim = five();
    lower(&mut sim, 3);
    while sim.kafka.copies < 3 {
        let _ = sim.pass();
        sim.tick();
    }
    sim.kafka.partitions.remove(&("three".to_owned(), 0));
    sim.kafka.partitions.insert(("new".to_owned(), 0), Placed::of(&[0, 1, 2], 40));
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2]);
}

#[test]
fn reassignments_of_others_are_left_alone_and_waited_for() {
    let mut sim = five();
    sim.kafka.stalled = true;
    sim.kafka.reassign("three", 2, Some(&[0, 1, 3])).unwrap();
    lower(&mut sim, 4);
    for _ in 0..40 {
        let _ = sim.pass();
        sim.tick();
    }
    let theirs = &sim.kafka.partitions[&("three".to_owned(), 2)];
    assert_eq!((theirs.adding.as_slice(), theirs.removing.as_slice()), (&[3][..], &[2][..]));
    sim.kafka.stalled = false;
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2, 3]);
}

#[test]
fn a_partition_with_a_replica_that_is_behind_is_waited_for_and_named() {
    let mut sim = five();
    sim.kafka.behind("three", 1, &[2]);
    lower(&mut sim, 4);
    sim.run_until_blocked("ReplicasBehind");
    assert_eq!((sim.kafka.copies, sim.kafka.partitions[&("three".to_owned(), 1)].adding.len()), (3, 0));
    sim.kafka.behind("three", 1, &[]);
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2, 3]);
}

#[test]
fn a_throttle_that_others_set_stays() {
    let mut sim = five();
    sim.kafka.rates = (Some(7), Some(7));
    lower(&mut sim, 3);
    sim.converge();
    assert_eq!(sim.kafka.rates, (Some(7), Some(7)));
    assert!(sim.kafka.throttled.is_empty());
}

#[test]
fn topics_that_others_throttle_as_a_whole_stay_so() {
    let mut sim = five();
    let whole = || Lists { leaders: "*".to_owned(), followers: "*".to_owned() };
    // One of them is moved, and one is not there.
    sim.kafka.throttled = ["three", "elsewhere"].map(|topic| (topic.to_owned(), whole())).into();
    lower(&mut sim, 3);
    sim.converge();
    let left: Vec<&str> = sim.kafka.throttled.keys().map(String::as_str).collect();
    assert_eq!(left, ["elsewhere", "three"]);
    assert!(sim.kafka.throttled.values().all(|lists| *lists == whole()), "{:?}", sim.kafka.throttled);
}

#[test]
fn while_it_is_not_known_what_is_where_nobody_is_stopped() {
    let mut sim = five();
    sim.kafka.partitions.clear();
    sim.kafka.mute = true;
    lower(&mut sim, 3);
    sim.run_until_blocked("ReplicasUnknown");
    assert_eq!(sim.kafka.running.len(), 8);
    sim.kafka.mute = false;
    sim.converge();
}

#[test]
fn nodes_that_vote_give_their_vote_back_first() {
    let mut sim = Simulation::converged(&combined(5));
    sim.kafka.only(&[0, 3, 4]);
    sim.resource.spec = simulation::resource(&combined(3)).spec;
    sim = crash_everywhere(sim);
    assert_eq!(sim.kafka.voters.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(sim.kafka.running.len(), 3);
}

#[test]
fn no_vote_is_given_back_while_one_that_stays_does_not_follow() {
    let mut sim = Simulation::converged(&combined(5));
    sim.kafka.lagging = vec![1];
    sim.resource.spec = simulation::resource(&combined(3)).spec;
    sim.run_until_blocked("QuorumAtRisk");
    assert_eq!(sim.kafka.voters.len(), 5);
    sim.kafka.lagging.clear();
    sim.converge();
}

#[test]
fn no_vote_is_given_back_while_one_that_stays_stops() {
    let mut sim = Simulation::converged(&combined(5));
    sim.resource.spec = simulation::resource(&combined(3)).spec;
    let next_gives_back = |sim: &Simulation| {
        let mut fork = sim.clone();
        let _ = fork.pass();
        fork.intents.last().is_some_and(|intent| intent == "RemoveVoter")
    };
    while !next_gives_back(&sim) {
        let _ = sim.pass();
        sim.tick();
    }
    // It still answers, and follows.
    sim.world.delete_pod_by_hand("my-node-1-0");
    let _ = sim.pass();
    assert_eq!(sim.kafka.voters.len(), 5, "{}", sim.told());
    sim.converge();
    assert_eq!(sim.kafka.voters.len(), 3);
}

#[test]
fn no_vote_is_given_back_while_most_of_the_others_do_not_follow() {
    let mut sim = Simulation::converged(&combined(5));
    sim.kafka.only(&[0]);
    // All that do not follow leave too.
    sim.kafka.lagging = vec![2, 3, 4];
    sim.resource.spec = simulation::resource(&combined(1)).spec;
    sim.run_until_blocked("QuorumAtRisk");
    assert_eq!(sim.kafka.voters.len(), 5);
    sim.kafka.lagging.clear();
    sim.converge();
}

#[test]
fn who_has_nothing_is_cordoned_before_it_is_stopped_too() {
    let mut sim = Simulation::converged(&dedicated(5));
    lower(&mut sim, 4);
    sim.converge();
    let first = |reason: &str| sim.intents.iter().position(|intent| intent == reason);
    assert!(first("CordonBroker").unwrap() < first("StopNode").unwrap(), "{:?}", sim.intents);
}

#[test]
fn who_does_not_tell_what_is_on_its_disks_is_not_stopped() {
    let mut sim = Simulation::converged(&dedicated(5));
    sim.kafka.undisclosed = vec![4];
    sim.kafka.cordoned.insert(4);
    lower(&mut sim, 4);
    for _ in 0..20 {
        let _ = sim.pass();
        sim.tick();
    }
    assert!(sim.kafka.process(4).is_some(), "{}", sim.told());
    sim.kafka.undisclosed.clear();
    sim.converge();
}

#[test]
fn dedicated_controllers_leave_too() {
    let mut spec = dedicated(3);
    spec["nodePools"][0]["replicas"] = json!(5);
    let mut sim = Simulation::converged(&spec);
    sim.kafka.only(&[0, 1, 2]);
    sim.resource.spec = simulation::resource(&dedicated(3)).spec;
    sim = crash_everywhere(sim);
    assert_eq!(sim.kafka.voters.keys().copied().collect::<Vec<_>>(), [100, 101, 102]);
}

#[test]
fn a_node_that_never_started_can_be_taken_back() {
    let mut sim = five();
    sim.world.break_image("docker.io/apache/kafka:4.4.0", true);
    lower(&mut sim, 6);
    sim.run_until_blocked("NodeStarting");
    lower(&mut sim, 5);
    for _ in 0..40 {
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.world.names(Kind::StatefulSet).len(), 8);
    sim.world.break_image("docker.io/apache/kafka:4.4.0", false);
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2, 3, 4]);
}
