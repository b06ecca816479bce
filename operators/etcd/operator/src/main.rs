//! Operates etcd clusters on Kubernetes.

mod act;
mod client;
mod observe;
mod operator;

use ballast_etcd_core::validate::Environment;
use ballast_runtime::cli::{self, NoArgs, OperatorSettings};
use operator::EtcdOperator;

fn main() -> std::process::ExitCode {
    cli::main(|settings: OperatorSettings, _: NoArgs| {
        EtcdOperator::new(Environment {
            cluster_domain: settings.cluster_domain,
            operator_image: settings.operator_image,
            operator_pull_policy: settings.operator_pull_policy,
        })
    })
}
