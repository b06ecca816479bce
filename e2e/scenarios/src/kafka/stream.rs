//! Numbered records, written throughout and read at the end: each that Kafka took must be there, once.
//!
//! The producer is Kafka's own, in a pod of its own that outlives any node of the cluster.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess, LogParams, PostParams},
};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    sync::oneshot,
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

use super::cluster::Cluster;
use crate::install::KAFKA_VERSION;

/// How often some records are written.
const EVERY: Duration = Duration::from_millis(50);
const AT_ONCE: u64 = 10;
const POD: &str = "stream";

/// A producer that writes until it is told to stop.
pub(crate) struct Stream<'a> {
    cluster: &'a Cluster,
    topic: String,
    stop: oneshot::Sender<()>,
    writing: JoinHandle<Result<u64>>,
}

impl<'a> Stream<'a> {
    /// Begins to write to a topic. The producer waits for all replicas in sync, and writes nothing twice.
    pub(crate) async fn begin(cluster: &'a Cluster, topic: &str) -> Result<Self> {
        let arguments = [
            "--topic",
            topic,
            "--command-property",
            "acks=all",
            "--command-property",
            "enable.idempotence=true",
            "--command-property",
            "delivery.timeout.ms=180000",
            // The tool's own defaults, 3 retries of 1.5 s, are not what a client has: it would give up while a node restarts.
            "--command-property",
            "retries=2147483647",
            "--command-property",
            "request.timeout.ms=10000",
        ];
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": POD, "namespace": cluster.namespace},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 1,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": POD,
                    "image": format!("docker.io/apache/kafka:{KAFKA_VERSION}"),
                    "command": cluster.tools().command("ConsoleProducer", &arguments),
                    "stdin": true,
                    "stdinOnce": true,
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                }],
            },
        }))?;
        let pods = cluster.pods();
        pods.create(&PostParams::default(), &pod).await.context("cannot start the producer")?;
        wait::until_in(
            &cluster.client,
            &cluster.namespace,
            Duration::from_mins(1),
            "the producer to run",
            || async { Ok(phase(&pods).await?.filter(|phase| phase == "Running").map(drop)) },
        )
        .await?;
        let attached = AttachParams::default().stdin(true).stdout(false).stderr(false);
        let producer = pods.attach(POD, &attached).await?;
        let (stop, stopped) = oneshot::channel();
        let writing = tokio::spawn(write(producer, stopped));
        Ok(Self { cluster, topic: topic.to_owned(), stop, writing })
    }

    /// Stops, waits until everything is acknowledged, and reads it on a node: all that was written is there, once.
    pub(crate) async fn end(self, node: &str) -> Result<u64> {
        let _ = self.stop.send(());
        let written = self.writing.await??;
        ensure!(written > 0, "nothing was written");
        let errors = errors(self.cluster).await?;
        let count = written.to_string();
        let arguments =
            ["--topic", &self.topic, "--from-beginning", "--max-messages", &count, "--timeout-ms", "30000"];
        let text = self.cluster.tools().run(node, "consumer.ConsoleConsumer", &arguments, "").await?;
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        // What else it says is about itself, above all that nothing more came.
        for number in text.lines().filter_map(|line| line.trim().parse().ok()) {
            *seen.entry(number).or_default() += 1;
        }
        let lost: Vec<u64> = (0..written).filter(|number| !seen.contains_key(number)).collect();
        ensure!(
            lost.is_empty() && errors.is_empty(),
            "{} of {written} records are not there: {:?} to {:?}; {} were not acknowledged: {}",
            lost.len(),
            lost.first(),
            lost.last(),
            errors.len(),
            errors.iter().take(4).cloned().collect::<Vec<_>>().join("; ")
        );
        if let Some((number, times)) = seen.iter().find(|(_, times)| **times > 1) {
            bail!("record {number} is there {times} times");
        }
        Ok(written)
    }
}

/// The producer ends once everything is acknowledged; what was not, it writes down: that is returned.
async fn errors(cluster: &Cluster) -> Result<Vec<String>> {
    let pods = cluster.pods();
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        Duration::from_mins(4),
        "the producer to end",
        || async {
            Ok(match phase(&pods).await?.as_deref() {
                Some("Succeeded") => Seen::Met(()),
                other => Seen::NotYet(format!("it is {}", other.unwrap_or("gone"))),
            })
        },
    )
    .await?;
    let log = pods.logs(POD, &LogParams::default()).await?;
    // What went wrong is told in the line behind it.
    let lines: Vec<&str> = log.lines().collect();
    let why =
        |at: usize| lines.get(at + 1).filter(|line| line.contains("Exception")).copied().unwrap_or(lines[at]);
    Ok((0..lines.len()).filter(|at| lines[*at].contains("ERROR")).map(|at| why(at).to_owned()).collect())
}

async fn phase(pods: &Api<Pod>) -> Result<Option<String>> {
    Ok(pods.get(POD).await?.status.and_then(|status| status.phase))
}

async fn write(mut producer: AttachedProcess, mut stopped: oneshot::Receiver<()>) -> Result<u64> {
    let mut stdin = producer.stdin().context("no input")?;
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = 0;
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = tick.tick() => {
                let lines: Vec<String> = (next..next + AT_ONCE).map(|number| number.to_string()).collect();
                stdin.write_all(format!("{}\n", lines.join("\n")).as_bytes()).await?;
                next += AT_ONCE;
            }
        }
    }
    stdin.shutdown().await?;
    drop(stdin);
    // Nobody reads its status here; whether it took everything is seen at its end and in what is read.
    let _ = producer.join().await;
    Ok(next)
}
