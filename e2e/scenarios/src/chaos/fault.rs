//! Faults as they are done and undone.

use std::net::Ipv4Addr;

use anyhow::Result;
use ballast_lab::{CONTROL_PLANE_ADDRESS, Lab, Partition};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams},
};

use super::{schedule::Fault, target::Target};
use crate::{install, operator::Operator};

/// Whom faults meet.
pub(crate) struct Victim<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) target: Target<'a>,
    pub(crate) operator: Operator,
    /// The node of the ledger. It stays connected: a witness that sees nothing proves nothing.
    pub(crate) witness: String,
}

/// What must be undone.
pub(crate) enum Undo {
    Nothing,
    Heal(Partition),
    Unfill { claim: String },
    Thaw,
}

impl Victim<'_> {
    fn client(&self) -> &Client {
        self.target.client()
    }

    /// Does it. `None` if there is nobody to meet just now.
    pub(crate) async fn strike(&self, fault: Fault) -> Result<Option<(String, Undo)>> {
        match fault {
            Fault::KillMember(which) => self.kill_member(which).await,
            Fault::KillOperator => self.kill_operator().await,
            Fault::IsolateLeader => {
                let Some(leader) = self.target.leader().await? else { return Ok(None) };
                let members = self.addresses(&self.target.pods(), &self.target.ours()).await?;
                let (leading, others): (Vec<_>, Vec<_>) =
                    members.into_iter().partition(|(pod, _)| *pod == format!("{leader}-0"));
                self.cut(&leader, &leading, &others)
            }
            Fault::OperatorFromMembers => {
                let members = self.addresses(&self.target.pods(), &self.target.ours()).await?;
                self.cut("operator", &self.operators().await?, &members)
            }
            Fault::OperatorFromApi => {
                let api = [("API server".to_owned(), CONTROL_PLANE_ADDRESS.parse()?)];
                self.cut("operator", &self.operators().await?, &api)
            }
            Fault::NodeFromApi(which) => {
                let nodes: Vec<_> =
                    self.lab.nodes().iter().filter(|node| node.name != self.witness).collect();
                let node = nodes[usize::from(which) % nodes.len()];
                let api = [("API server".to_owned(), CONTROL_PLANE_ADDRESS.parse()?)];
                self.cut(&node.name, &[(node.name.clone(), node.address().parse()?)], &api)
            }
            Fault::FillDisk(which) => {
                let claims = self.target.claim_names().await?;
                let Some((member, claim)) = nth(claims, which) else { return Ok(None) };
                ballast_lab::fill(self.client(), self.target.namespace(), &claim, 0).await?;
                Ok(Some((member, Undo::Unfill { claim })))
            }
            Fault::RestartApi => {
                self.lab.restart_api_server().await?;
                Ok(Some(("API server".to_owned(), Undo::Nothing)))
            }
            Fault::FreezeEtcd => {
                self.lab.freeze("etcd")?;
                Ok(Some(("etcd of Kubernetes".to_owned(), Undo::Thaw)))
            }
        }
    }

    /// Undoes it.
    pub(crate) async fn undo(&self, undo: Undo) -> Result<()> {
        match undo {
            Undo::Nothing => Ok(()),
            Undo::Heal(partition) => partition.heal(),
            Undo::Thaw => self.lab.thaw("etcd"),
            Undo::Unfill { claim } => {
                // The member may have been replaced meanwhile, and its claim be gone.
                if self.target.claims().get_opt(&claim).await?.is_none() {
                    return Ok(());
                }
                ballast_lab::unfill(self.client(), self.target.namespace(), &claim).await
            }
        }
    }

    async fn kill_member(&self, which: u8) -> Result<Option<(String, Undo)>> {
        let pods = self.target.pod_uids().await?;
        let Some((pod, _)) = nth(pods, which) else { return Ok(None) };
        let api = self.target.pods();
        // It may be gone already.
        let _ = api.delete(&pod, &DeleteParams::default().grace_period(0)).await;
        Ok(Some((pod, Undo::Nothing)))
    }

    async fn kill_operator(&self) -> Result<Option<(String, Undo)>> {
        let Some((pod, _)) = self.operators().await?.into_iter().next() else { return Ok(None) };
        let api: Api<Pod> = Api::namespaced(self.client().clone(), install::NAMESPACE);
        let _ = api.delete(&pod, &DeleteParams::default().grace_period(0)).await;
        Ok(Some((pod, Undo::Nothing)))
    }

    async fn operators(&self) -> Result<Vec<(String, Ipv4Addr)>> {
        let api: Api<Pod> = Api::namespaced(self.client().clone(), install::NAMESPACE);
        self.addresses(&api, &self.operator.pods()).await
    }

    async fn addresses(&self, api: &Api<Pod>, which: &ListParams) -> Result<Vec<(String, Ipv4Addr)>> {
        let pods = api.list(which).await?.items;
        let address = |pod: Pod| Some((pod.metadata.name?, pod.status?.pod_ip?.parse().ok()?));
        Ok(pods.into_iter().filter_map(address).collect())
    }

    fn cut(
        &self,
        whom: &str,
        left: &[(String, Ipv4Addr)],
        right: &[(String, Ipv4Addr)],
    ) -> Result<Option<(String, Undo)>> {
        if left.is_empty() || right.is_empty() {
            return Ok(None);
        }
        let addresses = |list: &[(String, Ipv4Addr)]| -> Vec<Ipv4Addr> {
            list.iter().map(|(_, address)| *address).collect()
        };
        let partition = self.lab.partition(&addresses(left), &addresses(right))?;
        Ok(Some((whom.to_owned(), Undo::Heal(partition))))
    }
}

fn nth<V>(all: std::collections::BTreeMap<String, V>, which: u8) -> Option<(String, V)> {
    let count = all.len();
    all.into_iter().nth(usize::from(which) % count.max(1))
}
