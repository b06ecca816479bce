//! Numbered records, written and read throughout and all read again at the end: each that Kafka acknowledged must be there,
//! once, where it was acknowledged.
//!
//! They are written by the ledger, in a pod of its own that outlives any node of the cluster.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};
use serde::Deserialize;
use serde_json::{Value, json};

use super::cluster::Cluster;
use crate::{
    ledger::{self, PORT},
    proxy,
};

/// What topics need of three replicas, as the operator sets it.
const MIN_ISR: u64 = 2;
const POD: &str = "stream";
/// The ledger's producer gives a record up after three minutes; the rest is for a loaded machine.
const SETTLED: Duration = Duration::from_mins(4);

/// A ledger that writes until it is told to stop.
pub(crate) struct Stream<'a> {
    cluster: &'a Cluster,
}

/// Its figures.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    acknowledged: u64,
    /// Records that have neither been acknowledged nor failed yet.
    unknown: u64,
    /// For how long no record was acknowledged, at most, in milliseconds.
    longest_gap_ms: u64,
}

/// How many records may have failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failures {
    None,
    Some,
}

/// What it says in the end.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    ok: bool,
    checked: u64,
    /// Records that were not acknowledged, by the code of the error.
    failures: BTreeMap<String, u64>,
    unknown: u64,
    live: Live,
    in_sync: InSync,
}

/// How few replicas were in sync.
#[derive(Debug, Deserialize)]
struct InSync {
    looks: u64,
    fewest: Option<u64>,
}

/// What the consumer saw that read meanwhile.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Live {
    read: u64,
    read_again: u64,
    went_back: u64,
}

impl<'a> Stream<'a> {
    /// Begins to write to all partitions of a topic, and waits for the first acknowledgement. The producer waits for all
    /// replicas in sync, and writes nothing twice.
    pub(crate) async fn begin(cluster: &'a Cluster, topic: &str) -> Result<Self> {
        let bootstrap = cluster.tools().bootstrap();
        let arguments = ["kafka", "--bootstrap", &bootstrap, "--topic", topic, "--interval", "5ms"];
        ledger::begin(&cluster.client, &cluster.namespace, POD, &arguments).await?;
        let stream = Self { cluster };
        stream
            .until(Duration::from_mins(1), "an acknowledged record", |stats| stats.acknowledged > 0)
            .await?;
        Ok(stream)
    }

    /// Stops, waits until everything is acknowledged, and has it all read: everything is there, once, and nothing failed.
    /// Returns how many records were acknowledged.
    pub(crate) async fn end(self) -> Result<u64> {
        let told = self.told().await?;
        judge(&told, Failures::None)
    }

    /// What it says when it was stopped and everything was read.
    async fn told(&self) -> Result<Value> {
        let Cluster { client, namespace, .. } = self.cluster;
        let _: Value = proxy::post(client, namespace, POD, PORT, "stop", &json!({})).await?;
        self.until(SETTLED, "all records to be acknowledged or given up", |stats| stats.unknown == 0).await?;
        proxy::post(client, namespace, POD, PORT, "verify", &json!({})).await
    }

    /// As [`Self::end`], after more was broken than clients are promised to be spared of: some may have failed, and then it is
    /// not known whether they are there.
    pub(crate) async fn survived(self) -> Result<u64> {
        let told = self.told().await?;
        judge(&told, Failures::Some)
    }

    /// The node that it runs on.
    pub(crate) async fn node(&self) -> Result<String> {
        ledger::node(&self.cluster.client, &self.cluster.namespace, POD).await
    }

    /// Waits until `more` further records are acknowledged; for how many milliseconds there was none, at most.
    pub(crate) async fn progress(&self, more: u64) -> Result<u64> {
        let before = self.stats().await?.acknowledged;
        self.until(Duration::from_mins(1), "acknowledged records", |stats| {
            stats.acknowledged >= before + more
        })
        .await?;
        Ok(self.stats().await?.longest_gap_ms)
    }

    async fn stats(&self) -> Result<Stats> {
        proxy::get(&self.cluster.client, &self.cluster.namespace, POD, PORT, "stats").await
    }

    async fn until(&self, patience: Duration, what: &str, met: impl Fn(&Stats) -> bool) -> Result<()> {
        let Cluster { client, namespace, .. } = self.cluster;
        wait::until_in(client, namespace, patience, what, || async {
            let stats = self.stats().await?;
            Ok(if met(&stats) { Seen::Met(()) } else { Seen::NotYet(format!("{stats:?}")) })
        })
        .await
    }
}

/// How many records were acknowledged and are as they should be.
fn judge(told: &Value, failures: Failures) -> Result<u64> {
    let verdict: Verdict = serde_json::from_value(told.clone())?;
    ensure!(verdict.ok, "acknowledged records are not as they should be: {told}");
    ensure!(verdict.checked > 0, "the ledger checked nothing: {told}");
    ensure!(
        (failures == Failures::Some || verdict.failures.is_empty()) && verdict.unknown == 0,
        "not all records were acknowledged: failed by code {:?}, unknown {}",
        verdict.failures,
        verdict.unknown
    );
    let Live { read, read_again, went_back } = verdict.live;
    ensure!(
        read_again == 0 && went_back == 0 && read > 0,
        "the consumer beside it read {read} records, {read_again} of them again; offsets went back {went_back} times"
    );
    let InSync { looks, fewest } = verdict.in_sync;
    ensure!(looks > 0, "nobody looked how many replicas are in sync: {told}");
    // A topic with three replicas takes records while two are in sync.
    ensure!(
        failures == Failures::Some || fewest.is_some_and(|fewest| fewest >= MIN_ISR),
        "a partition had {fewest:?} replicas in sync, and needs {MIN_ISR}: {told}"
    );
    Ok(verdict.checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(more: Value) -> Value {
        let mut told = json!({
            "ok": true, "checked": 7, "failures": {}, "unknown": 0,
            "live": {"read": 7, "readAgain": 0, "wentBack": 0}, "inSync": {"looks": 9, "fewest": 2},
        });
        if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
            told.extend(more);
        }
        told
    }

    #[test]
    fn only_a_flawless_ledger_passes() {
        assert_eq!(judge(&told(json!({})), Failures::None).unwrap(), 7);
        for (flaw, word) in [
            (json!({"ok": false, "missingCount": 1}), "missingCount"),
            (json!({"checked": 0}), "nothing"),
            (json!({"failures": {"MessageTimedOut": 3}}), "MessageTimedOut"),
            (json!({"unknown": 1}), "unknown 1"),
            (json!({"live": {"read": 7, "readAgain": 2, "wentBack": 0}}), "2 of them again"),
            (json!({"live": {"read": 7, "readAgain": 0, "wentBack": 3}}), "3 times"),
            (json!({"live": {"read": 0, "readAgain": 0, "wentBack": 0}}), "read 0"),
            (json!({"inSync": {"looks": 0}}), "nobody looked"),
            (json!({"inSync": {"looks": 3, "fewest": 1}}), "Some(1) replicas in sync"),
        ] {
            let error = judge(&told(flaw), Failures::None).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
