//! The alerts and the dashboard of the chart ask for what the operator really measures.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ballast_core::object::Children;
use ballast_etcd_core::{
    api::EtcdCluster,
    observed::{self, Answers},
    validate::Environment,
};
use ballast_runtime::{
    metrics::Metrics,
    operator::{Operator, ResourceKey, View},
};
use jiff::Timestamp;
use serde_json::Value;

use crate::{client::Dialer, operator::EtcdOperator};

const ALERTS: &str = include_str!("../../../../charts/etcd-operator/files/alerts.yaml");
const DASHBOARD: &str = include_str!("../../../../charts/etcd-operator/files/dashboard.json");
const SAMPLE: &str = include_str!("../../../../deploy/samples/etcd/minimal.yaml");

/// What is asked for in an expression: the name of a metric, and its matchers (label, operator, value).
type Selector = (String, Vec<(String, String, String)>);

/// The words of a `PromQL` expression that name metrics, with what stands in braces behind them.
fn selectors(expression: &str) -> Vec<Selector> {
    const WORDS: [&str; 12] = [
        "and",
        "or",
        "unless",
        "by",
        "without",
        "on",
        "ignoring",
        "group_left",
        "group_right",
        "bool",
        "offset",
        "inf",
    ];
    let mut found: Vec<Selector> = vec![];
    let mut rest = expression;
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            rest = rest[1..].split_once('"').unwrap().1;
        } else if c == '[' {
            rest = rest.split_once(']').unwrap().1;
        } else if c == '{' {
            let (inside, after) = rest[1..].split_once('}').unwrap();
            found.last_mut().unwrap().1 = inside.split(',').map(matcher).collect();
            rest = after;
        } else if c.is_ascii_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let call = ["(", "by ", "without "].iter().any(|next| after.trim_start().starts_with(next));
            rest = after;
            if matches!(word, "by" | "without" | "on" | "ignoring" | "group_left" | "group_right") && call {
                rest = after.split_once(')').unwrap().1;
            } else if !call && !WORDS.contains(&word) {
                found.push((word.to_owned(), vec![]));
            }
        } else if c.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    found
}

fn matcher(text: &str) -> (String, String, String) {
    let at = text.find(['=', '!']).unwrap_or_else(|| panic!("no matcher: {text}"));
    let (label, after) = text.split_at(at);
    let value = after.trim_start_matches(['=', '!', '~']);
    let operator = &after[..after.len() - value.len()];
    (label.trim().to_owned(), operator.to_owned(), value.trim().trim_matches('"').to_owned())
}

/// Every metric that the operator exports once everything has happened: its name, and its series by their labels.
fn exported() -> BTreeMap<String, Vec<BTreeMap<String, String>>> {
    let metrics = Metrics::new("etcd", "0.1.0");
    let environment = Environment {
        cluster_domain: "cluster.local".to_owned(),
        operator_image: "image".to_owned(),
        operator_pull_policy: None,
        operator_namespace: None,
    };
    let operator = EtcdOperator::new(environment, Dialer::new(None));
    let mut resource: EtcdCluster = serde_yaml::from_str(SAMPLE).unwrap();
    resource.metadata.namespace = Some("ns".to_owned());
    resource.metadata.uid = Some("uid".to_owned());
    let desired = operator.validate(&resource).unwrap();
    let observed = observed::observe(&desired, None, Children::default(), Answers::default());
    let plan = operator.plan(&desired, &observed, Timestamp::UNIX_EPOCH);
    let view = View::Planned { desired: &desired, observed: &observed, plan: &plan, error: None };
    let key = ResourceKey { namespace: "ns".to_owned(), name: "my-etcd".to_owned() };
    metrics.set_conditions(&key, &operator.status(&resource, view, Timestamp::UNIX_EPOCH));
    metrics.set_gauges(&key, operator.gauges(&observed));
    metrics.set_blocked(&key, ["quorum-answers"].into_iter());
    metrics.set_unparsable(&key, true);
    metrics.pass_ended("error", Duration::from_millis(1));
    metrics.requested("GET", "200");
    metrics.intended("AddMember");
    metrics.wrote("apply", "Service", "Ok");
    metrics.watch_failed("Pod");
    metrics.set_leader("etcd-operator.ballast.dev", true);
    let mut all: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for line in metrics.encode().unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.trim_end_matches('}').split_once('{').unwrap_or((series, ""));
        let labels = labels.split(',').filter(|label| !label.is_empty()).map(|label| {
            let (name, value) = label.split_once('=').unwrap();
            (name.to_owned(), value.trim_matches('"').to_owned())
        });
        all.entry(name.to_owned()).or_default().push(labels.collect());
    }
    all
}

