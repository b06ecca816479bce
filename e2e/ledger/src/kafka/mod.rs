//! Kafka's ledger: a producer that writes numbered records, a consumer beside it, and the check of both.

mod client;
mod insync;
mod record;
mod run;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Result;
use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use clap::Args;
use jiff::Timestamp;

use self::{client::Topic, run::Run};
use crate::duration;

/// How Kafka is written to.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Addresses of brokers, separated by commas.
    #[arg(long, required = true)]
    bootstrap: String,
    /// The topic, which must be there or come.
    #[arg(long, required = true)]
    topic: String,
    /// Where to answer questions.
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub(crate) listen: SocketAddr,
    /// Time from one record to the next, for instance 5ms or 1s.
    #[arg(long, default_value = "5ms", value_parser = duration)]
    interval: Duration,
    /// Keys that are written in turn; at least one for each partition.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    keys: u64,
    /// Bytes of each value, at least those of its number.
    #[arg(long, default_value_t = 100, value_parser = size)]
    size: usize,
    /// After this the producer gives a record up.
    #[arg(long, default_value = "180s", value_parser = duration)]
    patience: Duration,
    /// Name of the run, part of every value; by default the time it starts.
    #[arg(long)]
    run: Option<String>,
}

/// Kafka takes no more than a megabyte in one record, unless it is told to.
fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().map_err(|error| format!("{text:?}: {error}"))?;
    if size > 900_000 { Err("at most 900000".into()) } else { Ok(size) }
}

/// Waits for the topic, and then writes to it until it is asked to verify; with the questions that it answers.
pub(crate) fn begin(arguments: Arguments) -> (Router, impl Future<Output = Result<()>> + Send + 'static) {
    let Arguments { bootstrap, topic, interval, keys, size, patience, run, .. } = arguments;
    let run = run.unwrap_or_else(|| Timestamp::now().as_millisecond().to_string());
    let run = Arc::new(Run::new(Topic { bootstrap, name: topic, run }, interval, keys, size, patience));
    (router(Arc::clone(&run)), async move { run.work().await })
}

fn router(run: Arc<Run>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/stats", get(async |State(run): State<Arc<Run>>| Json(run.stats())))
        .route(
            "/stop",
            post(async |State(run): State<Arc<Run>>| {
                run.stop();
                Json(run.stats())
            }),
        )
        .route("/verify", post(async |State(run): State<Arc<Run>>| Json(run.verify().await)))
        .route(
            "/reset-gap",
            post(async |State(run): State<Arc<Run>>| {
                run.reset_gap();
                Json(run.stats())
            }),
        )
        .with_state(run)
}
