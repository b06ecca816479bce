//! Requests to pods through the API server: they work on every cluster.

use anyhow::Result;
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn path(namespace: &str, pod: &str, port: u16, path: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy/{path}")
}

/// GET.
pub(crate) async fn get<T: DeserializeOwned>(
    client: &Client,
    namespace: &str,
    pod: &str,
    port: u16,
    what: &str,
) -> Result<T> {
    let request = http::Request::get(path(namespace, pod, port, what)).body(vec![])?;
    Ok(client.request(request).await?)
}

/// POST of JSON.
pub(crate) async fn post<T: DeserializeOwned>(
    client: &Client,
    namespace: &str,
    pod: &str,
    port: u16,
    what: &str,
    body: &Value,
) -> Result<T> {
    let request = http::Request::post(path(namespace, pod, port, what))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(body)?)?;
    Ok(client.request(request).await?)
}
