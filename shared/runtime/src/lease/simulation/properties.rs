//! What must be so, whatever goes wrong.

use proptest::{prelude::*, strategy::ValueTree};

use super::{
    World,
    script::{FAULTS_END, Time, script},
    timing,
};

fn one_at_most(world: &World) -> Result<(), TestCaseError> {
    let open = world.open();
    prop_assert!(open.len() <= 1, "at {} ms the gates of {open:?} are open", world.now);
    Ok(())
}

/// No gate is open while a write of another process may be on its way.
fn nothing_left_behind(world: &World) -> Result<(), TestCaseError> {
    for leader in world.open() {
        for (other, until) in world.stragglers.iter().enumerate() {
            prop_assert!(
                other == leader || world.now >= *until,
                "at {} ms {leader} leads, and writes of {other} may arrive until {until} ms",
                world.now
            );
        }
    }
    Ok(())
}

/// When nothing goes wrong any more: somebody leads soon, and goes on.
fn recovers(world: &mut World) -> Result<(), TestCaseError> {
    let slowest = world.script.speeds.iter().min().copied().unwrap();
    let timing = timing();
    let patience = timing.lease + timing.retry * 4 + timing.request();
    let patience = Time::try_from(patience.as_millis()).unwrap() * 1000 / slowest;
    world.run(FAULTS_END + patience, one_at_most)?;
    let leader = world.open();
    prop_assert_eq!(leader.len(), 1, "nobody leads {} ms after the faults", patience);
    world.run(FAULTS_END + patience + 60_000, |world| {
        prop_assert_eq!(&world.open(), &leader, "the leader changes although nothing is wrong");
        Ok(())
    })
}

proptest! {
    #[test]
    fn two_never_lead_and_one_soon_does(script in script(950..=1050)) {
        let mut world = World::new(script);
        world.run(FAULTS_END, one_at_most)?;
        recovers(&mut world)?;
    }

    #[test]
    fn what_a_leader_sent_has_ended_before_another_leads(script in script(1000..=1000)) {
        let mut world = World::new(script);
        world.run(FAULTS_END, nothing_left_behind)?;
    }
}

/// The scripts above are worth nothing if they never make the lease change hands.
#[test]
fn the_scripts_make_leaders_come_and_go() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut reigns, mut lost) = (0, 0);
    for _ in 0..50 {
        let script = script(950..=1050).new_tree(&mut runner).unwrap().current();
        let mut world = World::new(script);
        world.run(FAULTS_END, |_| Ok(())).unwrap();
        (reigns, lost) = (reigns + world.reigns, lost + world.lost);
    }
    assert!(reigns >= 100 && lost >= 25, "{reigns} reigns began, {lost} ended with a loss");
}