/// Labels that Prometheus adds.
const OF_THE_TARGET: [&str; 3] = ["job", "instance", "pod"];

fn is_measured(expression: &str) {
    let exported = exported();
    let selectors = selectors(expression);
    assert!(!selectors.is_empty(), "{expression}");
    for (metric, matchers) in selectors {
        let series =
            exported.get(&metric).unwrap_or_else(|| panic!("{metric} is not measured: {expression}"));
        for (label, operator, value) in &matchers {
            if OF_THE_TARGET.contains(&label.as_str()) {
                continue;
            }
            assert!(
                series.iter().all(|labels| labels.contains_key(label)),
                "{metric} has no {label}: {expression}"
            );
            // A variable of the dashboard, or what is left out, can be anything.
            assert!(
                operator != "=" || series.iter().any(|labels| labels[label] == *value),
                "{metric} never has {label}={value}: {expression}"
            );
        }
    }
}

fn alerts() -> Vec<Value> {
    let rules: Value = serde_yaml::from_str(ALERTS).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

#[test]
fn alerts_ask_for_what_is_measured() {
    let alerts = alerts();
    assert!(alerts.len() >= 8);
    for alert in &alerts {
        is_measured(alert["expr"].as_str().unwrap());
    }
}

#[test]
fn alerts_say_how_bad_it_is_and_where_to_read_on() {
    let mut names = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().unwrap();
        assert!(names.insert(name.to_owned()), "{name} is there twice");
        assert!(["warning", "critical"].contains(&alert["labels"]["severity"].as_str().unwrap()), "{name}");
        assert!(alert["for"].is_string(), "{name}");
        for text in ["summary", "description"] {
            assert!(alert["annotations"][text].as_str().unwrap().ends_with('.'), "{name}: {text}");
        }
        assert_eq!(alert["annotations"]["runbook"], name.to_lowercase());
        // What a text names must be kept by the expression.
        let texts = alert["annotations"].to_string();
        let expression = alert["expr"].as_str().unwrap();
        for label in texts.split("$labels.").skip(1) {
            let label = label.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap();
            let kept = expression
                .split("by (")
                .skip(1)
                .any(|by| by.split_once(')').unwrap().0.split(", ").any(|kept| kept == label));
            assert!(kept, "{name} shows {label}, which its expression drops");
        }
    }
}

#[test]
fn the_dashboard_asks_for_what_is_measured() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 8);
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        is_measured(target["expr"].as_str().unwrap());
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let Some(query) = variable["query"].as_str().unwrap().strip_prefix("label_values(") else { continue };
        is_measured(query.rsplit_once(',').unwrap().0);
    }
}

#[test]
fn selectors_are_found() {
    let expression =
        r#"sum by (a, b) (rate(one_total{x="1",y!~"a|b"}[5m])) / on (a) two > 0.5 and three == bool 1e3"#;
    let found: Vec<_> =
        selectors(expression).into_iter().map(|(name, matchers)| (name, matchers.len())).collect();
    assert_eq!(found, [("one_total".to_owned(), 2), ("two".to_owned(), 0), ("three".to_owned(), 0)]);
}
