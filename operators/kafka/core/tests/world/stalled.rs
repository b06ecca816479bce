//! Copies that make no progress: they are cancelled when they are ours, and what is not known is not taken for that.

use rstest::rstest;
use serde_json::json;

use crate::{
    crash_everywhere, dedicated,
    drain::{five, nothing_is_left},
    model::Placed,
    simulation::{self, Simulation},
};

/// Passes in ten minutes, half a minute each.
const DEADLINE: u32 = 20;

/// [`five`], of which broker 4 leaves; what goes to broker 2 gets no byte.
fn stalled() -> Simulation {
    let mut sim = five();
    sim.kafka.stalled_to = vec![2];
    leave(&mut sim, 4);
    sim
}

fn leave(sim: &mut Simulation, brokers: i32) {
    sim.resource.spec = simulation::resource(&dedicated(brokers)).spec;
}

fn passes(sim: &mut Simulation, number: u32) {
    for _ in 0..number {
        let _ = sim.pass();
        sim.time_passes(30);
    }
}

fn cancelled(sim: &Simulation) -> usize {
    sim.intents.iter().filter(|intent| *intent == "CancelMoves").count()
}

/// What is told of copies that do not get on, and who is avoided.
fn told(sim: &Simulation) -> (Vec<String>, Vec<i32>) {
    let status = sim.resource.status.as_ref().and_then(|status| status.rebalance.clone()).unwrap_or_default();
    (status.stalled, status.avoided.into_iter().map(|avoided| avoided.broker).collect())
}

fn gets(sim: &Simulation, broker: i32) -> usize {
    sim.kafka.partitions.values().filter(|placed| placed.adding.contains(&broker)).count()
}

#[test]
fn a_copy_without_progress_is_cancelled_and_goes_elsewhere() {
    let mut sim = stalled();
    passes(&mut sim, DEADLINE * 3 / 4);
    let (stalled, before) = (gets(&sim, 2), sim.resource.status.clone());
    assert!(stalled > 0, "nothing goes to broker 2: this shows nothing");
    passes(&mut sim, 4);
    assert_eq!((cancelled(&sim), told(&sim)), (0, (vec![], vec![])));
    assert_eq!(sim.resource.status, before, "time alone is no reason to write");
    for _ in 0..10 {
        let (before, announced) = (cancelled(&sim), told(&sim).1);
        passes(&mut sim, 1);
        assert!(cancelled(&sim) == before || announced == [2], "it is not written down before");
    }
    assert_eq!(cancelled(&sim), 1, "{}", sim.told());
    for _ in 0..10 {
        passes(&mut sim, 1);
        assert_eq!(gets(&sim, 2), 0, "the same broker is chosen again\n{}", sim.told());
    }
    sim.converge();
    assert_eq!(cancelled(&sim), 1);
    nothing_is_left(&sim, &[0, 1, 2, 3]);
}

#[test]
fn it_comes_to_the_same_end_whenever_the_operator_dies() {
    let mut sim = stalled();
    passes(&mut sim, DEADLINE);
    let sim = crash_everywhere(sim);
    assert_eq!(cancelled(&sim), 1);
    nothing_is_left(&sim, &[0, 1, 2, 3]);
}

#[test]
fn where_no_other_broker_can_have_it_the_same_one_is_tried_again() {
    let mut sim = Simulation::converged(&dedicated(4));
    sim.kafka.only(&[0, 1, 3]);
    sim.kafka.stalled_to = vec![2];
    leave(&mut sim, 3);
    passes(&mut sim, DEADLINE + 12);
    assert_eq!((cancelled(&sim), gets(&sim, 2), told(&sim).1), (1, 1, vec![2]), "{}", sim.told());
    sim.kafka.stalled_to.clear();
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2]);
}

#[test]
fn a_copy_that_gets_on_takes_as_long_as_it_takes() {
    let mut sim = five();
    sim.kafka.partitions.insert(("large".to_owned(), 0), Placed::of(&[4], 40 * u64::from(2 * DEADLINE)));
    leave(&mut sim, 4);
    passes(&mut sim, 3 * DEADLINE);
    sim.converge();
    assert_eq!(cancelled(&sim), 0, "{}", sim.told());
    nothing_is_left(&sim, &[0, 1, 2, 3]);
}

