#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::{topics::Layout, *};

const RATES: [&str; 2] = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"];
const LISTS: [&str; 2] = ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"];

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap()
}

fn process(node: i32, since: Timestamp) -> Process {
    Process {
        node,
        pod: format!("pod-{node}"),
        disk: format!("disk-{node}"),
        host: format!("host-{node}"),
        rack: None,
        broker: true,
        controller: true,
        newest_level: 33,
        settings: [("min.insync.replicas".to_owned(), "2".to_owned())].into(),
        loggers: BTreeMap::new(),
        since,
    }
}

/// So many nodes, of which the first has begun the quorum.
fn cluster(nodes: i32) -> Kafka {
    let mut kafka = Kafka::new("id", Timing::default(), at(0));
    for node in 0..nodes {
        let boot = if node == 0 { Boot::Standalone } else { Boot::Joining };
        kafka.boot(process(node, at(0)), boot).unwrap();
    }
    kafka.tick(at(1000));
    kafka.tick(at(2000));
    kafka
}

fn vote(kafka: &mut Kafka, node: i32) {
    let directory = kafka.disks[&format!("disk-{node}")].directory;
    kafka.add_voter(Some("id"), node, directory, "host").unwrap();
}

fn topic(kafka: &mut Kafka, replicas: &[i32], size: u64) {
    kafka.create_topic("t", &Layout::Assigned(vec![replicas.to_vec()]), BTreeMap::new(), false).unwrap();
    kafka.produce("t", 0, 1, size).unwrap();
}

fn set(kafka: &mut Kafka, resource: &Resource, names: [&str; 2], values: [&str; 2]) {
    let changes: Vec<_> =
        names.into_iter().map(str::to_owned).zip(values.map(|it| Some(it.to_owned()))).collect();
    kafka.alter(resource, &changes, None, false).unwrap();
}

fn throttle(kafka: &mut Kafka, lists: [&str; 2]) {
    set(kafka, &Resource::Brokers, RATES, ["1000", "1000"]);
    set(kafka, &Resource::Topic("t".to_owned()), LISTS, lists);
}

fn one(kafka: &Kafka) -> &Partition {
    kafka.partition("t", 0).unwrap()
}

fn complains(kafka: &Kafka, about: &str) -> bool {
    kafka.violations.iter().any(|what| what.contains(about))
}

#[test]
fn a_quorum_begins_once_and_grows_by_those_who_follow() {
    let mut kafka = cluster(3);
    assert_eq!((kafka.leader, kafka.voters.len(), kafka.observers().len()), (Some(0), 1, 2));
    vote(&mut kafka, 1);
    assert_eq!(kafka.add_voter(None, 1, Uuid::nil(), "").unwrap_err().code, Code::DuplicateVoter);
    assert_eq!(kafka.add_voter(None, 2, Uuid::nil(), "").unwrap_err().code, Code::RequestTimedOut);
    assert_eq!(
        kafka.add_voter(Some("other"), 2, Uuid::nil(), "").unwrap_err().code,
        Code::InconsistentClusterId
    );
    assert!(kafka.violations.is_empty(), "{:?}", kafka.violations);
    kafka.boot(Process { disk: "new".to_owned(), ..process(7, at(2000)) }, Boot::Standalone).unwrap();
    assert!(complains(&kafka, "a second quorum"));
}

#[test]
fn a_majority_is_never_removed() {
    let mut kafka = cluster(3);
    vote(&mut kafka, 1);
    vote(&mut kafka, 2);
    kafka.halt("pod-2");
    assert!(kafka.has_quorum() && kafka.violations.is_empty());
    let directory = kafka.voters[&0].directory;
    kafka.remove_voter(Some("id"), 0, directory).unwrap();
    assert!(complains(&kafka, "is lost with the vote of node 0"), "{:?}", kafka.violations);
    assert_eq!(kafka.leader, None);
}

