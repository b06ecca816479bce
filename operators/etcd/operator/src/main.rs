//! Operates etcd clusters on Kubernetes.

mod act;
mod client;
#[cfg(test)]
mod monitoring_tests;
mod observe;
mod operator;

use std::{net::SocketAddr, process::ExitCode};

use ballast_core::environment::Environment;
use ballast_runtime::cli;
use client::Dialer;
use operator::EtcdOperator;

/// What only this operator needs to know.
#[derive(clap::Args, Clone, Copy, Debug)]
struct EtcdArgs {
    /// Connects to this address instead of each member's own; the request's authority says which member is meant. For a proxy in
    /// front of all members, and for tests.
    #[arg(long, env = "BALLAST_ETCD_DIAL", value_name = "ADDRESS:PORT", hide = true)]
    dial: Option<SocketAddr>,
}

fn main() -> ExitCode {
    cli::main(|environment: Environment, args: EtcdArgs| {
        EtcdOperator::new(environment, Dialer::new(args.dial))
    })
}
