//! What the lab's API server wrote down of requests.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{install::NAMESPACE, operator::Operator};

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
pub(crate) fn operator(operator: Operator) -> String {
    format!("system:serviceaccount:{NAMESPACE}:{}", operator.release())
}

/// All requests of a user since the lab came up, in the order in which they ended.
pub(crate) fn requests(user: &str) -> Result<Vec<Request>> {
    let current = ballast_lab::audit_log();
    let folder = current.parent().context("the audit log is in no folder")?;
    // The API server puts a full log aside under a name with its time, which sorts before the current one.
    let mut logs: Vec<_> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("audit") && path.extension().is_some_and(|extension| extension == "log")
        })
        .collect();
    logs.sort();
    let mut requests = vec![];
    for log in logs {
        let file = File::open(&log).with_context(|| format!("cannot read {}", log.display()))?;
        for line in BufReader::new(file).lines() {
            let line = line?;
            // Most lines are somebody else's; the last one may still be on its way.
            if !line.contains(user) {
                continue;
            }
            let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
            if event["user"]["username"] == user && !event["objectRef"].is_null() {
                requests.push(request(&event)?);
            }
        }
    }
    Ok(requests)
}

fn request(event: &Value) -> Result<Request> {
    let target = &event["objectRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let resource = match target["subresource"].as_str() {
        Some(sub) => format!("{}/{sub}", text(&target["resource"])),
        None => text(&target["resource"]),
    };
    Ok(Request {
        group: text(&target["apiGroup"]),
        resource,
        namespace: text(&target["namespace"]),
        name: text(&target["name"]),
        verb: text(&event["verb"]),
        at: text(&event["requestReceivedTimestamp"]).parse().context("a request without a time")?,
        forbidden: event["annotations"]["authorization.k8s.io/decision"] == "forbid",
    })
}
