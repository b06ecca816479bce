//! The etcd operator: the pure half joined to the runtime.

use ballast_core::{
    invalid::Invalid,
    object::{Children, Object},
    plan::Plan,
};
use ballast_etcd_core::{
    APPLICATION,
    api::EtcdCluster,
    build,
    intent::Intent,
    observed::{self, Observed},
    plan, status,
    validate::{self, Desired, Environment},
};
use ballast_runtime::{
    operator::{ActError, Operator, View},
    writer::Writer,
};
use jiff::Timestamp;
use serde_json::Value;

use crate::{act, client::Dialer, observe};

/// The etcd operator.
#[derive(Debug)]
pub struct EtcdOperator {
    environment: Environment,
    etcd: Dialer,
}

impl EtcdOperator {
    /// An operator that was installed like this, and reaches members like that.
    pub fn new(environment: Environment, etcd: Dialer) -> Self {
        Self { environment, etcd }
    }
}

impl Operator for EtcdOperator {
    type Resource = EtcdCluster;
    type Desired = Desired;
    type Observed = Observed;
    type Intent = Intent;

    const APPLICATION: &'static str = APPLICATION;

    fn validate(&self, resource: &EtcdCluster) -> Result<Desired, Vec<Invalid>> {
        validate::validate(resource, &self.environment)
    }

    async fn observe(&self, resource: &EtcdCluster, desired: &Desired, children: Children) -> Observed {
        let answers = observe::ask(desired, &children, &self.etcd).await;
        observed::observe(desired, resource.status.as_ref(), children, answers)
    }

    fn answered(&self, observed: &Observed) -> bool {
        let running =
            observed.members.iter().filter(|member| member.pod.as_ref().is_some_and(|pod| pod.running));
        running.clone().count() == 0 || running.clone().any(|member| member.answer().is_some())
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
        act::act(&self.etcd, writer, desired, observed, intent).await
    }

    fn status(&self, resource: &EtcdCluster, view: View<'_, Self>, now: Timestamp) -> Value {
        let status = match view {
            View::Invalid(errors) => status::invalid(resource, errors, now),
            View::Planned { desired, observed, plan, error } => {
                status::planned(resource, desired, observed, plan, error, now)
            }
        };
        serde_json::to_value(status).unwrap_or(Value::Null)
    }

    fn render(&self, desired: &Desired) -> Vec<Object> {
        build::everything(desired)
    }

    fn gauges(&self, observed: &Observed) -> Vec<(&'static str, f64)> {
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        let largest =
            observed.members.iter().filter_map(|member| member.answer()).map(|answer| answer.db_size).max();
        vec![
            ("members", count(observed.voters().count())),
            ("members_serving", count(observed.voters().filter(|member| member.serves()).count())),
            ("quorum", f64::from(u8::from(observed.quorum() == Some(true)))),
            (
                "database_bytes",
                largest
                    .and_then(|bytes| i32::try_from(bytes / 1024).ok())
                    .map_or(0.0, |kib| f64::from(kib) * 1024.0),
            ),
        ]
    }
}
