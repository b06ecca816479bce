//! Drains, case by case.

use ballast_kafka_core::rebalance::{
    outcome::{Move, Plan, Reason, Role},
    request::{Request, RequestError},
    snapshot::{BrokerId, Partition},
};
use rstest::rstest;

use crate::{
    generator::Shape,
    world::{World, partition},
};

fn only(plan: &Plan) -> &Move {
    assert_eq!(plan.moves.len(), 1, "{:?}", plan.moves);
    &plan.moves[0]
}

fn one(replicas: &[BrokerId]) -> Vec<Partition> {
    vec![partition("t", 0, replicas.to_vec(), 100)]
}

#[rstest]
#[case::first(&[1, 2, 3], &[4, 2, 3])]
#[case::middle(&[2, 1, 3], &[2, 4, 3])]
#[case::last(&[3, 2, 1], &[3, 2, 4])]
fn a_replica_keeps_its_position(#[case] from: &[BrokerId], #[case] to: &[BrokerId]) {
    let plan = World::new(&["", "", "", ""], one(from)).plan(&Request::drain(&[1]));
    assert_eq!(*only(&plan).to, *to);
    assert_eq!((plan.report.bytes, plan.report.lower_bound_bytes), (100, 100));
}

#[rstest]
#[case::the_same_rack_again(&["a", "b", "c", "a", "b"], &[1, 2, 3], &[1], &[4, 2, 3])]
#[case::a_rack_that_is_gone(&["a", "b", "c", "a", "b"], &[1, 2, 3], &[3], &[1, 2, 4])]
#[case::a_violation_is_mended(&["a", "a", "a", "a", "b"], &[1, 2], &[1], &[5, 2])]
#[case::both_leave(&["a", "b", "a", "b"], &[1, 2], &[1, 2], &[3, 4])]
fn a_replica_goes_to_the_right_rack(
    #[case] racks: &[&str],
    #[case] from: &[BrokerId],
    #[case] drain: &[BrokerId],
    #[case] to: &[BrokerId],
) {
    let mut partitions = one(from);
    // Where two brokers are equal, one has something already.
    partitions.push(partition("other", 0, vec![5.min(racks.len() as i32)], 1));
    let plan = World::new(racks, partitions).plan(&Request { leaders_above: 100.0, ..Request::drain(drain) });
    let it = plan.moves.iter().find(|it| it.topic.as_str() == "t").unwrap();
    assert_eq!(*it.to, *to);
}

#[test]
fn nothing_goes_to_brokers_that_are_cordoned_dead_draining_or_avoided() {
    let world = World::new(&["", "", "", "", "", ""], one(&[1]))
        .with(2, |broker| broker.cordoned = true)
        .with(3, |broker| broker.dead = true)
        .with(4, |broker| broker.draining = true);
    let plan = world.plan(&Request { avoid: vec![5], ..Request::drain(&[1]) });
    assert_eq!(*only(&plan).to, [6]);
}

#[test]
fn who_is_avoided_gets_what_no_other_can_have() {
    let world = World::new(&["", "", "", ""], one(&[1, 2]));
    let request = |avoid: &[BrokerId]| Request { avoid: avoid.to_vec(), ..Request::drain(&[1]) };
    assert_eq!(*only(&world.plan(&request(&[3]))).to, [4, 2]);
    let plan = world.plan(&request(&[3, 4]));
    assert!(plan.infeasible.is_empty() && plan.blocked.is_empty(), "{plan:?}");
    assert!([[3, 2], [4, 2]].contains(&[only(&plan).to[0], only(&plan).to[1]]), "{plan:?}");
}

#[test]
fn no_rack_is_crowded_to_avoid_a_broker() {
    let world = World::new(&["a", "b", "c", "c", "a"], one(&[1, 2, 3]));
    let plan = world.plan(&Request { avoid: vec![4], ..Request::drain(&[3]) });
    assert_eq!(*only(&plan).to, [1, 2, 4]);
}

#[test]
fn brokers_that_the_snapshot_calls_draining_are_drained_too() {
    let world = World::new(&["", "", ""], one(&[1])).with(1, |broker| broker.draining = true);
    assert_eq!(*only(&world.plan(&Request::drain(&[2]))).to, [3]);
}

#[test]
fn too_few_brokers_are_told_before_anything_moves() {
    let mut partitions = one(&[1, 2, 3]);
    partitions.push(partition("small", 0, vec![1], 5));
    let plan = World::new(&["", "", ""], partitions).plan(&Request::drain(&[1]));
    let [topic] = plan.infeasible.as_slice() else { panic!("{plan:?}") };
    assert_eq!((topic.topic.as_str(), topic.replicas, topic.eligible, topic.partitions), ("t", 3, 2, 1));
    assert!(topic.message.contains("t has 3 replicas, and 2 brokers"), "{}", topic.message);
    assert_eq!(only(&plan).topic.as_str(), "small");
    assert_eq!((plan.report.bytes, plan.report.blocked_bytes, plan.report.lower_bound_bytes), (5, 100, 105));
}