#[rstest]
#[case::what_is_moved(true)]
#[case::what_is_on_the_disks(false)]
fn what_is_not_known_is_not_taken_for_no_progress(#[case] mute: bool) {
    let mut sim = stalled();
    passes(&mut sim, 8);
    assert!(gets(&sim, 2) > 0);
    sim.kafka.mute = mute;
    sim.kafka.undisclosed = if mute { vec![] } else { vec![2] };
    passes(&mut sim, 2 * DEADLINE);
    sim.kafka.mute = false;
    sim.kafka.undisclosed.clear();
    passes(&mut sim, DEADLINE / 2);
    assert_eq!(cancelled(&sim), 0, "{}", sim.told());
    passes(&mut sim, DEADLINE);
    assert_eq!(cancelled(&sim), 1, "{}", sim.told());
}

#[test]
fn after_a_restart_of_the_operator_the_time_begins_anew() {
    let mut sim = stalled();
    passes(&mut sim, DEADLINE - 2);
    sim.restart_operator();
    passes(&mut sim, DEADLINE - 2);
    assert_eq!(cancelled(&sim), 0, "{}", sim.told());
    passes(&mut sim, 6);
    assert_eq!(cancelled(&sim), 1, "{}", sim.told());
}

#[test]
fn a_reassignment_of_others_is_told_of_and_never_cancelled() {
    let mut sim = five();
    sim.kafka.stalled = true;
    sim.kafka.reassign("three", 2, Some(&[0, 1, 3])).unwrap();
    leave(&mut sim, 4);
    for _ in 0..3 * DEADLINE {
        passes(&mut sim, 1);
        let theirs = &sim.kafka.partitions[&("three".to_owned(), 2)];
        assert_eq!((theirs.adding.as_slice(), theirs.removing.as_slice()), (&[3][..], &[2][..]));
    }
    let (stalled, _) = told(&sim);
    let theirs = stalled.iter().find(|copy| copy.starts_with("three-2 to broker 3")).unwrap();
    assert!(theirs.contains("does not cancel it"), "{theirs}");
}

#[test]
fn a_move_that_only_makes_brokers_even_is_told_of() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.kafka.partitions =
        (0..12).map(|number| (("t".to_owned(), number), Placed::of(&[0, 1, 2], 30))).collect();
    sim.kafka.stalled_to = vec![3];
    sim.resource.spec = simulation::resource(&dedicated(4)).spec;
    passes(&mut sim, 2 * DEADLINE);
    let (stalled, avoided) = told(&sim);
    assert_eq!((cancelled(&sim), avoided), (0, vec![]));
    assert!(stalled.first().is_some_and(|copy| copy.contains("does not cancel it")), "{stalled:?}");
}

#[test]
fn a_partition_without_a_leader_is_named_and_waited_for() {
    let mut sim = five();
    let mut spec = dedicated(4);
    spec["rebalance"] = json!({"onScaleUp": "Nothing"});
    sim.resource.spec = simulation::resource(&spec).spec;
    sim.kafka.stalled = true;
    let name = ("one".to_owned(), 1);
    while sim.kafka.partitions[&name].adding.is_empty() {
        passes(&mut sim, 1);
    }
    // Broker 4 alone has it.
    sim.kafka.stalled = false;
    let target = sim.kafka.partitions[&name].adding[0];
    sim.kafka.stalled_to = vec![target];
    sim.kafka.behind(&name.0, name.1, &[4]);
    passes(&mut sim, 2 * DEADLINE);
    let (stalled, _) = told(&sim);
    assert!(
        stalled.iter().any(|copy| copy.starts_with("one-1") && copy.contains("no leader")),
        "{stalled:?}"
    );
    assert_eq!(sim.kafka.partitions[&name].adding, [target], "{}", sim.told());
    sim.kafka.behind(&name.0, name.1, &[]);
    sim.kafka.stalled_to.clear();
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2, 3]);
}
