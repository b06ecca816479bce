#![allow(clippy::unwrap_used, clippy::panic)]

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::{build::samples, difference};

fn peer(value: Value) -> NetworkPolicyPeer {
    serde_json::from_value(value).unwrap()
}

fn example() -> NetworkPolicy {
    let cluster = samples::cluster();
    policy(
        &cluster,
        &[
            Guarded { port: 2379, from: Some(vec![operator("ballast-system"), own_pods(&cluster)]) },
            Guarded { port: 2380, from: Some(vec![own_pods(&cluster)]) },
        ],
    )
}

/// Whether the policy lets a connection in: an evaluator of its own, from Kubernetes' documentation.
fn allows(
    policy: &NetworkPolicy,
    port: i32,
    protocol: &str,
    pod: &[(&str, &str)],
    namespace: Option<&str>,
) -> bool {
    let matches = |selector: &LabelSelector, labels: &[(&str, &str)]| {
        selector
            .match_labels
            .iter()
            .flatten()
            .all(|(key, value)| labels.contains(&(key.as_str(), value.as_str())))
    };
    let spec = policy.spec.as_ref().unwrap();
    spec.ingress.iter().flatten().any(|rule| {
        let port_fits = rule.ports.as_ref().is_none_or(|ports| {
            ports.iter().any(|allowed| {
                let Some(IntOrString::Int(first)) = allowed.port else { panic!("{allowed:?}") };
                allowed.protocol.as_deref() == Some(protocol)
                    && (first..=allowed.end_port.unwrap_or(first)).contains(&port)
            })
        });
        let from_fits = rule.from.as_ref().is_none_or(|from| {
            from.iter().any(|peer| {
                let here = match (&peer.namespace_selector, namespace) {
                    (None, other) => other.is_none(),
                    (Some(selector), Some(name)) => matches(selector, &[(NAMESPACE_NAME, name)]),
                    (Some(selector), None) => matches(selector, &[(NAMESPACE_NAME, "shop")]),
                };
                here && peer.pod_selector.as_ref().is_none_or(|selector| matches(selector, pod))
            })
        });
        port_fits && from_fits
    })
}

#[test]
fn who_reaches_what() {
    let policy = example();
    let labels = samples::cluster().labels.selector();
    let member: Vec<(&str, &str)> =
        labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let operator = [OPERATOR];
    let other = [("app", "shop")];
    assert!(allows(&policy, 2380, "TCP", &member, None), "members reach each other");
    assert!(!allows(&policy, 2380, "TCP", &member, Some("elsewhere")), "same labels in another namespace");
    assert!(!allows(&policy, 2380, "TCP", &other, None));
    assert!(!allows(&policy, 2380, "TCP", &operator, Some("ballast-system")));
    assert!(allows(&policy, 2379, "TCP", &operator, Some("ballast-system")), "the operator asks the members");
    assert!(!allows(&policy, 2379, "TCP", &operator, Some("elsewhere")));
    assert!(!allows(&policy, 2379, "TCP", &other, Some("ballast-system")));
    assert!(allows(&policy, 2379, "TCP", &member, None));
    for (port, protocol) in [(1, "TCP"), (2378, "TCP"), (2381, "TCP"), (65535, "TCP"), (2380, "UDP")] {
        assert!(allows(&policy, port, protocol, &other, Some("elsewhere")), "a sidecar on {port}/{protocol}");
    }
}

#[test]
fn an_unguarded_port_is_open_to_all() {
    let policy = policy(&samples::cluster(), &[Guarded { port: 2379, from: None }]);
    assert!(allows(&policy, 2379, "TCP", &[], Some("elsewhere")));
}

#[test]
fn it_selects_exactly_the_pods_of_the_cluster() {
    let policy = example();
    assert_eq!(policy.metadata.namespace.as_deref(), Some("shop"));
    let selector = policy.spec.unwrap().pod_selector.unwrap();
    assert_eq!(selector.match_labels, Some(samples::cluster().labels.selector()));
}

/// Kubernetes takes these lists as one value, so whatever somebody adds or takes away is to be undone.
#[rstest]
#[case::a_port_more("/spec/ingress/1/ports", json!([{"port": 2380, "protocol": "TCP"}, {"port": 1, "protocol": "TCP"}]))]
#[case::a_peer_more("/spec/ingress/1/from/1", json!({"podSelector": {}}))]
#[case::everyone("/spec/ingress/1/from", Value::Null)]
#[case::fewer("/spec/ingress/2/from", json!([{"podSelector": {}}]))]
#[case::a_rule_more("/spec/ingress/3", json!({}))]
#[case::other_pods("/spec/podSelector/matchExpressions", json!([{"key": "a", "operator": "Exists"}]))]
fn what_somebody_changed_is_seen(#[case] at: &str, #[case] value: Value) {
    let sent = serde_json::to_value(example()).unwrap();
    assert_eq!(difference::first(&sent, &sent), None);
    let mut live = sent.clone();
    let (parent, key) = at.rsplit_once('/').unwrap();
    match live.pointer_mut(parent).unwrap() {
        Value::Array(items) => items.push(value),
        Value::Object(fields) if value.is_null() => drop(fields.remove(key)),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        other => panic!("{other}"),
    }
    assert_ne!(difference::first(&sent, &live), None);
}

#[rstest]
#[case(json!({"podSelector": {}}))]
#[case(json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}, "podSelector": {}}))]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}))]
#[case(json!({"ipBlock": {"cidr": "::/0", "except": ["2001:db8::/32"]}}))]
#[case(json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}))]
fn good_peers(#[case] value: Value) {
    assert_eq!(peer_faults(&peer(value)), []);
}

#[rstest]
#[case(json!({}), "")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}), ".ipBlock")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0"}}), ".ipBlock.cidr")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/33"}}), ".ipBlock.cidr")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/+8"}}), ".ipBlock.cidr")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/8\n"}}), ".ipBlock.cidr")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "11.0.0.0/16"]}}), ".ipBlock.except[1]")]
#[case(json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}}), ".ipBlock.except[0]")]
#[case(json!({"ipBlock": {"cidr": "::/0", "except": ["10.0.0.0/8"]}}), ".ipBlock.except[0]")]
#[case(json!({"podSelector": {"matchLabels": {"a\nb": "c"}}}), ".podSelector.matchLabels[a\nb]")]
#[case(json!({"namespaceSelector": {"matchLabels": {"a": "b c"}}}), ".namespaceSelector.matchLabels[a]")]
#[case(json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}), ".podSelector.matchExpressions[0].operator")]
#[case(json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}), ".podSelector.matchExpressions[0].values")]
#[case(json!({"podSelector": {"matchExpressions": [{"key": "", "operator": "Exists"}]}}), ".podSelector.matchExpressions[0].key")]
fn wrong_peers(#[case] value: Value, #[case] field: &str) {
    let faults = peer_faults(&peer(value));
    assert_eq!(faults.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), [field], "{faults:?}");
}
