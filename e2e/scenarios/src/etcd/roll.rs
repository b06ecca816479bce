//! Watches a rolling change: in which order members are restarted, and that never two are down.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, ensure};
use tokio::{sync::oneshot, task::JoinHandle};

use super::cluster::{Cluster, is_ready};

/// A running watch.
pub(crate) struct Roll {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Seen>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Pods in the order in which they were replaced.
    pub(crate) order: Vec<String>,
    /// Most pods that were not Ready, or missing, at the same time.
    pub(crate) most_down: usize,
    looks: usize,
}

impl Roll {
    /// Begins to watch the pods that exist now.
    pub(crate) async fn watch(cluster: &Cluster) -> Result<Self> {
        let before = cluster.pod_uids().await?;
        let (pods, ours) = (cluster.pods(), cluster.ours());
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut seen = Seen::default();
            let mut known = before.clone();
            while stopped.try_recv().is_err() {
                if let Ok(list) = pods.list(&ours).await {
                    seen.looks += 1;
                    let now: BTreeMap<String, (String, bool)> = list
                        .items
                        .iter()
                        .filter_map(|pod| {
                            Some((
                                pod.metadata.name.clone()?,
                                (
                                    pod.metadata.uid.clone()?,
                                    is_ready(pod) && pod.metadata.deletion_timestamp.is_none(),
                                ),
                            ))
                        })
                        .collect();
                    let down =
                        known.keys().filter(|name| now.get(*name).is_none_or(|(_, ready)| !ready)).count();
                    seen.most_down = seen.most_down.max(down);
                    for (name, (uid, _)) in &now {
                        if known.get(name).is_some_and(|old| old != uid) {
                            seen.order.push(name.clone());
                            known.insert(name.clone(), uid.clone());
                        }
                    }
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            seen
        });
        Ok(Self { stop, task })
    }

    /// Ends the watch.
    pub(crate) async fn end(self) -> Result<Seen> {
        let _ = self.stop.send(());
        let seen = self.task.await?;
        ensure!(seen.looks > 10, "the pods were hardly watched: {seen:?}");
        Ok(seen)
    }

    /// Ends the watch; fails unless each of `members` was restarted once, never two at a time, `leader` last.
    pub(crate) async fn end_orderly(self, members: usize, leader: &str) -> Result<Seen> {
        let seen = self.end().await?;
        ensure!(seen.order.len() == members, "each member is restarted once: {:?}", seen.order);
        ensure!(seen.most_down <= 1, "{} members were down at once", seen.most_down);
        ensure!(
            seen.order.last() == Some(&format!("{leader}-0")),
            "the leader {leader} was not the last: {:?}",
            seen.order
        );
        Ok(seen)
    }
}