#[test]
fn a_node_that_stops_is_fenced_and_comes_back_in_sync() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[1, 2, 0], 100);
    kafka.halt("pod-1");
    assert_eq!((one(&kafka).leader, one(&kafka).isr.as_slice()), (Some(2), &[2, 0][..]));
    assert!(!kafka.brokers[&1].fenced, "nobody has noticed yet");
    kafka.tick(at(2500));
    assert!(kafka.brokers[&1].fenced && kafka.violations.is_empty());
    kafka.boot(process(1, at(2500)), Boot::Data).unwrap();
    kafka.tick(at(2900));
    assert!(!kafka.brokers[&1].fenced && one(&kafka).isr.len() == 2);
    kafka.tick(at(3200));
    assert_eq!((one(&kafka).leader, one(&kafka).isr.as_slice()), (Some(2), &[2, 0, 1][..]));
    kafka.halt("pod-2");
    assert!(kafka.violations.is_empty(), "{:?}", kafka.violations);
    kafka.halt("pod-1");
    assert!(complains(&kafka, "leaves 1 in sync of t-0"), "{:?}", kafka.violations);
}

#[test]
fn a_move_takes_as_long_as_its_throttle_says() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[0, 1], 3000);
    throttle(&mut kafka, ["0:0,0:1", "0:2"]);
    kafka.reassign("t", 0, Some(&[0, 2]), false).unwrap();
    assert_eq!(
        (&one(&kafka).adding, &one(&kafka).removing, &one(&kafka).replicas),
        (&vec![2], &vec![1], &vec![0, 2, 1])
    );
    kafka.tick(at(3000));
    assert_eq!((kafka.copied, kafka.in_flight()), (1000, 1000));
    kafka.tick(at(4900));
    assert!(one(&kafka).moves());
    kafka.tick(at(5000));
    assert_eq!((&one(&kafka).replicas, one(&kafka).isr.len(), kafka.copied), (&vec![0, 2], 2, 3000));
    assert!(kafka.disks["disk-1"].replicas.is_empty() && kafka.violations.is_empty());
}

#[test]
fn a_move_that_is_cancelled_leaves_nothing_and_has_cost_something() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[0, 1], 3000);
    assert_eq!(kafka.reassign("t", 0, None, false).unwrap_err().code, Code::NoReassignmentInProgress);
    throttle(&mut kafka, ["0:0,0:1", "0:2"]);
    kafka.reassign("t", 0, Some(&[0, 2]), false).unwrap();
    kafka.tick(at(3000));
    kafka.reassign("t", 0, None, false).unwrap();
    assert_eq!((&one(&kafka).replicas, one(&kafka).moves()), (&vec![0, 1], false));
    assert_eq!((kafka.wasted, kafka.disks["disk-2"].replicas.len()), (1000, 0));
}

#[test]
fn what_is_not_throttled_is_noticed() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[0, 1], 3000);
    throttle(&mut kafka, ["0:0", "1:2"]);
    kafka.reassign("t", 0, Some(&[0, 2]), false).unwrap();
    assert!(complains(&kafka, "without a throttle"));
}

#[test]
fn another_order_moves_nothing() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[0, 1, 2], 3000);
    kafka.reassign("t", 0, Some(&[2, 0, 1]), false).unwrap();
    assert_eq!((kafka.copied, one(&kafka).moves(), one(&kafka).leader), (0, false, Some(0)));
    kafka.elect_preferred("t", 0).unwrap();
    assert_eq!(one(&kafka).leader, Some(2));
    assert_eq!(kafka.elect_preferred("t", 0).unwrap_err().code, Code::ElectionNotNeeded);
}

#[test]
fn a_broker_with_replicas_is_not_to_be_forgotten() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[0, 1], 10);
    kafka.unregister(2).unwrap();
    assert_eq!(kafka.violations, ["broker 2 is unregistered and runs"]);
    kafka.violations.clear();
    kafka.halt("pod-1");
    kafka.unregister(1).unwrap();
    assert!(complains(&kafka, "broker 1 is unregistered and has replicas"));
    assert_eq!(kafka.unregister(9).unwrap_err().code, Code::BrokerIdNotRegistered);
}

#[test]
fn the_last_copy_is_not_to_be_deleted() {
    let mut kafka = cluster(3);
    topic(&mut kafka, &[0, 1], 10);
    kafka.halt("pod-0");
    kafka.remove_disk("disk-0");
    assert!(!complains(&kafka, "last copy"));
    kafka.halt("pod-1");
    kafka.remove_disk("disk-1");
    assert!(complains(&kafka, "the last copy of t-0"));
}

