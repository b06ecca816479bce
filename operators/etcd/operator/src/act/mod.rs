//! Carries out one intent: its ordered requests, each safe to repeat, each through the gate.

mod join;
mod record;

use ballast_etcd_core::{
    build::{self, Place},
    intent::Intent,
    observed::{Listed, Member, Observed},
    validate::{Desired, Storage},
};
use ballast_runtime::{operator::ActError, permission, writer::Writer};
use serde_json::json;

use crate::client::{Change, Connection, Dialer, EtcdError};

fn from_etcd(error: EtcdError) -> ActError {
    match error {
        EtcdError::NotYet(message) => ActError::Waiting(message),
        EtcdError::Failed(message) => ActError::Application(message),
    }
}

/// Carries out `intent`, which was confirmed by `observed`, read live just now.
pub async fn act(
    etcd: &Dialer,
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    intent: &Intent,
) -> Result<(), ActError> {
    match intent {
        Intent::Bootstrap { ordinal, claim, zone } => {
            record::bootstrap(writer, desired, observed, &place(*ordinal, claim.as_ref(), zone.as_ref()))
                .await
        }
        Intent::Adopt { from, claims } => record::adopt(writer, desired, observed, from, claims).await,
        Intent::ConfirmStarted { cluster_id } => {
            record::confirm_started(writer, desired, observed, *cluster_id).await
        }
        Intent::RevokeTicket { ticket, .. } => Ok(writer.delete(ticket).await?),
        Intent::AddMember { ordinal, zone, .. } => {
            join::add(etcd, writer, desired, observed, place(*ordinal, None, zone.as_ref())).await
        }
        Intent::Promote { id, .. } => {
            through_voters(etcd, writer, observed, None, &Change::Promote(*id)).await.map(drop)
        }
        Intent::MoveLeader { from, to_id, .. } => {
            let mut leader = member(etcd, observed, from).await?;
            writer.guarded(leader.move_leader(*to_id)).await?.map_err(from_etcd)
        }
        Intent::RemoveMember { member, id, .. } => {
            through_voters(etcd, writer, observed, Some(member), &Change::Remove(*id)).await.map(drop)
        }
        Intent::Update { ordinal, pod, .. } => {
            update(writer, desired, observed, *ordinal, pod.as_deref()).await
        }
        Intent::Restart { member, pod, .. } => {
            Ok(writer.delete_pod(&format!("{member}-0"), pod, None).await?)
        }
        Intent::CleanUp { object, .. } => Ok(writer.delete(object).await?),
        Intent::DisarmAlarm { id } => {
            through_voters(etcd, writer, observed, None, &Change::DisarmCorrupt(*id)).await.map(drop)
        }
        Intent::ForceDeletePod { member, pod } => {
            Ok(writer.delete_pod(&format!("{member}-0"), pod, Some(0)).await?)
        }
    }
}

fn place(ordinal: u32, claim: Option<&String>, zone: Option<&String>) -> Place {
    Place { ordinal, claim: claim.cloned(), zone: zone.cloned(), adopted_from: None }
}

/// Asks the voters that serve, the leader first and never the member that is about to leave, until one accepts.
///
/// etcd checks some changes against the connections of the member that is asked, so one may refuse for long what another
/// accepts. Only a refusal is passed on: after a failure it is not known whether the change was made.
///
/// Returns the member list if the change is an addition.
async fn through_voters(
    etcd: &Dialer,
    writer: &Writer,
    observed: &Observed,
    except: Option<&str>,
    change: &Change,
) -> Result<Vec<Listed>, ActError> {
    let mut serving: Vec<&Member> =
        observed.voters().filter(|member| member.serves() && Some(member.name.as_str()) != except).collect();
    serving.sort_by_key(|member| !member.leads());
    let mut refused = ActError::Waiting("no voter serves now".to_owned());
    for member in serving {
        let mut voter = open(etcd, member).await?;
        match writer.guarded(voter.change(change)).await? {
            Ok(done) => return Ok(done),
            Err(EtcdError::NotYet(message)) => refused = ActError::Waiting(message),
            Err(error) => return Err(from_etcd(error)),
        }
    }
    Err(refused)
}

async fn member(etcd: &Dialer, observed: &Observed, name: &str) -> Result<Connection, ActError> {
    let chosen = observed.members.iter().find(|member| member.name == name);
    open(etcd, chosen.ok_or_else(|| ActError::Waiting(format!("{name} is gone")))?).await
}

async fn open(etcd: &Dialer, member: &Member) -> Result<Connection, ActError> {
    let address = member.pod.as_ref().and_then(|pod| pod.ip.clone());
    let address = address.ok_or_else(|| ActError::Waiting(format!("{} has no address now", member.name)))?;
    etcd.connect(&address).await.map_err(from_etcd)
}

/// The claim of a place: made now, or there already. Returns its uid; a word for it with ephemeral storage.
async fn ensure_claim(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    place: &Place,
) -> Result<String, ActError> {
    if matches!(desired.storage, Storage::Ephemeral { .. }) {
        return Ok("ephemeral".to_owned());
    }
    let Some(claim) = build::claim(desired, place) else {
        return Err(ActError::Application("a claim without a name".to_owned()));
    };
    let mut claims = observed.members.iter().flat_map(|member| &member.claims);
    let have = claims.find(|have| Some(&have.reference.name) == claim.metadata.name.as_ref());
    permission::ensure_claim(writer, claim, have).await
}

/// Applies the wanted template, then stops the pod that runs the old one.
async fn update(
    writer: &Writer,
    desired: &Desired,
    observed: &Observed,
    ordinal: u32,
    pod: Option<&str>,
) -> Result<(), ActError> {
    let member = observed.members.iter().find(|member| member.ordinal == ordinal);
    let member = member.ok_or_else(|| ActError::Waiting("the member is gone".to_owned()))?;
    let claim = member.stateful_set.as_ref().and_then(|set| set.claim.clone());
    if claim.is_none() && matches!(desired.storage, Storage::Volume { .. }) {
        return Err(ActError::Waiting(format!("{} has no claim to run with", member.name)));
    }
    let adopted_from = claim.as_deref().and_then(|claim| build::adopted_from(&observed.children, claim));
    let place = Place { ordinal, zone: build::zone(&observed.children, member), claim, adopted_from };
    writer.apply(&build::stateful_set(desired, &place).into()).await?;
    match pod {
        Some(uid) => Ok(writer.delete_pod(&format!("{}-0", member.name), uid, None).await?),
        None => Ok(()),
    }
}

/// What is patched into a claim that is taken over.
fn takeover(desired: &Desired, from: &str) -> serde_json::Value {
    json!({
        "labels": {ballast_core::label::CLUSTER_UID: desired.cluster.labels.uid},
        "annotations": {build::ADOPTED_FROM: from},
        // If the claim is to be owned, the next apply says so.
        "ownerReferences": [],
    })
}
