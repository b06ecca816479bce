//! Volumes that are lost: a node starts empty only when others have everything that it had.

use ballast_core::object::Kind;
use ballast_kafka_core::build;
use rstest::rstest;

use crate::{combined, crash_everywhere, dedicated, model::Placed, simulation::Simulation};

/// How a volume is lost.
#[derive(Clone, Copy)]
enum Loss {
    /// Its content is gone.
    Wiped,
    /// Its claim was deleted.
    ClaimDeleted,
    /// Kubernetes says that the volume behind the claim is gone.
    VolumeGone,
    /// Its claim and its StatefulSet were deleted.
    EverythingDeleted,
}

fn claim(node: &str) -> String {
    format!("data-{node}-11111111-0")
}

fn lose(sim: &mut Simulation, node: &str, loss: Loss) {
    match loss {
        Loss::Wiped => {
            let disk =
                sim.kafka.running.values().find(|process| process.member == node).unwrap().disk.clone();
            sim.world.wipe(&disk);
        }
        Loss::ClaimDeleted => sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim(node)),
        Loss::VolumeGone => sim.world.lose_volume(&claim(node)),
        Loss::EverythingDeleted => {
            sim.world.delete_by_hand(Kind::StatefulSet, node);
            sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim(node));
        }
    }
    sim.world.delete_pod_by_hand(&format!("{node}-0"));
    for _ in 0..12 {
        sim.tick();
    }
}

#[rstest]
fn a_node_that_lost_its_volume_starts_empty_and_votes_again(
    #[values(Loss::Wiped, Loss::ClaimDeleted, Loss::VolumeGone, Loss::EverythingDeleted)] loss: Loss,
) {
    let mut sim = Simulation::converged(&combined(3));
    // The one with which the quorum began.
    let before = sim.kafka.voters[&0].clone();
    lose(&mut sim, "my-node-0", loss);
    sim = crash_everywhere(sim);
    assert_ne!(sim.kafka.voters[&0], before);
    assert_eq!((sim.kafka.voters.len(), sim.kafka.begun.len(), sim.kafka.running.len()), (3, 1, 3));
    let tickets = sim.world.names(Kind::ConfigMap);
    assert!(!tickets.iter().any(|name| name.ends_with("-ticket")), "{tickets:?}");
}

#[test]
fn a_new_volume_never_has_the_name_of_another_one() {
    let mut sim = Simulation::converged(&combined(3));
    lose(&mut sim, "my-node-0", Loss::Wiped);
    sim.converge();
    let claims = sim.world.names(Kind::PersistentVolumeClaim);
    assert!(claims.contains(&"data-my-node-0-11111111-1".to_owned()), "{claims:?}");
    // Whoever tidies up deletes the one that was given up; then the second one is lost too.
    sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim("my-node-0"));
    lose(&mut sim, "my-node-0", Loss::Wiped);
    sim.converge();
    let claims = sim.world.names(Kind::PersistentVolumeClaim);
    assert!(claims.contains(&"data-my-node-0-11111111-2".to_owned()), "{claims:?}");
    // As soon as the claim is gone: its name is not used again.
    sim.world.delete_by_hand(Kind::PersistentVolumeClaim, "data-my-node-0-11111111-2");
    lose(&mut sim, "my-node-0", Loss::Wiped);
    sim.converge();
    let claims = sim.world.names(Kind::PersistentVolumeClaim);
    assert!(claims.contains(&"data-my-node-0-11111111-3".to_owned()), "{claims:?}");
}

#[rstest]
fn dedicated_nodes_too(#[values("my-broker-1", "my-controller-100")] node: &str) {
    let mut sim = Simulation::converged(&dedicated(3));
    lose(&mut sim, node, Loss::ClaimDeleted);
    sim = crash_everywhere(sim);
    assert_eq!((sim.kafka.voters.len(), sim.kafka.registered.len(), sim.kafka.begun.len()), (3, 3, 1));
}

