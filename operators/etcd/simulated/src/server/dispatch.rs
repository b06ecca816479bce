//! From a request to the member that it is for, and what becomes of it.

use std::{future::pending, sync::Arc};

use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, header};
use tonic::body::Body;

use super::{Shared, connection::Breaker, fault, fault::Fault, grpc, http, lock};

/// The process that a request is for.
#[derive(Clone, Debug)]
pub(super) struct Addressee {
    pub(super) shared: Arc<Shared>,
    pub(super) pod: String,
}

/// Answers, or does not.
pub(super) async fn answer(
    shared: Arc<Shared>,
    breaker: Arc<Breaker>,
    request: Request<Incoming>,
) -> Response<Body> {
    let Some((pod, member)) = addressee(&shared, &request) else { return broken(&breaker).await };
    let kind = fault::Request::of(request.uri().path());
    let fault = lock(&shared.faults).next(&member, kind);
    match fault {
        Some(Fault::Refuse) => return broken(&breaker).await,
        Some(Fault::Silence) => return pending().await,
        _ => {}
    }
    // The whole request is here before anything is done: a client that gives up later changes nothing about it.
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return broken(&breaker).await };
    let request = Request::from_parts(head, Body::new(Full::new(body.to_bytes())));
    let addressee = Addressee { shared: Arc::clone(&shared), pod: pod.clone() };
    let response = match fault {
        Some(Fault::ApplyLate(delay)) => {
            // Spawned, since what a client no longer waits for would be dropped.
            let late = tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                handle(addressee, request).await
            });
            late.await.unwrap_or_else(|_| Response::new(Body::empty()))
        }
        Some(Fault::AnswerLate(delay)) => {
            let response = handle(addressee, request).await;
            tokio::time::sleep(delay).await;
            response
        }
        Some(Fault::ResetAfter) => {
            handle(addressee, request).await;
            return broken(&breaker).await;
        }
        _ => handle(addressee, request).await,
    };
    // A process that is gone meanwhile says nothing more.
    if lock(&shared.etcd).running.contains_key(&pod) { response } else { broken(&breaker).await }
}

async fn handle(addressee: Addressee, request: Request<Body>) -> Response<Body> {
    let grpc = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    if grpc {
        grpc::answer(addressee, request).await
    } else {
        http::answer(&addressee, request.uri().path()).await
    }
}

/// The pod and the member that the authority names, if a process runs there.
fn addressee(shared: &Shared, request: &Request<Incoming>) -> Option<(String, String)> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = request.uri().authority().map(http_authority).or(host)?;
    let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
    let pod = shared.pod(name)?;
    let member = lock(&shared.etcd).running.get(&pod)?.process.member.clone();
    Some((pod, member))
}

fn http_authority(authority: &hyper::http::uri::Authority) -> &str {
    authority.as_str()
}

/// Resets the connection. The future never ends: the connection goes first.
async fn broken(breaker: &Breaker) -> Response<Body> {
    breaker.trip();
    pending().await
}
