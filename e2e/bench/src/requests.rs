//! What is asked of the API server: by the operator's own counters, and by the API server's.
//!
//! The operator counts by method, so that it cannot tell a list from a watch; the API server counts by verb and resource,
//! but whoever asks. Together they tell: a list that nobody sent was not sent by the operator.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anyhow::{Context, Result};
use kube::Client;

use crate::exposition::series;

/// Resources that the operator reads, besides its own.
const READ: [&str; 8] = [
    "configmaps",
    "etcdclusters",
    "networkpolicies",
    "persistentvolumeclaims",
    "poddisruptionbudgets",
    "pods",
    "services",
    "statefulsets",
];
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where an operator's counters are read.
#[derive(Clone)]
pub struct Counters {
    http: reqwest::Client,
    address: SocketAddr,
    client: Client,
}

/// Requests so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Of the operator, by HTTP method; GET is get, list and watch.
    pub methods: BTreeMap<String, u64>,
    /// Mutating calls of the operator, without those to its lease.
    pub writes: u64,
    /// Passes of the operator.
    pub passes: u64,
    /// Lists of what the operator reads, whoever sent them.
    pub lists: u64,
}

impl Counters {
    /// Counters of the operator that serves its metrics at `address`.
    pub fn new(address: SocketAddr, client: Client) -> Result<Self> {
        let http = reqwest::Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self { http, address, client })
    }

    /// Mutating calls and passes of the operator so far.
    pub async fn own(&self) -> Result<Requests> {
        let answer = self.http.get(format!("http://{}/metrics", self.address)).send().await?;
        Ok(Requests::of_operator(&answer.error_for_status()?.text().await?))
    }

    /// All requests so far.
    pub async fn all(&self) -> Result<Requests> {
        let own = self.own().await?;
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = self.client.request_text(request).await.context("the API server gives no metrics")?;
        Ok(Requests { lists: lists(&text), ..own })
    }
}

impl Requests {
    fn of_operator(text: &str) -> Self {
        let mut methods = BTreeMap::new();
        for series in series(text, "rest_client_requests_total") {
            *methods.entry(series.label("method").to_owned()).or_default() += whole(series.value);
        }
        let sum = |metric| series(text, metric).iter().map(|series| whole(series.value)).sum();
        Self {
            methods,
            writes: sum("ballast_writes_total"),
            passes: sum("controller_runtime_reconcile_total"),
            lists: 0,
        }
    }

    /// What was asked since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let methods = self.methods.iter().map(|(method, count)| {
            let before = earlier.methods.get(method).copied().unwrap_or_default();
            (method.clone(), count.saturating_sub(before))
        });
        Self {
            methods: methods.filter(|(_, count)| *count > 0).collect(),
            writes: self.writes.saturating_sub(earlier.writes),
            passes: self.passes.saturating_sub(earlier.passes),
            lists: self.lists.saturating_sub(earlier.lists),
        }
    }
}

/// Lists of what the operator reads, in the API server's metrics.
fn lists(text: &str) -> u64 {
    let lists = series(text, "apiserver_request_total");
    let lists =
        lists.iter().filter(|one| one.label("verb") == "LIST" && READ.contains(&one.label("resource")));
    lists.map(|one| whole(one.value)).sum()
}

/// A counter as a whole number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: f64) -> u64 {
    // Counters are neither negative nor anywhere near what a float cannot tell apart.
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATOR: &str = r#"rest_client_requests_total{code="200",method="GET"} 10
rest_client_requests_total{code="404",method="GET"} 2
rest_client_requests_total{code="200",method="PUT"} 30
ballast_writes_total{application="etcd",verb="apply",kind="Service",outcome="Ok"} 4
ballast_writes_total{application="etcd",verb="create",kind="ConfigMap",outcome="Conflict"} 1
controller_runtime_reconcile_total{controller="etcd",result="success"} 6
"#;

    #[test]
    fn requests_of_the_operator_are_summed_by_method() {
        let requests = Requests::of_operator(OPERATOR);
        assert_eq!(requests.methods, BTreeMap::from([("GET".into(), 12), ("PUT".into(), 30)]));
        assert_eq!((requests.writes, requests.passes), (5, 6));
    }

    #[test]
    fn a_difference_leaves_out_what_was_not_asked() {
        let earlier = Requests::of_operator(OPERATOR);
        let mut later = earlier.clone();
        later.methods.insert("GET".into(), 15);
        later.lists = 2;
        let expected =
            Requests { methods: BTreeMap::from([("GET".into(), 3)]), lists: 2, ..Requests::default() };
        assert_eq!(later.since(&earlier), expected);
    }

    #[test]
    fn only_lists_of_what_the_operator_reads_count() {
        let text = r#"apiserver_request_total{code="200",resource="pods",verb="LIST"} 3
apiserver_request_total{code="200",resource="pods",verb="WATCH"} 5
apiserver_request_total{code="200",resource="nodes",verb="LIST"} 7
apiserver_request_total{code="200",resource="etcdclusters",verb="LIST"} 1
"#;
        assert_eq!(lists(text), 4);
    }
}
