//! The HTTP server of an operator: `/healthz`, `/readyz`, `/metrics`.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{health::Health, metrics::Metrics};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug)]
struct Shared {
    health: Arc<Health>,
    metrics: Arc<Metrics>,
}

/// Binds `listen`; an address that is taken is an error before anything else happens.
pub async fn bind(listen: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(listen).await
}

/// Answers until `stop`.
pub async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    axum::serve(listener, router(health, metrics)).with_graceful_shutdown(stop.cancelled_owned()).await
}

fn router(health: Arc<Health>, metrics: Arc<Metrics>) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics_text))
        .with_state(Shared { health, metrics })
}

async fn healthz(State(shared): State<Shared>) -> Response {
    match shared.health.dead() {
        None => "ok\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn readyz(State(shared): State<Shared>) -> Response {
    if !shared.health.ready() {
        let why = "the caches are not filled yet, no lease was seen yet, or the process is stopping\n";
        (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
    } else if shared.health.standby() {
        "ok: standing by\n".into_response()
    } else {
        "ok\n".into_response()
    }
}

async fn metrics_text(State(shared): State<Shared>) -> Response {
    match shared.metrics.encode() {
        Ok(text) => ([(CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;

    async fn status(router: &Router, path: &str) -> StatusCode {
        let request = Request::get(path).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn readiness_follows_the_caches_and_liveness_does_not() {
        let health = Arc::new(Health::default());
        let router = router(health.clone(), Arc::new(Metrics::new("thing", "1")));
        assert_eq!(status(&router, "/readyz").await, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status(&router, "/healthz").await, StatusCode::OK);
        assert_eq!(status(&router, "/metrics").await, StatusCode::OK);
        health.set_ready(true);
        assert_eq!(status(&router, "/readyz").await, StatusCode::OK);
        health.watch_ended();
        assert_eq!(status(&router, "/healthz").await, StatusCode::SERVICE_UNAVAILABLE);
    }
}
