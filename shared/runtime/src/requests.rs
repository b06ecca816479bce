//! The client of the API server, with every request counted.

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

use crate::metrics::Metrics;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client for `config` whose requests are counted in `metrics`.
///
/// It does not repeat requests by itself: every attempt of a write passes the gate.
pub fn client(mut config: Config, metrics: Arc<Metrics>) -> kube::Result<Client> {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(ClientBuilder::try_from(config)?.with_layer(&Count(metrics)).build())
}

#[derive(Clone, Debug)]
struct Count(Arc<Metrics>);

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted { inner, metrics: self.0.clone() }
    }
}

#[derive(Clone, Debug)]
struct Counted<S> {
    inner: S,
    metrics: Arc<Metrics>,
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
        let metrics = self.metrics.clone();
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await;
            let code = response
                .as_ref()
                .map_or_else(|_| "<error>".to_owned(), |response| response.status().as_u16().to_string());
            metrics.requested(method.as_str(), &code);
            response
        })
    }
}
