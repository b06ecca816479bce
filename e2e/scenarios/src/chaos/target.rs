//! What chaos meets: a cluster of either operator, and the ledger that writes to it.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{Api, Client, api::ListParams};

use crate::{etcd, kafka, ledger::Ledger};

/// A cluster under test with its ledger.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Etcd { cluster: &'a etcd::cluster::Cluster, ledger: &'a Ledger },
    Kafka { cluster: &'a kafka::cluster::Cluster, stream: &'a kafka::stream::Stream<'a> },
}

impl Target<'_> {
    pub(crate) fn client(&self) -> &Client {
        match self {
            Self::Etcd { cluster, .. } => &cluster.client,
            Self::Kafka { cluster, .. } => &cluster.client,
        }
    }

    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Etcd { cluster, .. } => &cluster.namespace,
            Self::Kafka { cluster, .. } => &cluster.namespace,
        }
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client().clone(), self.namespace())
    }

    pub(crate) fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.client().clone(), self.namespace())
    }

    /// What belongs to the cluster.
    pub(crate) fn ours(&self) -> ListParams {
        match self {
            Self::Etcd { cluster, .. } => cluster.ours(),
            Self::Kafka { .. } => ListParams::default()
                .labels("app.kubernetes.io/instance=my,app.kubernetes.io/managed-by=ballast-kafka"),
        }
    }

    /// Names and uids of the cluster's pods.
    pub(crate) async fn pod_uids(&self) -> Result<BTreeMap<String, String>> {
        let pods = self.pods().list(&self.ours()).await?.items;
        Ok(pods.into_iter().filter_map(|pod| Some((pod.metadata.name?, pod.metadata.uid?))).collect())
    }

    /// Claims that are not being deleted, by member.
    pub(crate) async fn claim_names(&self) -> Result<BTreeMap<String, String>> {
        let claims = self.claims().list(&self.ours()).await?.items;
        let there = claims.into_iter().filter(|claim| claim.metadata.deletion_timestamp.is_none());
        Ok(there
            .filter_map(|claim| {
                Some((claim.metadata.labels?.get("ballast.dev/member")?.clone(), claim.metadata.name?))
            })
            .collect())
    }

    /// Name of the member that leads.
    pub(crate) async fn leader(&self) -> Result<Option<String>> {
        Ok(match self {
            Self::Etcd { cluster, .. } => {
                let members = cluster.status().await?.members;
                members.into_iter().find(|member| member.role == "Leader").map(|member| member.name)
            }
            Self::Kafka { cluster, .. } => kafka::quorum::leader(&cluster.status().await?),
        })
    }

    /// Waits until the operator says that all is well.
    pub(crate) async fn ready(&self) -> Result<()> {
        match self {
            Self::Etcd { cluster, .. } => cluster.ready().await.map(drop),
            Self::Kafka { cluster, .. } => cluster.ready().await.map(drop),
        }
    }

    /// The node of the ledger.
    pub(crate) async fn witness(&self) -> Result<String> {
        match self {
            Self::Etcd { ledger, .. } => ledger.node().await,
            Self::Kafka { stream, .. } => stream.node().await,
        }
    }

    /// For how long nothing was acknowledged, at most; something is acknowledged now.
    pub(crate) async fn longest_gap(&self) -> Result<Duration> {
        let milliseconds = match self {
            Self::Etcd { ledger, .. } => ledger.progress(20).await?.longest_gap_ms,
            Self::Kafka { stream, .. } => stream.progress(20).await?,
        };
        Ok(Duration::from_millis(milliseconds))
    }
}
