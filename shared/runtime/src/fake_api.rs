//! A very small API server for the tests of this crate: objects by path, and a log of what was asked.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use http::{Method, Request, Response, StatusCode};
use kube::{Client, client::Body};
use serde_json::{Value, json};

/// Objects and the log of requests.
#[derive(Debug, Default)]
pub(crate) struct FakeApi(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Value>,
    log: Vec<String>,
    events: Vec<String>,
    refused: Option<String>,
    silent: bool,
    version: u64,
}

impl FakeApi {
    pub(crate) fn put(&self, path: &str, object: Value) {
        let mut state = self.0.lock().unwrap();
        state.store(path, object);
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.0.lock().unwrap().objects.get(path).cloned()
    }

    pub(crate) fn remove(&self, path: &str) {
        self.0.lock().unwrap().objects.remove(path);
    }

    /// Refuses every write to this path.
    pub(crate) fn refuse(&self, path: Option<&str>) {
        self.0.lock().unwrap().refused = path.map(str::to_owned);
    }

    /// Takes requests and answers none.
    pub(crate) fn silence(&self, silent: bool) {
        self.0.lock().unwrap().silent = silent;
    }

    /// What was asked since the last call, without events.
    pub(crate) fn taken_log(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().log)
    }

    /// Reasons of the events that were published.
    pub(crate) fn events(&self) -> Vec<String> {
        self.0.lock().unwrap().events.clone()
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move {
                let (parts, body) = request.into_parts();
                if parts.uri.query().is_some_and(|query| query.contains("watch=true")) {
                    // A watch where nothing happens.
                    std::future::pending::<()>().await;
                }
                let body = body.collect_bytes().await.unwrap_or_default();
                if api.0.lock().unwrap().silent {
                    std::future::pending::<()>().await;
                }
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let (status, answer) = api.answer(&parts.method, parts.uri.path(), parts.uri.query(), &body);
                let response =
                    Response::builder().status(status).body(Body::from(answer.to_string().into_bytes()));
                Ok::<_, Infallible>(response.unwrap())
            }
        });
        Client::new(service, "n")
    }

    fn answer(&self, method: &Method, path: &str, query: Option<&str>, body: &Value) -> (StatusCode, Value) {
        let mut state = self.0.lock().unwrap();
        if path.contains("/events.k8s.io/") {
            state.events.push(body["reason"].as_str().unwrap_or_default().to_owned());
            return (StatusCode::CREATED, body.clone());
        }
        let last = path.rsplit('/').next().unwrap_or_default();
        let is_list = *method == Method::GET
            && (path.ends_with("/wishes")
                || query.is_some_and(|query| query.contains("labelSelector") || query.contains("limit=")));
        state.log.push(format!("{} {last}", if is_list { "LIST" } else { method.as_str() }));
        if *method != Method::GET && state.refused.as_deref() == Some(path) {
            return failure(StatusCode::FORBIDDEN, "Forbidden", "a quota is used up");
        }
        let known = state.objects.get(path).cloned();
        match *method {
            Method::GET if is_list => {
                let prefix = format!("{path}/");
                let items: Vec<_> = state
                    .objects
                    .iter()
                    .filter(|(path, _)| path.starts_with(&prefix))
                    .map(|(_, o)| o)
                    .collect();
                (StatusCode::OK, json!({ "metadata": { "resourceVersion": "1" }, "items": items }))
            }
            Method::GET => known.map_or_else(not_found, |object| (StatusCode::OK, object)),
            Method::POST => {
                let created = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap_or_default());
                if state.objects.contains_key(&created) {
                    return failure(StatusCode::CONFLICT, "AlreadyExists", "it exists");
                }
                (StatusCode::CREATED, state.store(&created, body.clone()))
            }
            Method::PUT => match known {
                None => not_found(),
                Some(object)
                    if object["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] =>
                {
                    failure(StatusCode::CONFLICT, "Conflict", "the object has been modified")
                }
                Some(_) => (StatusCode::OK, state.store(path, body.clone())),
            },
            Method::PATCH => {
                if let Some(resource) = path.strip_suffix("/status") {
                    let Some(mut object) = state.objects.get(resource).cloned() else { return not_found() };
                    if object["metadata"]["uid"] != body[0]["value"] {
                        return failure(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", "test failed");
                    }
                    object["status"] = body[1]["value"].clone();
                    (StatusCode::OK, state.store(resource, object))
                } else {
                    let mut object = known.unwrap_or_else(|| json!({}));
                    merge(&mut object, body);
                    (StatusCode::OK, state.store(path, object))
                }
            }
            Method::DELETE => match known {
                None => not_found(),
                Some(object) if object["metadata"]["uid"] != body["preconditions"]["uid"] => {
                    failure(StatusCode::CONFLICT, "Conflict", "the uid differs")
                }
                Some(object) => {
                    state.objects.remove(path);
                    (StatusCode::OK, object)
                }
            },
            _ => failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "not in this fake"),
        }
    }
}

impl State {
    fn store(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["metadata"]["namespace"] = json!("n");
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        self.objects.insert(path.to_owned(), object.clone());
        object
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn not_found() -> (StatusCode, Value) {
    failure(StatusCode::NOT_FOUND, "NotFound", "it does not exist")
}

fn failure(status: StatusCode, reason: &str, message: &str) -> (StatusCode, Value) {
    let code = status.as_u16();
    (
        status,
        json!({ "kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code }),
    )
}
