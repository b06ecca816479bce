//! Writes to a server and keeps a ledger of what was acknowledged; runs in the cluster under test.
//!
//! `GET /stats` tells how it goes, `POST /verify` stops and reads everything back, `POST /pause` and `POST /resume`
//! do what they say, `POST /reset-gap` forgets the longest gap between two acknowledgements. `GET /members` tells how
//! etcd's member list changed and what was wrong with that, `POST /inspect` compares what the members hold. Kafka's ledger
//! has `POST /stop` in place of pauses: what is on its way when writing stops is settled by and by, as `GET /stats` tells.

mod etcd;
mod gap;
mod kafka;
mod members;
mod record;
mod writer;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::{
    etcd::Etcd,
    members::{History, Question},
    record::Ledger,
    writer::Writer,
};

/// Records kept in memory, at most.
const RECORDS: usize = 200_000;

#[derive(Parser)]
#[command(about, version)]
struct Arguments {
    #[command(subcommand)]
    application: Application,
}

#[derive(Subcommand)]
enum Application {
    /// Writes to etcd.
    Etcd {
        /// Client URLs, separated by commas.
        #[arg(long, value_delimiter = ',', required = true)]
        endpoints: Vec<String>,
        /// Where to answer questions.
        #[arg(long, default_value = "0.0.0.0:8080")]
        listen: SocketAddr,
        /// Time from one write to the next, for instance 20ms or 1s.
        #[arg(long, default_value = "20ms", value_parser = duration)]
        interval: Duration,
        /// Keys that are written in turn.
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=100_000))]
        keys: u64,
        /// Name of the run, part of every key; by default the time it starts.
        #[arg(long)]
        run: Option<String>,
    },
    /// Writes to Kafka.
    Kafka(kafka::Arguments),
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit): (&str, fn(u64) -> Duration) = match text.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis),
        None => (text.strip_suffix('s').ok_or("write it as 20ms or 1s")?, Duration::from_secs),
    };
    number.parse().map(unit).map_err(|error| format!("{number:?}: {error}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_ansi(false).init();
    match Arguments::parse().application {
        Application::Etcd { endpoints, listen, interval, keys, run } => {
            etcd_ledger(endpoints, listen, interval, keys, run).await
        }
        Application::Kafka(arguments) => kafka_ledger(arguments).await,
    }
}

async fn etcd_ledger(
    endpoints: Vec<String>,
    listen: SocketAddr,
    interval: Duration,
    keys: u64,
    run: Option<String>,
) -> Result<()> {
    let run = run.unwrap_or_else(|| Timestamp::now().as_millisecond().to_string());
    let ledger = Ledger::new(format!("ledger/{run}/"), keys, RECORDS);
    let history = Arc::new(Mutex::new(History::default()));
    let watching = tokio::spawn(members::watch(endpoints.clone(), history.clone()));
    let writer = Arc::new(Writer::new(run, ledger, Etcd::new(endpoints), interval));

    let listener = listen_on(listen).await?;
    let work = tokio::spawn({
        let writer = writer.clone();
        async move { writer.work().await }
    });
    let router = router(writer.clone()).merge(members_router(history));
    axum::serve(listener, router).with_graceful_shutdown(stopped()).await?;
    work.abort();
    watching.abort();
    tracing::info!(stats = serde_json::to_string(&writer.stats())?, "stopped");
    Ok(())
}

async fn kafka_ledger(arguments: kafka::Arguments) -> Result<()> {
    let listener = listen_on(arguments.listen).await?;
    let (router, work) = kafka::begin(arguments);
    let serve = async { axum::serve(listener, router).with_graceful_shutdown(stopped()).await };
    tokio::select! {
        served = serve => served.context("cannot serve"),
        // Only an error ends it.
        worked = work => worked,
    }
}

async fn listen_on(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!("answering on {}", listener.local_addr()?);
    Ok(listener)
}

fn router(writer: Arc<Writer>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/stats", get(async |State(writer): State<Arc<Writer>>| Json(writer.stats())))
        .route("/verify", post(async |State(writer): State<Arc<Writer>>| Json(writer.verify().await)))
        .route(
            "/pause",
            post(async |State(writer): State<Arc<Writer>>| {
                writer.pause().await;
                Json(writer.stats())
            }),
        )
        .route(
            "/resume",
            post(async |State(writer): State<Arc<Writer>>| {
                writer.resume();
                Json(writer.stats())
            }),
        )
        .route(
            "/reset-gap",
            post(async |State(writer): State<Arc<Writer>>| {
                writer.reset_gap();
                Json(writer.stats())
            }),
        )
        .with_state(writer)
}

fn members_router(history: Arc<Mutex<History>>) -> Router {
    let tell = async |State(history): State<Arc<Mutex<History>>>| {
        let history = history.lock().unwrap_or_else(PoisonError::into_inner);
        Json(serde_json::to_value(&*history).unwrap_or_default())
    };
    let inspect = async |Json(question): Json<Question>| {
        members::inspect(question)
            .await
            .map(Json)
            .map_err(|error| (StatusCode::BAD_GATEWAY, format!("{error:#}")))
    };
    Router::new().route("/members", get(tell)).route("/inspect", post(inspect)).with_state(history)
}

/// Until the process is asked to stop.
async fn stopped() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(error) => {
            tracing::warn!("cannot listen for SIGTERM: {error}");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn intervals_have_a_unit() {
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert!(duration("20").is_err());
        assert!(duration("xs").is_err());
    }
}
