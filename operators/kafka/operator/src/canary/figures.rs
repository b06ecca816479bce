//! The canaries' metrics. Series of a broker vanish with it, those of a cluster with the cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    time::{SystemTime, UNIX_EPOCH},
};

use ballast_kafka_core::canary::Outcome;
use ballast_runtime::operator::ResourceKey;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use super::round::Found;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    namespace: String,
    name: String,
    broker: i32,
}

/// What is measured of all canaries.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
    failures: Family<Labels, Counter>,
    last_success: Family<Labels, Gauge<f64, AtomicU64>>,
    known: Arc<Mutex<BTreeMap<ResourceKey, BTreeSet<i32>>>>,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            seconds: Family::new_with_constructor(|| {
                Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
            }),
            failures: Family::default(),
            last_success: Family::default(),
            known: Arc::default(),
        }
    }
}

impl Figures {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "ballast_kafka_canary_latency_seconds",
            "From writing a record through this broker until it was read back",
            self.seconds.clone(),
        );
        registry.register(
            "ballast_kafka_canary_failures",
            "Records that could not be written through this broker, or not be read back",
            self.failures.clone(),
        );
        registry.register(
            "ballast_kafka_canary_last_success_timestamp_seconds",
            "When a record was last written through this broker and read back",
            self.last_success.clone(),
        );
    }

    /// Counts what a round found; brokers that are not `wanted` any more vanish.
    pub(super) fn count(&self, key: &ResourceKey, found: &BTreeMap<i32, Found>, wanted: &BTreeSet<i32>) {
        for (id, found) in found {
            let labels = labels(key, *id);
            // It is there from the beginning, so that its first failure is seen as a rise.
            let failures = self.failures.get_or_create_owned(&labels);
            match (&found.outcome, found.took) {
                (Outcome::Passed, Some(took)) => {
                    self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
                    self.last_success.get_or_create(&labels).set(now());
                }
                (Outcome::Failed(_), _) => {
                    failures.inc();
                }
                _ => {}
            }
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.insert(key.clone(), wanted.clone()).unwrap_or_default();
        for gone in before.difference(wanted) {
            self.remove(&labels(key, *gone));
        }
    }

    /// The cluster has no canary any more.
    pub(super) fn forget(&self, key: &ResourceKey) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for id in known.remove(key).unwrap_or_default() {
            self.remove(&labels(key, id));
        }
    }

    fn remove(&self, labels: &Labels) {
        self.seconds.remove(labels);
        self.failures.remove(labels);
        self.last_success.remove(labels);
    }
}

fn labels(key: &ResourceKey, broker: i32) -> Labels {
    Labels { namespace: key.namespace.clone(), name: key.name.clone(), broker }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn series_are_counted_by_broker_and_vanish_with_it_and_with_the_cluster() {
        let (figures, mut registry) = (Figures::default(), Registry::default());
        figures.register(&mut registry);
        let told = || {
            let mut told = String::new();
            text::encode(&mut told, &registry).unwrap();
            told
        };
        let key = ResourceKey { namespace: "n".to_owned(), name: "a".to_owned() };
        let found = BTreeMap::from([
            (1, Found { outcome: Outcome::Passed, took: Some(Duration::from_millis(7)) }),
            (2, Found { outcome: Outcome::Failed("slow".to_owned()), took: None }),
        ]);
        figures.count(&key, &found, &[1, 2].into());
        let text = told();
        for line in [
            r#"ballast_kafka_canary_latency_seconds_count{namespace="n",name="a",broker="1"} 1"#,
            r#"ballast_kafka_canary_failures_total{namespace="n",name="a",broker="1"} 0"#,
            r#"ballast_kafka_canary_failures_total{namespace="n",name="a",broker="2"} 1"#,
            r#"ballast_kafka_canary_last_success_timestamp_seconds{namespace="n",name="a",broker="1"} "#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        figures.count(&key, &BTreeMap::new(), &[1].into());
        let text = told();
        assert!(!text.contains(r#"broker="2""#) && text.contains(r#"broker="1""#), "{text}");
        figures.forget(&key);
        assert!(!told().contains("broker="), "{}", told());
    }
}
