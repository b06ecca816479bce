//! What etcd answers over plain HTTP: its version and its health.

use std::future::pending;

use hyper::{Response, StatusCode, header};
use serde_json::json;
use tonic::body::Body;

use super::dispatch::Addressee;
use crate::model::Refusal;

/// Answers a GET.
pub(super) async fn answer(addressee: &Addressee, path: &str) -> Response<Body> {
    let result = match path {
        "/version" => addressee.shared.ask(&addressee.pod, |etcd, at| {
            let version = etcd.status(at)?.version;
            let cluster = etcd.cluster_version(at)?;
            Ok((StatusCode::OK, versions(&version, cluster)))
        }),
        // A local read.
        "/livez" => addressee.shared.ask(&addressee.pod, |etcd, at| {
            etcd.read(at, b"health", false).map(|_| (StatusCode::OK, "ok\n".to_owned()))
        }),
        "/readyz" => addressee.shared.ask(&addressee.pod, |etcd, at| {
            etcd.status(at)?;
            let ready = etcd.running.get(&addressee.pod).is_some_and(|running| etcd.is_ready(running));
            Ok(if ready {
                (StatusCode::OK, "ok\n".to_owned())
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "readyz check failed\n".to_owned())
            })
        }),
        _ => Ok(Ok((StatusCode::NOT_FOUND, "404 page not found\n".to_owned()))),
    };
    match result.and_then(|answer| answer) {
        Ok((status, text)) => {
            let mut response = Response::new(Body::new(text));
            *response.status_mut() = status;
            let kind = header::HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(Refusal::Never) => pending().await,
        Err(refusal) => {
            let mut response = Response::new(Body::new(format!("{refusal}\n")));
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response
        }
    }
}

fn versions(server: &semver::Version, cluster: ballast_core::version::Minor) -> String {
    let cluster = format!("{}.{}.0", cluster.major, cluster.minor);
    let mut versions = json!({"etcdserver": server.to_string(), "etcdcluster": cluster});
    if server.minor >= 6 {
        versions["storage"] = json!(cluster);
    }
    versions.to_string()
}
