//! `run`: everything started in order, everything stopped in order.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ballast_core::label;
use kube::{Client, Config};
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    cache::Caches,
    clock::Clock,
    controller::Controller,
    gate::Gate,
    health::Health,
    http,
    lease::{Candidate, ElectionSettings, Outcome, Standing},
    metrics::Metrics,
    operator::Operator,
    pipeline::Pipeline,
    requests,
    server_time::ServerTime,
    shutdown,
    watch::Namespaces,
};

/// How an operator runs.
#[derive(Clone, Debug)]
pub(crate) struct RunSettings {
    pub(crate) namespaces: Namespaces,
    pub(crate) listen: SocketAddr,
    pub(crate) resync: Duration,
    /// `None`: this process is the only one, and acts at once.
    pub(crate) election: Option<ElectionSettings>,
}

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    #[error("cannot wait for signals: {0}")]
    Signal(std::io::Error),
    #[error("no configuration for the API server: {0}")]
    Config(#[from] kube::config::InferConfigError),
    #[error("no client for the API server: {0}")]
    Client(String),
    #[error(
        "the lease {namespace}/{name} is lost: {why}; this process ends, and may begin anew as a standby"
    )]
    LeaseLost { namespace: String, name: String, why: String },
}

/// Runs `operator` until a signal, or until another process may act in its place.
pub(crate) async fn run<O: Operator>(operator: O, settings: RunSettings) -> Result<(), RunError> {
    let version = env!("CARGO_PKG_VERSION");
    let stop = shutdown::on_signal().map_err(RunError::Signal)?;
    let mut metrics = Metrics::new(O::APPLICATION, version);
    operator.register(metrics.registry());
    let metrics = Arc::new(metrics);
    let health = Arc::new(Health::default());
    let listener =
        http::bind(settings.listen).await.map_err(|error| RunError::Listen(settings.listen, error))?;
    // With port 0 the system has chosen one.
    let listen = listener.local_addr().unwrap_or(settings.listen);
    let config = Config::infer().await?;
    let time = Arc::new(ServerTime::default());
    let client = requests::client(config, metrics.clone(), time.clone())
        .map_err(|error| RunError::Client(crate::write_error::message(&error)))?;
    info!(
        application = O::APPLICATION,
        version,
        namespaces = if settings.namespaces.is_empty() { "all".to_owned() } else { settings.namespaces.join(",") },
        %listen,
        "the operator starts"
    );

    let gate = Arc::new(match settings.election {
        Some(_) => Gate::expired(Clock::boot()),
        None => Gate::open(),
    });
    let candidacy = Candidacy::begin(O::APPLICATION, &client, settings.election, &gate, &metrics);
    let caches = Arc::new(Caches::with_companions(O::companions()));
    let pipeline =
        Pipeline::new(operator, client.clone(), caches, gate, metrics.clone(), time, settings.resync);
    let standing = candidacy.standing.clone();
    let controller = Controller::new(pipeline, client, settings.namespaces, health.clone(), standing);

    // The server outlives the controller, so that /readyz says that it is going down.
    let server_stop = CancellationToken::new();
    let server = tokio::spawn(http::serve(listener, health, metrics, server_stop.clone()));
    candidacy.during(controller.run(stop)).await?;
    server_stop.cancel();
    match tokio::time::timeout(Duration::from_secs(1), server).await {
        Ok(Ok(Err(error))) => warn!(%error, "the HTTP server failed"),
        Ok(Err(error)) => warn!(%error, "the HTTP server failed"),
        Ok(Ok(Ok(()))) | Err(_) => {}
    }
    info!("stopped");
    Ok(())
}

/// The election beside the controller.
struct Candidacy {
    settings: Option<ElectionSettings>,
    standing: watch::Receiver<Standing>,
    release: CancellationToken,
    running: JoinHandle<Outcome>,
}

impl Candidacy {
    /// Stands for election; without settings this process leads from the beginning.
    fn begin(
        application: &str,
        client: &Client,
        settings: Option<ElectionSettings>,
        gate: &Arc<Gate>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let release = CancellationToken::new();
        let Some(wanted) = settings.clone() else {
            let running = tokio::spawn(std::future::pending());
            return Self { settings, standing: watch::channel(Standing::Leading).1, release, running };
        };
        let manager = label::manager(application);
        let candidate = Candidate::new(client.clone(), wanted, manager, gate.clone(), metrics.clone());
        let standing = candidate.standing();
        Self { settings, standing, running: tokio::spawn(candidate.run(release.clone())), release }
    }

    /// Runs `controller`, which says whether it has left nothing behind; gives the lease up after it.
    ///
    /// A lease that is lost meanwhile ends the controller where it stands: its gate is closed already.
    async fn during(mut self, controller: impl Future<Output = bool>) -> Result<(), RunError> {
        let left_nothing = tokio::select! {
            biased;
            outcome = &mut self.running => return Err(self.lost(outcome)),
            left_nothing = controller => left_nothing,
        };
        let Some(settings) = &self.settings else { return Ok(()) };
        if !left_nothing {
            // What was given up may still be under way: the others wait until the lease has run out.
            info!(lease = settings.name, "the lease is not released");
            return Ok(());
        }
        let led = *self.standing.borrow() == Standing::Leading;
        self.release.cancel();
        match self.running.await {
            Ok(Outcome::Released) if led => info!(lease = settings.name, "the lease is released"),
            Ok(Outcome::Released) => {}
            Ok(outcome) => warn!(lease = settings.name, "the lease is not released: {outcome}"),
            Err(error) => warn!(lease = settings.name, %error, "the lease is not released"),
        }
        Ok(())
    }

    fn lost(&self, outcome: Result<Outcome, JoinError>) -> RunError {
        let (namespace, name) = self
            .settings
            .as_ref()
            .map(|lease| (lease.namespace.clone(), lease.name.clone()))
            .unwrap_or_default();
        let why = outcome.map_or_else(|error| error.to_string(), |outcome| outcome.to_string());
        RunError::LeaseLost { namespace, name, why }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
