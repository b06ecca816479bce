//! The operators, by name.

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, ListParams, LogParams},
};

use crate::{environment::Environment, install};

/// One of the operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Operator {
    /// etcd.
    #[default]
    Etcd,
    /// Apache Kafka.
    Kafka,
}

impl Operator {
    /// Its release, its Deployment, its package and its image.
    pub(crate) fn release(self) -> &'static str {
        match self {
            Self::Etcd => install::ETCD,
            Self::Kafka => install::KAFKA,
        }
    }

    /// Its pods.
    pub(crate) fn pods(self) -> ListParams {
        ListParams::default().labels(&format!("app.kubernetes.io/name={}", self.release()))
    }

    /// The end of the logs of its pods.
    pub(crate) async fn log(self, environment: &Environment) -> String {
        let pods: Api<Pod> = Api::namespaced(environment.client.clone(), install::NAMESPACE);
        let Ok(list) = pods.list(&self.pods()).await else { return String::new() };
        let mut text = String::new();
        for pod in list.items.iter().filter_map(|pod| pod.metadata.name.as_deref()) {
            let params = LogParams { tail_lines: Some(40), ..LogParams::default() };
            text.push_str(&pods.logs(pod, &params).await.unwrap_or_default());
        }
        text
    }

    /// Kills its pods, without a warning.
    pub(crate) async fn kill(self, environment: &Environment) -> anyhow::Result<()> {
        let pods: Api<Pod> = Api::namespaced(environment.client.clone(), install::NAMESPACE);
        pods.delete_collection(&DeleteParams::default().grace_period(0), &self.pods()).await?;
        Ok(())
    }
}
