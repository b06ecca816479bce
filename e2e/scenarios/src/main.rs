//! The scenarios that the operators must pass on a real cluster, and the demonstration.

mod demo;
mod environment;
mod etcd;
mod install;
mod ledger;
mod proxy;
mod report;
mod run;
mod scenario;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use environment::Environment;

#[derive(Parser)]
#[command(about, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// From nothing to an etcd cluster of three that holds a key.
    Demo {
        #[command(flatten)]
        target: Target,
    },
    /// Runs the scenarios; without names, all of them.
    Run {
        #[command(flatten)]
        target: Target,
        /// Only the scenarios of the gate.
        #[arg(long)]
        gate: bool,
        /// Where the report goes, as JSON.
        #[arg(long)]
        report: Option<PathBuf>,
        /// Leave the namespaces of failed scenarios, to look at them.
        #[arg(long)]
        keep: bool,
        /// Scenarios by name.
        names: Vec<String>,
    },
    /// Lists the scenarios.
    List,
}

/// The cluster to use.
#[derive(Args)]
pub(crate) struct Target {
    /// kubeconfig of a cluster to use in place of the local lab. It asks before it breaks things.
    #[arg(long)]
    cluster: Option<PathBuf>,
    /// Do not ask.
    #[arg(long, requires = "cluster")]
    yes: bool,
}

fn main() -> ExitCode {
    match execute(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("e2e: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn execute(command: Command) -> Result<ExitCode> {
    match command {
        Command::List => {
            for scenario in scenario::all() {
                println!(
                    "{:<34} {}{}",
                    scenario.name,
                    if scenario.gate { "[gate] " } else { "" },
                    scenario.shows
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Demo { target } => {
            Environment::prepare(&target)?.block_on(demo::run).map(|()| ExitCode::SUCCESS)
        }
        Command::Run { target, gate, report, keep, names } => {
            let chosen = scenario::choose(gate, &names)?;
            let options = run::Options { keep, report };
            let passed = Environment::prepare(&target)?
                .block_on(async |environment| run::all(environment, &chosen, &options).await)?;
            Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}
