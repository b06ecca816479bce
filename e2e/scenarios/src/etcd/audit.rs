//! What the lab's API server wrote down of requests.

use std::{
    fs::File,
    io::{BufRead, BufReader},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::install::{ETCD, NAMESPACE};

/// A request for an object or a list of them.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) group: String,
    /// With its subresource, if any.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) verb: String,
    /// When it came in.
    pub(crate) at: jiff::Timestamp,
    /// Whether the authorizer refused it. A namespace that is going answers 403 as well; that does not count.
    pub(crate) forbidden: bool,
}

/// The operator's service account.
pub(crate) fn operator() -> String {
    format!("system:serviceaccount:{NAMESPACE}:{ETCD}")
}

/// All requests of a user, in the order in which they ended.
pub(crate) fn requests(user: &str) -> Result<Vec<Request>> {
    let log = File::open(ballast_lab::audit_log()).context("the lab has no audit log")?;
    let mut requests = vec![];
    for line in BufReader::new(log).lines() {
        // The last line may be on its way.
        let Ok(event) = serde_json::from_str::<Value>(&line?) else { continue };
        let target = &event["objectRef"];
        if event["user"]["username"] != user || target.is_null() {
            continue;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resource = match target["subresource"].as_str() {
            Some(sub) => format!("{}/{sub}", text(&target["resource"])),
            None => text(&target["resource"]),
        };
        requests.push(Request {
            group: text(&target["apiGroup"]),
            resource,
            namespace: text(&target["namespace"]),
            name: text(&target["name"]),
            verb: text(&event["verb"]),
            at: text(&event["requestReceivedTimestamp"]).parse().context("a request without a time")?,
            forbidden: event["annotations"]["authorization.k8s.io/decision"] == "forbid",
        });
    }
    Ok(requests)
}
