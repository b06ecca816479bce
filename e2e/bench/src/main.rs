//! Figures at scale: the etcd operator with many clusters, on a real etcd, API server and controller manager without nodes.
//!
//! The operator is a process of its own, so that its memory and processor time are its own; kubelets and etcd members
//! are simulated in this one.
//!
//! | module | what |
//! |---|---|
//! | `options` | the command line |
//! | `bench` | what all stages use |
//! | `stage` | what is measured |
//! | `clusters` | what is created |
//! | `sightings` | when something was seen for the first time |
//! | `process`, `requests`, `exposition` | what the operator used and asked |
//! | `percentile`, `report` | what became of it |

mod bench;
mod clusters;
mod exposition;
mod options;
mod percentile;
mod process;
mod report;
mod requests;
mod sightings;
mod stage;

use std::{
    path::Path,
    process::{Command, ExitCode},
    sync::Arc,
};

use anyhow::{Context, Result};
use ballast_etcd_core::api::EtcdCluster;
use ballast_etcd_simulated::server::{Server, Settings};
use ballast_testbed::Testbed;
use clap::Parser;
use kube::CustomResourceExt;
use tokio::runtime::Builder;

use crate::{bench::Bench, options::Options, report::Report};

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let mut report = Report::begin(options.to_json());
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let etcd = Arc::new(runtime.block_on(Server::listen(Settings::quick()))?);
    let testbed = Testbed::start(etcd.clone(), &[EtcdCluster::crd()])?;
    testbed.block_on(async {
        let mut bench = Bench::begin(&testbed, &etcd, options).await?;
        stage::all(&mut bench, options, &mut report).await.with_context(|| last_words(&bench))
    })?;
    let complaints = testbed.kubelets().complaints().len();
    if complaints > 0 {
        report.note(format!("the simulated kubelets met {complaints} errors"));
    }
    report.finish(&commit(), options.report.as_deref())
}

/// The end of the operator's log, for whoever looks for the reason.
fn last_words(bench: &Bench) -> String {
    let log = bench.operator.log();
    format!(
        "the bench was cut short; the operator's last lines:\n{}",
        log[log.len().saturating_sub(8)..].join("\n")
    )
}

/// What was measured, as git names it.
fn commit() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(here).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
