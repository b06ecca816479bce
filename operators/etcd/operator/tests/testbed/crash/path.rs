//! What an operator has to do in a run.

use anyhow::{Context as _, Result};
use ballast_etcd_core::api::EtcdCluster;
use ballast_etcd_simulated::server::{Request, member};
use ballast_testbed::wait::{self, Seen};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service},
};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, ListParams},
};
use serde_json::json;

use crate::{
    bed::etcd,
    cluster::{DEADLINE, NAME, clusters, create, edit, ready},
};

/// A way through an operator's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Nothing → three members.
    Create,
    /// One → three.
    ScaleUp,
    /// Three → one.
    ScaleDown,
    /// The claim and the pod of a member are deleted.
    Replace,
    /// A member hangs: it is restarted, and when that does not help, replaced.
    Hang,
    /// A setting is changed: every member is restarted.
    Settings,
    /// The resource is deleted, and its volumes with it.
    Delete,
}

impl Path {
    /// Short, for a namespace.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// What it asks etcd to change.
    pub fn asks(self) -> &'static [Request] {
        match self {
            Self::Create | Self::ScaleUp => &[Request::MemberAdd, Request::MemberPromote],
            Self::ScaleDown => &[Request::MemberRemove],
            Self::Replace | Self::Hang => {
                &[Request::MemberRemove, Request::MemberAdd, Request::MemberPromote]
            }
            Self::Settings => &[Request::MoveLeader],
            Self::Delete => &[],
        }
    }

    /// What there is before; the operator is not disturbed yet.
    pub async fn prepare(self, client: &Client, namespace: &str) -> Result<()> {
        let replicas = match self {
            Self::Create => return Ok(()),
            Self::ScaleUp => 1,
            Self::ScaleDown | Self::Replace | Self::Hang | Self::Settings | Self::Delete => 3,
        };
        create(client, namespace, &of(replicas)).await?;
        if self == Self::Hang {
            let repair = json!({"restartAfter": "4s", "replaceAfter": "12s"});
            edit(&clusters(client, namespace), json!({"repair": repair})).await?;
        }
        ready(client, namespace).await
    }

    /// What happens; returns when the operator has answered it fully.
    pub async fn walk(self, client: &Client, namespace: &str) -> Result<()> {
        let api = clusters(client, namespace);
        match self {
            Self::Create => create(client, namespace, &of(3)).await?,
            Self::ScaleUp => edit(&api, json!({"replicas": 3})).await?,
            Self::ScaleDown => edit(&api, json!({"replicas": 1})).await?,
            Self::Settings => edit(&api, json!({"etcd": {"logLevel": "warn"}})).await?,
            Self::Replace => {
                let before = ids(&api).await?;
                let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
                let of_member = ListParams::default().labels("ballast.dev/member=my-1");
                claims.delete_collection(&DeleteParams::default(), &of_member).await?;
                let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
                pods.delete("my-1-0", &DeleteParams::default().grace_period(0)).await?;
                wait::until(DEADLINE, "another id of my-1", || async {
                    let now = ids(&api).await?;
                    Ok((now.contains_key("my-1") && now.get("my-1") != before.get("my-1")).then_some(()))
                })
                .await?;
            }
            Self::Hang => {
                let (before, hung) = (ids(&api).await?, member(namespace, "my-1"));
                etcd().edit(|etcd| etcd.hung.insert(hung.clone()));
                let given_up = wait::until(DEADLINE, "my-1 to be given up", || async {
                    Ok((ids(&api).await?.get("my-1") != before.get("my-1")).then_some(()))
                });
                let outcome = given_up.await;
                etcd().edit(|etcd| etcd.hung.remove(&hung));
                outcome?;
            }
            Self::Delete => {
                api.delete(NAME, &DeleteParams::default()).await?;
                return gone(client, namespace).await;
            }
        }
        ready(client, namespace).await
    }
}

fn of(replicas: i32) -> serde_json::Value {
    json!({"replicas": replicas, "version": "3.6.16", "storage": {"size": "1Gi", "whenDeleted": "Delete"}})
}

async fn ids(api: &Api<EtcdCluster>) -> Result<std::collections::BTreeMap<String, String>> {
    let members = api.get(NAME).await?.status.context("no status yet")?.members;
    Ok(members.into_iter().filter_map(|member| Some((member.name, member.id?))).collect())
}

async fn gone(client: &Client, namespace: &str) -> Result<()> {
    async fn left<K>(client: &Client, namespace: &str) -> Result<usize>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug,
    {
        let ours = ListParams::default().labels("app.kubernetes.io/managed-by=ballast-etcd");
        Ok(Api::<K>::namespaced(client.clone(), namespace).list(&ours).await?.items.len())
    }
    wait::until_in(client, namespace, DEADLINE, &format!("{namespace} to be empty"), || async {
        let left = left::<StatefulSet>(client, namespace).await?
            + left::<Pod>(client, namespace).await?
            + left::<PersistentVolumeClaim>(client, namespace).await?
            + left::<ConfigMap>(client, namespace).await?
            + left::<Service>(client, namespace).await?;
        Ok(if left == 0 { Seen::Met(()) } else { Seen::NotYet(format!("{left} objects")) })
    })
    .await
}