#[test]
fn a_replica_on_a_cordoned_broker_stays_and_counts() {
    let world = World::new(&["", "", "", ""], one(&[1, 2, 3])).with(2, |broker| broker.cordoned = true);
    assert_eq!(*only(&world.plan(&Request::drain(&[1]))).to, [4, 2, 3]);
}

#[rstest]
#[case::fits(&[60, 20], 1000, &[])]
#[case::does_not_fit(&[860, 20], 1000, &[Reason::DiskFull])]
fn disks(#[case] sizes: &[u64], #[case] disk: u64, #[case] reasons: &[Reason]) {
    let partitions = (0..).zip(sizes).map(|(number, size)| partition("t", number, vec![1], *size)).collect();
    let world = World::new(&["", ""], partitions).with(2, |broker| broker.capacity.disk_bytes = Some(disk));
    let plan = world.plan(&Request::drain(&[1]));
    let found: Vec<Reason> = plan.blocked.iter().map(|blocked| blocked.reason).collect();
    assert_eq!(found, reasons);
    assert_eq!(plan.moves.len() + plan.blocked.len(), sizes.len(), "the rest goes on");
}

#[test]
fn a_nearly_full_cluster_is_packed_tightly() {
    // Evenly, each gets 30 and 20, and the last 20 finds no room.
    let partitions =
        (0..).zip([30, 30, 20, 20, 20]).map(|(number, size)| partition("t", number, vec![1], size));
    let mut world = World::new(&["", "", ""], partitions.collect());
    for id in [2, 3] {
        world = world.with(id, |broker| broker.capacity.disk_bytes = Some(60));
    }
    let plan = world.plan(&Request { disk_high_water: 1.0, ..Request::drain(&[1]) });
    assert_eq!(plan.blocked, []);
}

#[test]
fn a_rack_with_room_only_elsewhere_blocks() {
    let world = World::new(&["a", "a", "b", "b"], one(&[1, 3]));
    let full = world.with(4, |broker| broker.capacity.disk_bytes = Some(1));
    let plan = full.plan(&Request::drain(&[3]));
    assert_eq!(plan.blocked[0].reason, Reason::RackCrowded);
    assert!(plan.moves.is_empty());
}

#[test]
fn without_a_live_replica_there_is_nothing_to_copy() {
    let mut partitions = one(&[1]);
    partitions.push(partition("u", 0, vec![1, 2], 100));
    let world = World::new(&["", "", ""], partitions).with(1, |broker| broker.dead = true);
    let plan = world.plan(&Request::drain(&[1]));
    assert_eq!(plan.blocked[0].reason, Reason::NoSource);
    assert_eq!((only(&plan).topic.as_str(), &*only(&plan).to), ("u", &[3, 2][..]));
}

/// Partition 0 of [1, 2], while it goes to `adding` instead of `removing`.
fn flying(replicas: &[BrokerId], adding: &[BrokerId], removing: &[BrokerId]) -> Vec<Partition> {
    let mut partitions = one(replicas);
    partitions[0].adding = adding.to_vec();
    partitions[0].removing = removing.to_vec();
    partitions[0].leader = replicas.iter().copied().find(|broker| !adding.contains(broker));
    partitions
}

#[test]
fn a_reassignment_that_does_it_already_is_adopted() {
    let plan = World::new(&["", "", "", ""], flying(&[3, 2, 1], &[3], &[1])).plan(&Request::drain(&[1]));
    assert_eq!((plan.moves.len(), plan.in_flight[0].role), (0, Role::Serves));
    assert_eq!((plan.report.in_flight_bytes, plan.report.bytes), (100, 0));
    assert!(!plan.is_done());
}

#[rstest]
#[case::dead(3, false)]
#[case::draining_too(3, true)]
fn a_reassignment_to_where_nothing_may_be_is_superseded(#[case] broker: BrokerId, #[case] drains: bool) {
    let world = World::new(&["", "", "", ""], flying(&[3, 2, 1], &[3], &[1])).with(broker, |broker| {
        broker.dead = !drains;
        broker.draining = drains;
    });
    let plan = world.plan(&Request::drain(&[1]));
    assert_eq!(plan.in_flight[0].role, Role::Superseded);
    assert!(only(&plan).supersedes);
    assert_eq!(*only(&plan).to, [4, 2]);
}

#[test]
fn a_reassignment_to_a_cordoned_broker_may_end() {
    let world = World::new(&["", "", "", ""], flying(&[3, 2, 1], &[3], &[1]));
    let plan = world.with(3, |broker| broker.cordoned = true).plan(&Request::drain(&[1]));
    assert_eq!((plan.moves.len(), plan.in_flight[0].role), (0, Role::Serves));
}

