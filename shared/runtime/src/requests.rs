//! The client of the API server, with every request counted and the time of every answer noted.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
};
use tower::{Layer, Service};

use crate::{metrics::Metrics, server_time::ServerTime};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client for `config` whose requests are counted in `metrics`, and whose answers tell `time` what time it is.
///
/// It does not repeat requests by itself: every attempt of a write passes the gate.
pub fn client(mut config: Config, metrics: Arc<Metrics>, time: Arc<ServerTime>) -> kube::Result<Client> {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(ClientBuilder::try_from(config)?.with_layer(&Count { metrics, time }).build())
}

#[derive(Clone, Debug)]
struct Count {
    metrics: Arc<Metrics>,
    time: Arc<ServerTime>,
}

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted { inner, metrics: self.metrics.clone(), time: self.time.clone() }
    }
}

#[derive(Clone, Debug)]
struct Counted<S> {
    inner: S,
    metrics: Arc<Metrics>,
    time: Arc<ServerTime>,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.method().clone();
        let (metrics, time) = (self.metrics.clone(), self.time.clone());
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await;
            let code = response
                .as_ref()
                .map_or_else(|_| "<error>".to_owned(), |response| response.status().as_u16().to_string());
            metrics.requested(method.as_str(), &code);
            if let Ok(response) = &response {
                time.hear(response.headers(), &metrics);
            }
            response
        })
    }
}
