#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;

fn set(ids: &[i32]) -> BTreeSet<i32> {
    ids.iter().copied().collect()
}

/// Brokers with an id and a rack; those above 100 are fenced, by their id less 100.
fn brokers(all: &[(i32, &str)]) -> Vec<Registered> {
    let broker = |(id, rack): &(i32, &str)| Registered {
        id: id % 100,
        fenced: *id > 100,
        rack: Some((*rack).to_owned()),
    };
    all.iter().map(broker).collect()
}

fn partition(topic: &str, index: i32, replicas: &[i32], leader: i32) -> Partition {
    Partition {
        topic: topic.to_owned(),
        index,
        replicas: replicas.to_vec(),
        isr: replicas.to_vec(),
        leader: Some(leader),
        min_isr: Some(1),
    }
}

fn mine(index: i32, replicas: &[i32], leader: i32) -> Partition {
    partition(TOPIC, index, replicas, leader)
}

const THREE: [(i32, &str); 3] = [(1, "a"), (2, "a"), (3, "b")];

fn ring() -> Vec<Partition> {
    vec![mine(0, &[1, 3], 1), mine(1, &[2, 3], 2), mine(2, &[3, 1], 3)]
}

#[test]
fn a_partition_for_each_broker_with_its_copy_in_another_rack() {
    let step = step(&set(&[1, 2, 3]), &brokers(&THREE), &[]);
    assert_eq!(step, Step::Create(vec![vec![1, 3], vec![2, 3], vec![3, 1]]));
}

#[test]
fn one_broker_has_the_only_copy_and_brokers_that_leave_have_none() {
    assert_eq!(step(&set(&[2]), &brokers(&THREE), &[]), Step::Create(vec![vec![2]]));
}

#[test]
fn records_go_to_who_leads_wherever_that_is() {
    let all = [mine(0, &[1, 3], 1), mine(1, &[2, 3], 3), mine(2, &[3, 1], 3)];
    let Step::Try { partitions, others } = step(&set(&[1, 2, 3]), &brokers(&THREE), &all) else {
        panic!("it fits")
    };
    assert_eq!(partitions, BTreeMap::from([(1, 0), (3, 1)]));
    assert!(
        matches!(&others[&2], Outcome::Untested(why) if why.contains("leads no partition")),
        "{others:?}"
    );
}

#[test]
fn who_is_fenced_fails_and_does_not_make_the_topic_anew() {
    let all = [mine(0, &[1, 3], 1), mine(1, &[2, 3], 3), mine(2, &[3, 1], 3)];
    let brokers = brokers(&[(1, "a"), (102, "a"), (3, "b")]);
    let Step::Try { others, .. } = step(&set(&[1, 2, 3]), &brokers, &all) else { panic!("it fits") };
    assert!(matches!(&others[&2], Outcome::Failed(why) if why.contains("fenced")), "{others:?}");
}

#[test]
fn who_is_fenced_is_not_needed_to_make_it_and_is_no_reason_to_make_it_anew() {
    let (wanted, brokers) = (set(&[1, 2, 3]), brokers(&[(1, "a"), (102, "a"), (3, "b")]));
    assert_eq!(step(&wanted, &brokers, &[]), Step::Create(vec![vec![1, 3], vec![3, 1]]));
    let without = [mine(0, &[1, 3], 1), mine(1, &[3, 1], 3)];
    assert!(matches!(step(&wanted, &brokers, &without), Step::Try { .. }));
}

#[rstest]
#[case::as_it_was_made(&[1, 2, 3], ring(), false)]
#[case::more_brokers_than_it_was_made_for(&[1, 2, 3], ring()[..2].to_vec(), true)]
#[case::but_not_while_it_is_moved(&[1, 2, 3], vec![mine(0, &[1, 3, 2], 1), mine(1, &[2, 3], 2)], false)]
#[case::the_only_copy_although_there_are_more_brokers(&[1, 2, 3], vec![mine(0, &[1], 1), mine(1, &[2], 2), mine(2, &[3], 3)], true)]
#[case::two_copies_of_which_one_cannot_leave(&[1], ring(), true)]
#[case::who_leaves_needs_no_partition(&[1, 3], vec![mine(0, &[1, 3], 1), mine(2, &[3, 1], 3)], false)]
#[case::who_has_nothing_gets_its_share_first(
    &[1, 2, 3],
    vec![partition("t", 0, &[1, 2], 1), mine(0, &[1, 2], 1), mine(1, &[2, 1], 2)],
    false
)]
#[case::and_then_the_canary(
    &[1, 2, 3],
    vec![partition("t", 0, &[1, 3], 1), partition("t", 1, &[2, 3], 2), mine(0, &[1, 2], 1), mine(1, &[2, 1], 2)],
    true
)]
fn the_topic_is_made_anew_where_it_no_longer_fits(
    #[case] wanted: &[i32],
    #[case] partitions: Vec<Partition>,
    #[case] anew: bool,
) {
    let step = step(&set(wanted), &brokers(&THREE), &partitions);
    assert_eq!(step == Step::Remake, anew, "{step:?}");
}

#[rstest]
#[case::all(&[(1, Outcome::Passed), (2, Outcome::Passed)], "True", "RecordsPass", "1, 2")]
#[case::one_fails(&[(1, Outcome::Passed), (2, Outcome::Failed("slow".into()))], "False", "RecordsDoNotPass", "broker 2: slow")]
#[case::a_failure_counts_more_than_what_is_not_known(
    &[(1, Outcome::Untested("new".into())), (2, Outcome::Failed("slow".into()))], "False", "RecordsDoNotPass", "broker 2: slow"
)]
#[case::one_is_untested(&[(1, Outcome::Passed), (2, Outcome::Untested("new".into()))], "Unknown", "BrokersUntested", "broker 2: new")]
#[case::one_is_missing(&[(1, Outcome::Passed)], "Unknown", "BrokersUntested", "broker 2")]
#[case::who_is_not_wanted_does_not_count(
    &[(1, Outcome::Passed), (2, Outcome::Passed), (3, Outcome::Failed("gone".into()))], "True", "RecordsPass", "1, 2"
)]
fn the_condition_names_brokers(
    #[case] outcomes: &[(i32, Outcome)],
    #[case] status: &str,
    #[case] reason: &str,
    #[case] part: &str,
) {
    let outcomes: Outcomes = outcomes.iter().cloned().collect();
    let (found, why, message) = condition(&set(&[1, 2]), Some(&outcomes));
    assert_eq!((found.as_str(), why), (status, reason), "{message}");
    assert!(message.contains(part), "{message}");
}

#[test]
fn what_was_never_tried_is_unknown() {
    assert_eq!(condition(&set(&[1]), None).0, Status::Unknown);
    assert_eq!(condition(&set(&[]), Some(&Outcomes::new())).0, Status::Unknown);
}
