//! One request: recorded, disturbed, passed on, answered.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures::StreamExt;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING,
};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use kube::client::Body;
use serde_json::{Value, json};

use super::disturbance::{Disturbance, Fault, HELD_AT_MOST, Moment, Point, delay_by_chance, fault_by_chance};
use super::request::{Reading, Sort, sort};
use super::watch::{self, Verdict};
use super::{Proxy, record::Read};

/// An answer to the operator.
pub(super) type Answer = Response<UnsyncBoxBody<Bytes, kube::Error>>;

/// Answers one request. An error ends the connection without an answer.
pub(super) async fn answer(proxy: Arc<Proxy>, request: Request<Incoming>) -> Result<Answer> {
    let (parts, body) = request.into_parts();
    let mut body = body.collect().await.context("the request was cut off")?.to_bytes();
    let what = sort(&parts.method, &parts.uri);
    let path = parts.uri.path().to_owned();
    let verb = parts.method.as_str().to_owned();
    let (number, write) = {
        let mut record = proxy.record();
        let number = record.number();
        let write = match what {
            Sort::Write(class) => Some(record.write(class, &verb, &path)),
            Sort::Read(reading) => {
                record.reads.push(Read { reading, path: path.clone() });
                None
            }
        };
        (number, write)
    };
    let watches = what == Sort::Read(Reading::Watch);
    if !watches {
        let delay = delay_by_chance(&proxy.record().disturbances, number);
        tokio::time::sleep(delay).await;
    }
    let mut fault = None;
    if let Some(index) = write {
        held_back(&proxy, &verb, &path).await;
        if proxy.record().disturbances.contains(&Disturbance::WithoutPreconditions) {
            body = without_preconditions(body)?;
        }
        let point = proxy.record().writes[index].point;
        if proxy.record().remembers(point) {
            let revision = proxy.revision().await?;
            proxy.record().remember(revision);
        }
        proxy.kill_if(Moment::Before, point).await?;
        fault = proxy.record().ordered_fault(point);
    }
    if fault.is_none() && !watches && !matches!(what, Sort::Read(Reading::Other)) {
        fault = fault_by_chance(&proxy.record().disturbances, number, write.is_some());
    }
    if let Some(index) = write {
        proxy.record().writes[index].fault = fault;
    }
    match fault {
        None | Some(Fault::Unanswered) => {}
        Some(Fault::Unsent) => bail!("unsent on purpose"),
        Some(fault) => return Ok(refusal(fault)),
    }

    let mut address = parts.uri.path_and_query().map_or("/", |both| both.as_str()).to_owned();
    if what == Sort::Read(Reading::List) {
        address = proxy.record().stale(&parts.uri).unwrap_or(address);
    }
    let held = proxy.record().held();
    if let Some(until) = held.filter(|_| watches) {
        tokio::time::sleep_until(until).await;
    }
    let mut upstream = Request::builder().method(parts.method).uri(address);
    for (name, value) in &parts.headers {
        // What belongs to this connection alone, and what would make answers unreadable here.
        if ![HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING].contains(name) {
            upstream = upstream.header(name, value);
        }
    }
    let response = proxy.client.send(upstream.body(Body::from(body))?).await?;
    if watches && response.status().is_success() {
        return Ok(watched(&proxy, response));
    }
    let (mut start, body) = response.into_parts();
    let mut body = body.collect().await?.to_bytes();
    if let Some(index) = write {
        let point = {
            let mut record = proxy.record();
            record.writes[index].code = Some(start.status.as_u16());
            record.writes[index].point
        };
        proxy.kill_if(Moment::After, point).await?;
    }
    if fault == Some(Fault::Unanswered) {
        bail!("unanswered on purpose");
    }
    if what == Sort::Read(Reading::List) && start.status.is_success() {
        body = shuffled(&proxy, number, body)?;
    }
    start.headers.remove(CONTENT_LENGTH);
    start.headers.remove(TRANSFER_ENCODING);
    Ok(Response::from_parts(start, whole(body)))
}

async fn held_back(proxy: &Proxy, verb: &str, path: &str) {
    let end = tokio::time::Instant::now() + HELD_AT_MOST;
    while proxy.record().holds(verb, path) && tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn without_preconditions(body: Bytes) -> Result<Bytes> {
    if body.is_empty() {
        return Ok(body);
    }
    let mut options: Value = serde_json::from_slice(&body).context("a body is no JSON")?;
    match options.as_object_mut().and_then(|options| options.remove("preconditions")) {
        Some(_) => Ok(Bytes::from(serde_json::to_vec(&options)?)),
        None => Ok(body),
    }
}

fn whole(body: Bytes) -> UnsyncBoxBody<Bytes, kube::Error> {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn watched(proxy: &Arc<Proxy>, response: Response<Body>) -> Answer {
    let (mut head, body) = response.into_parts();
    head.headers.remove(TRANSFER_ENCODING);
    let proxy = proxy.clone();
    let judge = move |line: &[u8]| match watch::subject(line) {
        Some((kind, name)) => proxy.record().event(&kind, &name),
        None => Verdict::Deliver,
    };
    let frames = watch::filtered(body.into_data_stream(), judge).map(|chunk| chunk.map(Frame::data));
    Response::from_parts(head, StreamBody::new(frames).boxed_unsync())
}

fn shuffled(proxy: &Proxy, number: u64, body: Bytes) -> Result<Bytes> {
    let Some(mut chance) = proxy.record().shuffle(number) else { return Ok(body) };
    let mut list: Value = serde_json::from_slice(&body).context("a list is no JSON")?;
    if let Some(items) = list["items"].as_array_mut() {
        chance.shuffle(items);
    }
    Ok(Bytes::from(serde_json::to_vec(&list)?))
}

/// The answer of an API server that does not do what it is asked.
fn refusal(fault: Fault) -> Answer {
    let (code, reason, message, retry) = match fault {
        Fault::Conflict => (
            409,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
            None,
        ),
        Fault::TooManyRequests(seconds) => {
            (429, "TooManyRequests", "too many requests, please try again later", Some(seconds))
        }
        Fault::Unavailable => {
            (503, "ServiceUnavailable", "the server is currently unable to handle the request", None)
        }
        Fault::InternalError | Fault::Unsent | Fault::Unanswered => {
            (500, "InternalError", "an error on the server has prevented the request from succeeding", None)
        }
    };
    let details = retry.map_or_else(|| json!({}), |seconds| json!({"retryAfterSeconds": seconds}));
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code});
    let mut answer = Response::new(whole(Bytes::from(status.to_string())));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry {
        answer.headers_mut().insert(RETRY_AFTER, http::HeaderValue::from(seconds));
    }
    answer
}

impl Proxy {
    /// Kills the operator, if that is to happen here; then there is nobody to answer.
    async fn kill_if(&self, moment: Moment, point: Point) -> Result<()> {
        if !self.record().kills(moment, point) {
            return Ok(());
        }
        let kill = self.kill.clone();
        tokio::task::spawn_blocking(move || kill()).await?;
        bail!("the operator was killed")
    }

    /// The present revision of everything.
    async fn revision(&self) -> Result<String> {
        let request = Request::get("/api/v1/nodes?limit=1").body(Vec::new())?;
        let list: Value = self.client.request(request).await?;
        let revision = list.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        Ok(revision.context("a list has a resourceVersion")?.to_owned())
    }
}
