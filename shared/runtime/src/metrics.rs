//! Metrics, with controller-runtime's names where it has them.
//!
//! Series of a resource vanish with the resource.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use serde_json::Value;

use crate::operator::ResourceKey;

mod by_resource;

use by_resource::{ByResource, Series};

/// Everything that one operator measures.
#[derive(Debug)]
pub struct Metrics {
    application: &'static str,
    registry: Registry,
    reconciles: Family<ReconcileLabels, Counter>,
    errors: Family<ControllerLabels, Counter>,
    seconds: Family<ControllerLabels, Histogram, fn() -> Histogram>,
    active: Family<ControllerLabels, Gauge>,
    requests: Family<RequestLabels, Counter>,
    intents: Family<IntentLabels, Counter>,
    writes: Family<WriteLabels, Counter>,
    watch_errors: Family<KindLabels, Counter>,
    leader: Family<LeaseLabels, Gauge>,
    clock_ahead: Gauge,
    resources: Arc<Mutex<BTreeMap<ResourceKey, Series>>>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReconcileLabels {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    method: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct IntentLabels {
    application: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WriteLabels {
    application: &'static str,
    verb: &'static str,
    kind: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabels {
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

impl Metrics {
    /// Nothing measured yet; `application` is also the name of the controller.
    pub fn new(application: &'static str, version: &str) -> Self {
        let mut metrics = Self {
            application,
            registry: Registry::default(),
            reconciles: Family::default(),
            errors: Family::default(),
            seconds: Family::new_with_constructor(|| {
                Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
            }),
            active: Family::default(),
            requests: Family::default(),
            intents: Family::default(),
            writes: Family::default(),
            watch_errors: Family::default(),
            leader: Family::default(),
            clock_ahead: Gauge::default(),
            resources: Arc::default(),
        };
        metrics.register(version);
        metrics
    }

    fn register(&mut self, version: &str) {
        let controller = ControllerLabels { controller: self.application };
        let most = Family::<ControllerLabels, Gauge>::default();
        most.get_or_create(&controller)
            .set(i64::try_from(crate::lane::FAST + crate::lane::SLOW).unwrap_or(0));
        let build = Family::<Vec<(&'static str, String)>, Gauge>::default();
        build
            .get_or_create(&vec![
                ("application", self.application.to_owned()),
                ("version", version.to_owned()),
            ])
            .set(1);
        drop(self.active.get_or_create(&controller));
        drop(self.errors.get_or_create(&controller));
        let registry = &mut self.registry;
        registry.register("controller_runtime_reconcile", "Passes, by result", self.reconciles.clone());
        registry.register("controller_runtime_reconcile_errors", "Passes that failed", self.errors.clone());
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "Length of passes",
            self.seconds.clone(),
        );
        registry.register(
            "controller_runtime_active_workers",
            "Passes that are running",
            self.active.clone(),
        );
        registry.register("controller_runtime_max_concurrent_reconciles", "Passes at the same time", most);
        registry.register("rest_client_requests", "Requests to the API server", self.requests.clone());
        registry.register("ballast_intents", "Intents that were carried out", self.intents.clone());
        registry.register("ballast_writes", "Mutating calls to the API server", self.writes.clone());
        registry.register("ballast_watch_errors", "Errors of watches", self.watch_errors.clone());
        registry.register(
            "leader_election_master_status",
            "1 while this replica leads by the Lease of this name, 0 while it stands by",
            self.leader.clone(),
        );
        registry.register(
            "ballast_clock_ahead_seconds",
            "By how much this machine's clock is ahead of the API server's, which is the one that counts",
            self.clock_ahead.clone(),
        );
        registry.register("ballast_build_info", "Version of the operator", build);
        let by_resource = ByResource { application: self.application, resources: self.resources.clone() };
        registry.register_collector(Box::new(by_resource));
    }

    /// Where an operator adds metrics of its own.
    pub fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Everything, in the `OpenMetrics` text format.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// A pass began; it counts as running until the answer is dropped.
    pub fn pass_begins(&self) -> impl Drop + use<> {
        let active = self.active.get_or_create_owned(&ControllerLabels { controller: self.application });
        active.inc();
        Running(active)
    }

    /// A pass ended; `result` is `success`, `requeue_after` or `error`.
    pub fn pass_ended(&self, result: &'static str, took: Duration) {
        let controller = self.application;
        self.reconciles.get_or_create(&ReconcileLabels { controller, result }).inc();
        self.seconds.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
        if result == "error" {
            self.errors.get_or_create(&ControllerLabels { controller }).inc();
        }
    }

    /// An intent was carried out.
    pub fn intended(&self, reason: &'static str) {
        self.intents.get_or_create(&IntentLabels { application: self.application, reason }).inc();
    }

    /// A mutating call ended.
    pub fn wrote(&self, verb: &'static str, kind: &str, outcome: &'static str) {
        let labels = WriteLabels { application: self.application, verb, kind: kind.to_owned(), outcome };
        self.writes.get_or_create(&labels).inc();
    }

    /// A request to the API server was answered; `code` is `<error>` when it was not.
    pub fn requested(&self, method: &str, code: &str) {
        let labels = RequestLabels { code: code.to_owned(), method: method.to_owned() };
        self.requests.get_or_create(&labels).inc();
    }

    /// A watch reported an error.
    pub fn watch_failed(&self, kind: &str) {
        self.watch_errors.get_or_create(&KindLabels { kind: kind.to_owned() }).inc();
    }

    /// By how many seconds this machine's clock is ahead of the API server's.
    pub(crate) fn set_clock_ahead(&self, seconds: i64) {
        self.clock_ahead.set(seconds);
    }

    /// Whether this replica leads by the Lease of this name.
    pub fn set_leader(&self, lease: &str, leads: bool) {
        let labels = LeaseLabels { name: lease.to_owned() };
        self.leader.get_or_create(&labels).set(i64::from(leads));
    }

    /// What holds one resource back, by the name of the predicate.
    pub fn set_blocked(&self, key: &ResourceKey, predicates: impl Iterator<Item = &'static str>) {
        let mut blocked: Vec<_> = predicates.collect();
        blocked.sort_unstable();
        blocked.dedup();
        self.resources().entry(key.clone()).or_default().blocked = blocked;
    }

    /// The gauges of one resource's domain.
    pub fn set_gauges(&self, key: &ResourceKey, gauges: Vec<(&'static str, f64)>) {
        self.resources().entry(key.clone()).or_default().gauges = gauges;
    }

    /// The conditions of one resource: 1 for `True`, 0 for `False`, -1 for `Unknown`.
    pub fn set_conditions(&self, key: &ResourceKey, status: &Value) {
        let conditions = status.get("conditions").and_then(Value::as_array);
        let conditions = conditions.into_iter().flatten().filter_map(|condition| {
            let text = |field: &str| condition.get(field).and_then(Value::as_str);
            let value = match text("status")? {
                "True" => 1.0,
                "False" => 0.0,
                _ => -1.0,
            };
            Some((text("type")?.to_owned(), value))
        });
        self.resources().entry(key.clone()).or_default().conditions = conditions.collect();
    }

    /// Whether one resource cannot be read by this version of the operator.
    pub fn set_unparsable(&self, key: &ResourceKey, unparsable: bool) {
        self.resources().entry(key.clone()).or_default().unparsable = unparsable;
    }

    /// The resource is gone, and so are its series.
    pub fn forget(&self, key: &ResourceKey) {
        self.resources().remove(key);
    }

    fn resources(&self) -> MutexGuard<'_, BTreeMap<ResourceKey, Series>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Running(Gauge);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(name: &str) -> ResourceKey {
        ResourceKey { namespace: "n".into(), name: name.into() }
    }

    #[test]
    fn the_names_are_those_of_controller_runtime() {
        let metrics = Metrics::new("etcd", "1.2.3");
        metrics.pass_ended("error", Duration::from_millis(3));
        metrics.requested("GET", "200");
        metrics.intended("AddMember");
        metrics.set_leader("etcd-operator.ballast.dev", true);
        let text = metrics.encode().unwrap();
        for line in [
            r#"controller_runtime_reconcile_total{controller="etcd",result="error"} 1"#,
            r#"controller_runtime_reconcile_errors_total{controller="etcd"} 1"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="etcd"} 1"#,
            r#"controller_runtime_max_concurrent_reconciles{controller="etcd"} 10"#,
            r#"controller_runtime_active_workers{controller="etcd"} 0"#,
            r#"rest_client_requests_total{code="200",method="GET"} 1"#,
            r#"leader_election_master_status{name="etcd-operator.ballast.dev"} 1"#,
            r#"ballast_intents_total{application="etcd",reason="AddMember"} 1"#,
            r#"ballast_build_info{application="etcd",version="1.2.3"} 1"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn the_series_of_a_resource_vanish_with_it() {
        let metrics = Metrics::new("etcd", "1");
        for name in ["a", "b"] {
            metrics.set_blocked(&key(name), ["quorum"].into_iter());
            metrics.set_gauges(&key(name), vec![("members_ready", 3.0)]);
            metrics.set_conditions(&key(name), &json!({"conditions": [
                {"type": "Ready", "status": "False"}, {"type": "Valid", "status": "True"}, {"type": "Quorum", "status": "Unknown"},
            ]}));
        }
        let text = metrics.encode().unwrap();
        let blocked =
            r#"ballast_plan_blocked{application="etcd",namespace="n",name="a",predicate="quorum"} 1"#;
        assert!(text.contains(blocked), "{text}");
        assert!(text.contains(r#"etcd_cluster_members_ready{namespace="n",name="a"} 3"#), "{text}");
        for (condition, value) in [("Ready", "0"), ("Valid", "1"), ("Quorum", "-1")] {
            let line = format!(
                r#"ballast_resource_condition{{application="etcd",namespace="n",name="a",condition="{condition}"}} {value}"#
            );
            assert!(text.contains(&line), "{line}\n{text}");
        }
        metrics.forget(&key("a"));
        metrics.set_blocked(&key("b"), std::iter::empty());
        let text = metrics.encode().unwrap();
        assert!(!text.contains(r#"name="a""#) && !text.contains("ballast_plan_blocked"), "{text}");
        assert!(text.contains(r#"etcd_cluster_members_ready{namespace="n",name="b"} 3"#), "{text}");
    }

    #[test]
    fn running_passes_are_counted_while_they_run() {
        let metrics = Metrics::new("etcd", "1");
        let pass = metrics.pass_begins();
        assert!(metrics.encode().unwrap().contains(r#"active_workers{controller="etcd"} 1"#));
        drop(pass);
        assert!(metrics.encode().unwrap().contains(r#"active_workers{controller="etcd"} 0"#));
    }
}