#[test]
fn the_only_copy_of_something_is_not_given_up_before_a_person_says_so() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.kafka.partitions.insert(("single".to_owned(), 0), Placed::of(&[1], 10));
    lose(&mut sim, "my-broker-1", Loss::Wiped);
    sim.run_until_blocked("DataLost");
    let plan = sim.resource.status.as_ref().unwrap().plan.clone().unwrap();
    let message = plan.blocked.iter().find(|blocked| blocked.reason == "DataLost").unwrap().message.clone();
    assert!(message.contains("single-0") && !message.contains("t-0"), "{message}");
    let mut accepted = sim.clone();
    accepted.resource.metadata.annotations =
        Some([("ballast.dev/replace".to_owned(), "1".to_owned())].into());
    accepted.converge();
    // Or nobody misses it any more.
    sim.kafka.partitions.remove(&("single".to_owned(), 0));
    sim.converge();
}

#[test]
fn while_it_is_not_known_what_a_lost_broker_had_it_does_not_start_empty() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.kafka.blind = true;
    lose(&mut sim, "my-broker-1", Loss::Wiped);
    sim.run_until_blocked("DataLost");
    sim.kafka.blind = false;
    sim.converge();
}

#[test]
fn what_was_looked_at_before_the_permission_is_not_looked_at_again() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.kafka.only(&[1, 2]);
    lose(&mut sim, "my-broker-1", Loss::Wiped);
    while sim.world.live(Kind::ConfigMap, &build::ticket_name("my-broker-1")).is_none() {
        sim.crash_after = Some(1);
        let _ = sim.pass();
    }
    // Who has the rest of it is away now; half of what is to be done would be left.
    sim.kafka.silent = vec![2];
    for _ in 0..10 {
        sim.crash_after = None;
        let _ = sim.pass();
        sim.tick();
    }
    assert!(sim.kafka.process(1).is_some(), "{:?}\n{}", sim.blocked, sim.told());
    sim.kafka.silent.clear();
    sim.converge();
}

#[test]
fn no_vote_is_taken_back_while_one_that_is_left_does_not_follow() {
    let mut sim = Simulation::converged(&combined(5));
    sim.kafka.lagging = vec![1];
    lose(&mut sim, "my-node-4", Loss::Wiped);
    sim.run_until_blocked("QuorumAtRisk");
    assert_eq!(sim.kafka.voters.len(), 5);
    sim.kafka.lagging.clear();
    sim.converge();
}

#[test]
fn the_pod_that_had_the_lost_volume_goes_with_the_replacement() {
    let mut sim = Simulation::converged(&combined(3));
    lose(&mut sim, "my-node-1", Loss::Wiped);
    sim.converge();
    let restarts = sim.intents.iter().filter(|intent| *intent == "RestartNode").count();
    assert_eq!(restarts, 0, "{:?}", sim.intents);
}

#[test]
fn while_the_stateful_set_is_being_deleted_nothing_is_made_for_its_node() {
    let mut sim = Simulation::converged(&combined(3));
    sim.world.pin(Kind::StatefulSet, "my-node-1", true);
    sim.world.delete_by_hand(Kind::StatefulSet, "my-node-1");
    lose(&mut sim, "my-node-1", Loss::ClaimDeleted);
    sim.run_until_blocked("NodeStopping");
    sim.world.pin(Kind::StatefulSet, "my-node-1", false);
    sim.world.delete_by_hand(Kind::StatefulSet, "my-node-1");
    sim.converge();
}

#[test]
fn a_second_loss_waits_for_the_first_one() {
    let mut sim = Simulation::converged(&combined(3));
    sim.kafka.partitions.insert(("pair".to_owned(), 0), Placed::of(&[0, 1], 10));
    lose(&mut sim, "my-node-0", Loss::Wiped);
    lose(&mut sim, "my-node-1", Loss::Wiped);
    for _ in 0..40 {
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.kafka.voters.len(), 3, "no vote is taken while most controllers are away");
    assert_eq!(sim.kafka.begun.len(), 1);
    assert!(!sim.intents.iter().any(|intent| intent == "ReplaceVolume"), "{:?}", sim.intents);
}

#[test]
fn a_single_controller_is_not_given_up() {
    let mut sim = Simulation::converged(&combined(1));
    lose(&mut sim, "my-node-0", Loss::Wiped);
    for _ in 0..40 {
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.kafka.begun.len(), 1);
    assert!(!sim.blocked.is_empty() && !sim.is_ready());
}