#[test]
fn what_still_has_to_go_is_planned_beside_a_reassignment_that_serves() {
    let world = World::new(&["", "", "", "", ""], flying(&[3, 2, 1], &[3], &[1]));
    let plan = world.plan(&Request::drain(&[1, 2]));
    assert!(!only(&plan).supersedes);
    assert_eq!(only(&plan).to[0], 3);
    assert_eq!((plan.report.bytes, plan.report.in_flight_bytes), (100, 100));
}

#[test]
fn a_foreign_reassignment_is_left_alone() {
    let world = World::new(&["", "", "", ""], flying(&[1, 3, 2], &[3], &[2]));
    let plan = world.plan(&Request::drain(&[1]));
    assert_eq!((plan.moves.len(), plan.in_flight[0].role), (0, Role::Foreign));
    assert_eq!(plan.blocked[0].reason, Reason::ForeignReassignment);
    let elsewhere = world.plan(&Request::drain(&[4]));
    assert_eq!((elsewhere.blocked.len(), elsewhere.in_flight[0].role), (0, Role::Foreign));
    assert!(elsewhere.is_done());
}

#[test]
fn a_reassignment_for_an_intent_that_is_gone_is_obsolete() {
    let world = World::new(&["", "", "", ""], flying(&[3, 2, 1], &[3], &[1]));
    let plan = world.plan(&Request { kept: vec![1], ..Request::drain(&[]) });
    assert_eq!((plan.moves.len(), plan.in_flight[0].role), (0, Role::Obsolete));
}

#[test]
fn a_reassignment_without_progress_is_stalled_if_it_serves_a_drain() {
    let stalled = || [("t".to_owned(), 0)].into();
    let world = World::new(&["", "", "", ""], flying(&[3, 2, 1], &[3], &[1]));
    let plan = world.plan(&Request { stalled: stalled(), ..Request::drain(&[1]) });
    assert_eq!((plan.moves.len(), plan.in_flight[0].role), (0, Role::Stalled));
    assert_eq!((plan.report.in_flight_bytes, plan.is_done()), (100, false));
    let foreign = world.plan(&Request { stalled: stalled(), ..Request::drain(&[4]) });
    assert_eq!(foreign.in_flight[0].role, Role::Foreign);
    let spread = world.plan(&Request { stalled: stalled(), ..Request::spread(&[3]) });
    assert_eq!(spread.in_flight[0].role, Role::Serves);
}

#[test]
fn a_topic_is_spread_over_brokers() {
    let partitions = (0..8).map(|number| partition("t", number, vec![1, 2], 100)).collect();
    let world = World::new(&["", "", "", "", "", ""], partitions);
    let plan = world.plan(&Request::drain(&[1]));
    for broker in 3..=6 {
        assert_eq!(plan.moves.iter().filter(|it| it.to.contains(&broker)).count(), 2, "{:?}", plan.moves);
    }
}

#[test]
fn of_two_equal_brokers_the_one_with_less_of_the_topic_gets_it() {
    for number in 4..12 {
        let mut partitions: Vec<_> = (0..4).map(|number| partition("t", number, vec![2], 100)).collect();
        partitions.extend((0..4).map(|number| partition(&format!("other-{number}"), 0, vec![3], 100)));
        partitions.push(partition("t", number, vec![1], 100));
        let plan = World::new(&["", "", ""], partitions).plan(&Request::drain(&[1]));
        assert_eq!(*only(&plan).to, [3]);
    }
}

#[test]
fn the_order_of_the_file_does_not_matter() {
    let mut world = World::of(&Shape { partitions: 200, brokers: 8, ..Shape::default() }.build());
    let plan = world.plan(&Request::drain(&[2]));
    assert!(plan.moves.len() > 50);
    world.partitions.reverse();
    world.brokers.rotate_left(3);
    assert_eq!(plan, world.plan(&Request::drain(&[2])));
}

#[test]
fn larger_disks_get_more() {
    let partitions = (0..90).map(|number| partition("t", number, vec![1], 100)).collect();
    let mut world = World::new(&["", "", ""], partitions);
    for (id, disk) in [(1, 9000), (2, 20_000), (3, 10_000)] {
        world = world.with(id, |broker| broker.capacity.disk_bytes = Some(disk));
    }
    let plan = world.plan(&Request::drain(&[1]));
    let large = plan.moves.iter().filter(|it| *it.to == [2]).count();
    assert!((57..=63).contains(&large), "{large} of 90");
}

#[test]
fn an_unknown_broker_is_refused() {
    let error =
        ballast_kafka_core::rebalance::plan(&World::new(&[""], one(&[1])).snapshot(), &Request::drain(&[7]));
    let error = error.unwrap_err();
    assert!(matches!(error, RequestError::UnknownBroker { id: 7, .. }));
    assert_eq!(error.to_string(), "broker 7 is not in the snapshot, which has 1; name one of those");
}

#[test]
fn no_broker_left_is_infeasible() {
    let plan = World::new(&["", ""], one(&[1])).plan(&Request::drain(&[1, 2]));
    assert_eq!((plan.moves.len(), plan.infeasible[0].eligible), (0, 0));
}
