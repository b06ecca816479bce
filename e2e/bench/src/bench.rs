//! What all stages use: the control plane, the operator's process, the counters and the watches.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use ballast_etcd_simulated::server::Server;
use ballast_testbed::{
    OperatorProcess, Program, Testbed, built_binary,
    wait::{self, Seen},
};
use kube::Client;
use serde_json::Value;

use crate::{
    options::Options,
    process::{self, Memory},
    requests::Counters,
    sightings::Sightings,
};

/// For everything that is waited for: generous, since it only says when to give up.
pub const DEADLINE: Duration = Duration::from_mins(10);
/// For how long the operator must have written nothing to count as done.
const QUIET: Duration = Duration::from_secs(5);

/// Where the stages work.
pub struct Bench {
    /// Talks to the API server as an administrator.
    pub client: Client,
    /// The namespace of all clusters.
    pub namespace: String,
    /// The operator.
    pub operator: OperatorProcess,
    /// Its requests.
    pub counters: Counters,
    /// What the watches have seen.
    pub sightings: Arc<Sightings>,
    kubeconfig: PathBuf,
}

impl Bench {
    /// Starts the operator as it is installed: for all namespaces, standing for election, without anything between it
    /// and the API server.
    pub async fn begin(testbed: &Testbed, etcd: &Server, options: &Options) -> Result<Self> {
        let client = testbed.client().clone();
        let home = testbed.namespace("operators").await?;
        let namespace = testbed.namespace("clusters").await?;
        let path = options.operator.clone().map_or_else(|| built_binary("etcd-operator"), Ok)?;
        let line = format!(
            "--operator-image operator:bench --pod-namespace {home} --pod-name operator-0 --dial {}",
            etcd.address()
        );
        let program = Program { path, args: line.split(' ').map(str::to_owned).collect(), env: vec![] };
        let sightings = Arc::new(Sightings::default());
        let (watching, watched, clusters) = (sightings.clone(), client.clone(), namespace.clone());
        tokio::spawn(async move { watching.follow(watched, &clusters).await });
        sightings.began(DEADLINE).await?;
        let operator = OperatorProcess::new(program, "");
        let kubeconfig = testbed.control_plane().kubeconfig().to_owned();
        let counters = start(&operator, &kubeconfig, &client).await?;
        Ok(Self { client, namespace, operator, counters, sightings, kubeconfig })
    }

    /// Ends the operator in peace, so that its lease is free, and starts another one; returns how long that one took to
    /// begin.
    pub async fn restart(&mut self) -> Result<Duration> {
        self.operator.terminate()?;
        let ended = || async { Ok(self.operator.has_ended().then_some(())) };
        wait::until(DEADLINE, "the operator to end", ended).await?;
        self.operator.kill();
        let begun = Instant::now();
        self.counters = start(&self.operator, &self.kubeconfig, &self.client).await?;
        Ok(begun.elapsed())
    }

    /// Memory of the operator.
    pub fn memory(&self) -> Result<Memory> {
        process::memory(self.pid()?)
    }

    /// Processor time of the operator so far.
    pub fn processor(&self) -> Result<Duration> {
        process::processor(self.pid()?)
    }

    fn pid(&self) -> Result<u32> {
        self.operator.must_run()?;
        self.operator.pid().context("the operator runs")
    }

    /// Waits until the operator has written nothing for a while.
    pub async fn quiet(&self) -> Result<()> {
        let last = Mutex::new((self.counters.own().await?.writes, Instant::now()));
        let look = || async {
            self.operator.must_run()?;
            let writes = self.counters.own().await?.writes;
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if writes != last.0 {
                *last = (writes, Instant::now());
            }
            let quiet = last.1.elapsed();
            let state = format!("{writes} writes, the last one {} s ago", quiet.as_secs());
            Ok(if quiet >= QUIET { Seen::Met(()) } else { Seen::NotYet(state) })
        };
        wait::until(DEADLINE, "the operator to be done", look).await
    }
}

/// Starts the operator, and waits until it is ready and leads.
async fn start(operator: &OperatorProcess, kubeconfig: &Path, client: &Client) -> Result<Counters> {
    let known = operator.log().len();
    operator.start(kubeconfig)?;
    let look = || async {
        operator.must_run()?;
        let log = operator.log();
        let lines = log[known..].iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines: Vec<Value> = lines.collect();
        let field = |name: &str| lines.iter().find_map(|line| Some(line[name].as_str()?.to_owned()));
        let begun = lines.iter().any(|line| line["message"] == "passes begin");
        let listen = field("listen").and_then(|listen| listen.parse::<SocketAddr>().ok());
        Ok(listen.filter(|_| begun))
    };
    let address = wait::until(DEADLINE, "the operator to begin", look).await?;
    Counters::new(address, client.clone())
}
