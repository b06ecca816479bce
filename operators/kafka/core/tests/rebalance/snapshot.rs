//! Snapshots are read, written, and refused with what would mend them.

use ballast_kafka_core::rebalance::{plan, request::Request, snapshot::Snapshot};
use rstest::rstest;
use serde_json::{Value, json};

use crate::generator::Shape;

fn sample() -> Value {
    json!({
        "format": 1,
        "brokers": [
            {"id": 2, "rack": "b", "draining": true},
            {"id": 1, "rack": "a", "capacity": {"diskBytes": 1000, "networkIn": 10, "networkOut": 20}},
            {"id": 3, "cordoned": true, "dead": true},
        ],
        "partitions": [
            {"topic": "u", "partition": 1, "replicas": [2]},
            {"topic": "t", "partition": 0, "replicas": [2, 1, 3], "leader": 2, "isr": [1, 2], "sizes": [10, null, 7],
             "in": 1.5, "out": 2, "adding": [3], "removing": [2]},
            {"topic": "u", "partition": 0, "replicas": [1, 2], "size": 5},
        ],
    })
}

#[test]
fn it_is_sorted_and_comes_back_as_it_was() {
    let snapshot = Snapshot::from_json(&sample().to_string()).unwrap();
    assert_eq!(snapshot.brokers().iter().map(|broker| broker.id).collect::<Vec<_>>(), [1, 2, 3]);
    let partitions: Vec<_> = snapshot.partitions().collect();
    let names: Vec<_> = partitions.iter().map(|it| format!("{}-{}", it.topic, it.partition)).collect();
    assert_eq!(names, ["t-0", "u-0", "u-1"]);
    // What is removed comes last; a size that is not known is the largest.
    assert_eq!(partitions[0].replicas, [1, 3, 2]);
    assert_eq!(partitions[0].sizes, Some(vec![Some(10), Some(7), Some(10)]));
    let text = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::to_string(&Snapshot::from_json(&text).unwrap()).unwrap(), text);
}

#[test]
fn large_ones_come_back_too() {
    let shape = Shape { partitions: 500, factor: 0, dead: 1, cordoned: 1, disk: 2.0, ..Shape::default() };
    let snapshot = shape.build();
    let again = Snapshot::from_json(&serde_json::to_string(&snapshot).unwrap()).unwrap();
    assert!(again.partitions().eq(snapshot.partitions()) && again.brokers() == snapshot.brokers());
    let request = Request::drain(&[2]);
    assert_eq!(plan(&again, &request), plan(&snapshot, &request));
}

#[rstest]
#[case::version("/format", json!(2), "format: is 2, and this program reads 1; use a program as new as the file")]
#[case::no_brokers("/brokers", json!([]), "brokers: is empty; list every broker that is registered")]
#[case::twice("/brokers/0/id", json!(1), "brokers (id 1): is there twice; keep one of them")]
#[case::negative("/brokers/0/id", json!(-2), "brokers (id -2).id: is negative; use the broker's node.id")]
#[case::capacity("/brokers/1/capacity/networkIn", json!(0),
    "brokers (id 1).capacity.networkIn: is 0; leave it out if it is not known")]
#[case::no_topic("/partitions/0/topic", json!(""), "partitions[0].topic (-1): is empty; write the topic's name")]
#[case::number("/partitions/0/partition", json!(-1),
    "partitions[0].partition (u--1): is negative; partitions are counted from 0")]
#[case::no_replicas("/partitions/0/replicas", json!([]),
    "partitions[0].replicas (u-1): is empty; list the brokers that hold the partition")]
#[case::replica_twice("/partitions/0/replicas", json!([2, 2]),
    "partitions[0].replicas (u-1): names broker 2 twice; name each broker once")]
#[case::unknown_broker("/partitions/0/replicas", json!([9]),
    "partitions[0].replicas (u-1): names broker 9, which `brokers` does not have; \
     add it to `brokers`, with \"dead\": true if it does not answer")]
#[case::leader("/partitions/1/leader", json!(9),
    "partitions[1].leader (t-0): names broker 9, which is not in `replicas`; add it to `replicas` or leave it out here")]
#[case::isr("/partitions/1/isr", json!([9]),
    "partitions[1].isr (t-0): names broker 9, which is not in `replicas`; add it to `replicas` or leave it out here")]
#[case::both("/partitions/1/adding", json!([2]),
    "partitions[1].adding (t-0): names broker 2, which is in `removing` too; a replica is added or removed, not both")]
#[case::removes_all("/partitions/1/removing", json!([1, 2, 3]),
    "partitions[1].adding (t-0): names broker 3, which is in `removing` too; a replica is added or removed, not both")]
#[case::sizes("/partitions/1/sizes", json!([1]),
    "partitions[1].sizes (t-0): has another length than `replicas`; give one per replica")]
#[case::two_sizes("/partitions/1/size", json!(1),
    "partitions[1].size (t-0): is given together with `sizes`; give one of them")]
#[case::rate("/partitions/1/in", json!(-1),
    "partitions[1].in (t-0): is not a rate; give bytes per second, 0 or more")]
#[case::partition_twice("/partitions/0/partition", json!(0), "partitions: u-0 is there twice; keep one of them")]
fn mistakes_are_told(#[case] path: &str, #[case] value: Value, #[case] message: &str) {
    let mut document = sample();
    let (parent, key) = path.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
    assert_eq!(Snapshot::from_json(&document.to_string()).unwrap_err().to_string(), message);
}

#[test]
fn a_later_format_is_told_even_if_the_rest_is_strange() {
    let error = Snapshot::from_json(r#"{"format": 3, "nodes": []}"#).unwrap_err();
    assert_eq!(error.field, "format");
}

#[rstest]
#[case::misspelt(r#"{"format": 1, "brokers": [{"id": 1, "drainign": true}], "partitions": []}"#, "drainign")]
#[case::missing(r#"{"format": 1, "brokers": [{"id": 1}]}"#, "missing field `partitions`")]
#[case::not_json("{", "EOF")]
fn mistakes_in_the_form_are_told_with_line_and_column(#[case] text: &str, #[case] part: &str) {
    let error = Snapshot::from_json(text).unwrap_err();
    assert!(error.field.starts_with("line 1 column"), "{error}");
    assert!(error.problem.contains(part), "{error}");
}
