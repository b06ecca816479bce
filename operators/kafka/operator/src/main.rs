//! Operates Apache Kafka clusters on Kubernetes.

use std::process::ExitCode;

use ballast_core::environment::Environment;
use ballast_runtime::cli::{self, NoArgs};
use kafka_operator::{nodes::Dialer, operator::KafkaOperator, plan_command};

fn main() -> ExitCode {
    let extras = [plan_command::extra()];
    cli::main_with(&extras, |environment: Environment, _: NoArgs| KafkaOperator::new(environment, Dialer))
}
