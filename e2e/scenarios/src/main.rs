//! The scenarios that the operators must pass on a real cluster, and the demonstration.

mod audit;
mod chaos;
mod demo;
mod environment;
mod etcd;
mod exec;
mod install;
mod kafka;
mod ledger;
mod operator;
mod proxy;
mod quiet;
mod report;
mod rights;
mod run;
mod scenario;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use environment::Environment;
use operator::Operator;

#[derive(Parser)]
#[command(about, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// From nothing to a cluster of three that holds something.
    Demo {
        #[command(flatten)]
        target: Target,
        /// Which operator.
        #[arg(long, value_enum, default_value_t)]
        operator: Operator,
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
    /// Breaks everything at random, the operator too; the seed reproduces the schedule.
    Chaos {
        #[command(flatten)]
        target: Target,
        /// Which operator's cluster.
        #[arg(long, value_enum, default_value_t)]
        operator: Operator,
        /// For how long.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
        minutes: u64,
        /// The schedule; without it, a new one, which is printed.
        #[arg(long)]
        seed: Option<u64>,
        /// Where the report goes, as JSON.
        #[arg(long)]
        report: Option<PathBuf>,
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
                    if scenario.gate {
                        "[gate] "
                    } else if scenario.long {
                        "[long] "
                    } else {
                        ""
                    },
                    scenario.shows
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Demo { target, operator } => Environment::prepare(&target, &[operator])?
            .block_on(async |environment| demo::run(environment, operator).await)
            .map(|()| ExitCode::SUCCESS),
        Command::Run { target, gate, report, keep, names } => {
            let chosen = scenario::choose(gate, &names)?;
            let chaos = chaos::Settings { minutes: 10, seed: fastrand::u64(..) };
            let options = run::Options { keep, report, chaos };
            let passed = Environment::prepare(&target, &scenario::operators(&chosen))?
                .block_on(async |environment| run::all(environment, &chosen, &options).await)?;
            Ok(exit(passed))
        }
        Command::Chaos { target, operator, minutes, seed, report } => {
            let seed = seed.unwrap_or_else(|| fastrand::u64(..));
            let options = run::Options { keep: true, report, chaos: chaos::Settings { minutes, seed } };
            println!("{minutes} minutes of chaos; again with --seed {seed}");
            let passed = Environment::prepare(&target, &[operator])?.block_on(async |environment| {
                run::all(environment, &[chaos::mix(operator)], &options).await
            })?;
            Ok(exit(passed))
        }
    }
}

fn exit(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
