//! Operates Apache Kafka clusters on Kubernetes.

use std::process::ExitCode;

use ballast_kafka_core::validate::Environment;
use ballast_runtime::cli::{self, OperatorSettings};
use kafka_operator::{nodes::Dialer, operator::KafkaOperator};

/// What only this operator needs to know: nothing yet.
#[derive(clap::Args, Clone, Copy, Debug)]
struct KafkaArgs {}

fn main() -> ExitCode {
    cli::main(|settings: OperatorSettings, _: KafkaArgs| {
        let environment = Environment {
            cluster_domain: settings.cluster_domain,
            operator_image: settings.operator_image,
            operator_pull_policy: settings.operator_pull_policy,
            operator_namespace: settings.operator_namespace,
        };
        KafkaOperator::new(environment, Dialer)
    })
}