#[test]
fn a_node_starts_empty_once_its_vote_is_back_and_others_have_its_data() {
    let mut kafka = cluster(3);
    vote(&mut kafka, 1);
    vote(&mut kafka, 2);
    topic(&mut kafka, &[1, 2], 10);
    kafka.halt("pod-1");
    let empty = |disk: &str| Process { disk: disk.to_owned(), ..process(1, at(2000)) };
    kafka.boot(empty("early"), Boot::Joining).unwrap();
    assert_eq!(kafka.violations, ["node 1 votes, and starts on an empty disk"]);
    kafka.violations.clear();
    kafka.halt("pod-1");
    let directory = kafka.voters[&1].directory;
    kafka.remove_voter(None, 1, directory).unwrap();
    kafka.boot(empty("new"), Boot::Joining).unwrap();
    kafka.tick(at(3000));
    kafka.tick(at(4000));
    assert_eq!((one(&kafka).isr.len(), kafka.copied, kafka.violations.len()), (2, 0, 0));
    kafka.reassign("t", 0, Some(&[1]), true).unwrap();
    kafka.halt("pod-1");
    assert!(kafka.violations.is_empty(), "{:?}", kafka.violations);
    kafka.boot(empty("newer"), Boot::Joining).unwrap();
    assert!(complains(&kafka, "no other serves t-0"), "{:?}", kafka.violations);
}

#[test]
fn cordons_are_set_by_the_broker_itself_and_keep_replicas_away() {
    let mut kafka = cluster(3);
    let cordon = [("cordoned.log.dirs".to_owned(), Some("*".to_owned()))];
    let broker = Resource::Broker(2);
    assert_eq!(kafka.alter(&broker, &cordon, None, false).unwrap_err().code, Code::InvalidConfig);
    assert_eq!(kafka.alter(&broker, &cordon, Some(1), false).unwrap_err().code, Code::InvalidRequest);
    kafka.alter(&broker, &cordon, Some(2), false).unwrap();
    let wide = kafka.create_topic("wide", &Layout::Count(1, 3), BTreeMap::new(), false);
    assert_eq!(wide.unwrap_err().code, Code::InvalidReplicationFactor);
    topic(&mut kafka, &[0, 1], 10);
    let there = kafka.reassign("t", 0, Some(&[0, 2]), false);
    assert_eq!(there.unwrap_err().code, Code::InvalidReplicaAssignment);
}

#[test]
fn settings_are_checked_by_who_has_to_keep_them() {
    let mut kafka = cluster(2);
    topic(&mut kafka, &[0, 1], 10);
    let set = |name: &str, value: &str| [(name.to_owned(), Some(value.to_owned()))];
    let own = Resource::Broker(0);
    let many = kafka.alter(&own, &set(RATES[0], "many"), Some(0), false);
    assert_eq!(many.unwrap_err().code, Code::InvalidRequest);
    kafka.alter(&own, &set("node.id", "9"), None, false).unwrap();
    let of_topic = Resource::Topic("t".to_owned());
    assert_eq!(
        kafka.alter(&of_topic, &set("no.such", "1"), None, false).unwrap_err().code,
        Code::InvalidConfig
    );
    kafka.alter(&of_topic, &set("retention.ms", "1"), None, true).unwrap();
    assert!(!kafka.configs.contains_key(&of_topic), "it was only validated");
    kafka.alter(&Resource::Logger(1), &set("root", "ERROR"), Some(1), false).unwrap();
    let process = kafka.process(1).unwrap().clone();
    assert_eq!(kafka.describe(&Resource::Logger(1), &process, false).unwrap()[0].source, Source::Logger);
    kafka.halt("pod-1");
    kafka.boot(super::tests::process(1, at(2000)), Boot::Data).unwrap();
    let process = kafka.process(1).unwrap().clone();
    assert_eq!(kafka.describe(&Resource::Logger(1), &process, false).unwrap(), []);
}

#[test]
fn levels_go_up_to_what_all_nodes_read() {
    let mut kafka = cluster(1);
    kafka.level = 27;
    assert_eq!(kafka.update_level(34, false).unwrap_err().code, Code::InvalidUpdateVersion);
    kafka.update_level(33, true).unwrap();
    assert_eq!(kafka.level, 27);
    kafka.update_level(33, false).unwrap();
    assert_eq!(kafka.update_level(27, false).unwrap_err().code, Code::InvalidUpdateVersion);
    let old = Process { newest_level: 27, ..process(1, at(2000)) };
    assert!(kafka.boot(old, Boot::Joining).unwrap_err().contains("33"));
    assert_eq!(levels::newest("4.4.0"), Ok(33));
}
