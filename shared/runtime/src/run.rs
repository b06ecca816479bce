//! `run`: everything started in order, everything stopped in order.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use kube::Config;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    cache::Caches, controller::Controller, gate::Gate, health::Health, http, metrics::Metrics,
    operator::Operator, pipeline::Pipeline, requests, shutdown, watch::Namespaces,
};

/// How an operator runs.
#[derive(Clone, Debug)]
pub(crate) struct RunSettings {
    pub(crate) namespaces: Namespaces,
    pub(crate) listen: SocketAddr,
    pub(crate) resync: Duration,
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
}

/// Runs `operator` until a signal.
pub(crate) async fn run<O: Operator>(operator: O, settings: RunSettings) -> Result<(), RunError> {
    let version = env!("CARGO_PKG_VERSION");
    let stop = shutdown::on_signal().map_err(RunError::Signal)?;
    let metrics = Arc::new(Metrics::new(O::APPLICATION, version));
    let health = Arc::new(Health::default());
    let listener =
        http::bind(settings.listen).await.map_err(|error| RunError::Listen(settings.listen, error))?;
    let config = Config::infer().await?;
    let client = requests::client(config, metrics.clone())
        .map_err(|error| RunError::Client(crate::write_error::message(&error)))?;
    info!(
        application = O::APPLICATION,
        version,
        namespaces = if settings.namespaces.is_empty() { "all".to_owned() } else { settings.namespaces.join(",") },
        listen = %settings.listen,
        "the operator starts"
    );

    let gate = Arc::new(Gate::open());
    let caches = Arc::new(Caches::default());
    let pipeline = Pipeline::new(operator, client.clone(), caches, gate, metrics.clone(), settings.resync);
    let controller = Controller::new(pipeline, client, settings.namespaces, health.clone());

    // The server outlives the controller, so that /readyz says that it is going down.
    let server_stop = CancellationToken::new();
    let server = tokio::spawn(http::serve(listener, health, metrics, server_stop.clone()));
    controller.run(stop).await;
    server_stop.cancel();
    match tokio::time::timeout(Duration::from_secs(1), server).await {
        Ok(Ok(Err(error))) => warn!(%error, "the HTTP server failed"),
        Ok(Err(error)) => warn!(%error, "the HTTP server failed"),
        Ok(Ok(Ok(()))) | Err(_) => {}
    }
    info!("stopped");
    Ok(())
}
