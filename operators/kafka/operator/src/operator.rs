//! The Kafka operator: the pure half joined to the runtime.

use ballast_core::{
    invalid::Invalid,
    object::{Children, Companion, Object},
    plan::Plan,
};
use ballast_kafka_core::{
    APPLICATION,
    api::{KafkaCluster, kafka_rebalance::KafkaRebalance},
    build,
    intent::Intent,
    observed::{self, Observed},
    plan, status,
    validate::{self, Desired, Environment},
};
use ballast_runtime::{
    companion::CompanionKind,
    operator::{ActError, Operator, ResourceKey, Seen, View},
    writer::Writer,
};
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::{
    act,
    canary::Canaries,
    nodes::Dialer,
    observe::{self, rates::Sampler, watch::Watch},
};

/// The Kafka operator.
#[derive(Debug)]
pub struct KafkaOperator {
    environment: Environment,
    kafka: Dialer,
    sampler: Sampler,
    watch: Watch,
    canaries: Canaries,
}

impl KafkaOperator {
    /// An operator that was installed like this, and reaches nodes like that.
    pub fn new(environment: Environment, kafka: Dialer) -> Self {
        Self {
            environment,
            kafka,
            sampler: Sampler::default(),
            watch: Watch::new(),
            canaries: Canaries::default(),
        }
    }
}

impl Operator for KafkaOperator {
    type Resource = KafkaCluster;
    type Desired = Desired;
    type Observed = Observed;
    type Intent = Intent;

    const APPLICATION: &'static str = APPLICATION;

    fn validate(&self, resource: &KafkaCluster) -> Result<Desired, Vec<Invalid>> {
        validate::validate(resource, &self.environment)
    }

    async fn observe(&self, resource: &KafkaCluster, desired: &Desired, children: Children) -> Observed {
        let desired = &*desired.with_departing(&children);
        let mut answers =
            observe::ask(desired, resource.status.as_ref(), &children, &self.kafka, &self.sampler).await;
        answers.still = self.watch.look(&desired.cluster.labels.uid, &answers);
        answers.canary = self.canaries.outcomes(&desired.cluster.labels.uid);
        observed::observe(desired, resource.status.as_ref(), children, answers)
    }

    fn answered(&self, observed: &Observed) -> bool {
        let running = observed.nodes.iter().filter(|node| node.pod.as_ref().is_some_and(|pod| pod.running));
        running.clone().count() == 0 || running.clone().any(|node| node.probe.is_ok())
    }

    fn plan(&self, desired: &Desired, observed: &Observed, now: Timestamp) -> Plan<Intent> {
        plan::plan(desired, observed, now)
    }

    async fn act(
        &self,
        writer: &Writer,
        desired: &Desired,
        observed: &Observed,
        intent: &Intent,
    ) -> Result<(), ActError> {
        act::act(&self.kafka, writer, desired, observed, intent).await
    }

    fn status(&self, resource: &KafkaCluster, view: View<'_, Self>, now: Timestamp) -> Value {
        let status = match view {
            View::Invalid(errors) => status::invalid(resource, errors, now),
            View::Planned { desired, observed, plan, error } => {
                status::planned(resource, desired, observed, plan, error, now)
            }
        };
        serde_json::to_value(status).unwrap_or(Value::Null)
    }

    fn companions() -> Vec<CompanionKind> {
        vec![CompanionKind::of::<KafkaRebalance>()]
    }

    fn companion_statuses(&self, seen: Seen<'_, Self>, now: Timestamp) -> Vec<(Companion, Value)> {
        status::asked::statuses(seen.desired, seen.observed, seen.plan, now)
    }

    fn companion_without_cluster(&self, companion: &Companion, now: Timestamp) -> Option<Value> {
        status::asked::without_cluster(companion, now)
    }

    fn tend(&self, key: &ResourceKey, desired: &Desired, observed: &Observed, writer: &Writer) {
        self.canaries.tend(key, desired, observed, self.kafka, writer);
    }

    fn forget(&self, key: &ResourceKey) {
        self.canaries.forget(key);
    }

    fn register(&self, registry: &mut Registry) {
        self.canaries.register(registry);
    }

    fn render(&self, desired: &Desired) -> Vec<Object> {
        build::everything(desired)
    }

    fn gauges(&self, observed: &Observed) -> Vec<(&'static str, f64)> {
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        let partitions = observed.answers.partitions.iter().flatten();
        vec![
            ("nodes", count(observed.nodes.iter().filter(|node| node.wanted).count())),
            (
                "nodes_serving",
                count(observed.nodes.iter().filter(|node| node.wanted && node.serves()).count()),
            ),
            ("quorum", f64::from(u8::from(observed.quorum_serves() == Some(true)))),
            ("partitions", count(partitions.clone().count())),
            (
                "partitions_offline",
                count(partitions.clone().filter(|partition| partition.leader.is_none()).count()),
            ),
            (
                "partitions_under_replicated",
                count(partitions.filter(|partition| partition.isr.len() < partition.replicas.len()).count()),
            ),
        ]
    }
}
