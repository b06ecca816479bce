//! What the etcd operator can want: one of these per pass.

use ballast_core::{object::ObjectRef, plan};

/// One thing to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// Make the first member: record, claim, permission, ticket, StatefulSet; continues where it was left.
    Bootstrap {
        /// Its ordinal.
        ordinal: u32,
        /// Its claim; `None` with ephemeral storage.
        claim: Option<String>,
        /// Its zone.
        zone: Option<String>,
    },
    /// Take over the volumes of an earlier cluster.
    Adopt {
        /// uid of that cluster.
        from: String,
        /// Its claims, with their resourceVersion.
        claims: Vec<(ObjectRef, String)>,
    },
    /// Write down that the cluster has started, and under which id.
    ConfirmStarted {
        /// etcd's cluster id.
        cluster_id: u64,
    },
    /// Delete the ticket of a member that has started.
    RevokeTicket {
        /// The member.
        member: String,
        /// Its ticket.
        ticket: ObjectRef,
    },
    /// Add a member as a learner, or continue adding it.
    AddMember {
        /// Its ordinal.
        ordinal: u32,
        /// Its zone.
        zone: Option<String>,
        /// Why.
        why: String,
    },
    /// Let a learner vote.
    Promote {
        /// The member.
        member: String,
        /// Its id.
        id: u64,
    },
    /// Move leadership away from a member that is about to stop.
    MoveLeader {
        /// The leader.
        from: String,
        /// The next leader.
        to: String,
        /// Its id.
        to_id: u64,
        /// Why.
        why: String,
    },
    /// Remove a member from etcd's list.
    RemoveMember {
        /// The member.
        member: String,
        /// Its id.
        id: u64,
        /// Why.
        why: String,
    },
    /// Give a member the new template and restart it.
    Update {
        /// Its ordinal.
        ordinal: u32,
        /// uid of the pod that is to go, if there is one.
        pod: Option<String>,
        /// Why.
        why: String,
    },
    /// Restart a member that does not serve.
    Restart {
        /// The member.
        member: String,
        /// uid of its pod.
        pod: String,
        /// Why.
        why: String,
    },
    /// Delete the StatefulSet, the ticket or a claim of a member that is no longer in etcd's list.
    CleanUp {
        /// The member.
        member: String,
        /// What is deleted.
        object: ObjectRef,
    },
    /// Disarm the CORRUPT alarm of a member that is no longer in etcd's list.
    DisarmAlarm {
        /// Its id.
        id: u64,
    },
    /// Delete the pod of a removed member, which its node does not confirm.
    ForceDeletePod {
        /// The member.
        member: String,
        /// uid of the pod.
        pod: String,
    },
}

impl plan::Intent for Intent {
    fn reason(&self) -> &'static str {
        match self {
            Self::Bootstrap { .. } => "Bootstrap",
            Self::Adopt { .. } => "AdoptVolumes",
            Self::ConfirmStarted { .. } => "ConfirmStarted",
            Self::RevokeTicket { .. } => "RevokeTicket",
            Self::AddMember { .. } => "AddMember",
            Self::Promote { .. } => "PromoteMember",
            Self::MoveLeader { .. } => "MoveLeader",
            Self::RemoveMember { .. } => "RemoveMember",
            Self::Update { .. } => "UpdateMember",
            Self::Restart { .. } => "RestartMember",
            Self::CleanUp { .. } => "CleanUp",
            Self::DisarmAlarm { .. } => "DisarmAlarm",
            Self::ForceDeletePod { .. } => "ForceDeletePod",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Bootstrap { ordinal, .. } => format!("making the first member (number {ordinal})"),
            Self::Adopt { from, claims } => {
                format!("taking over {} volumes of the cluster with uid {from}", claims.len())
            }
            Self::ConfirmStarted { cluster_id } => format!("the cluster has started with id {cluster_id:x}"),
            Self::RevokeTicket { member, .. } => format!("{member} has started: its ticket is deleted"),
            Self::AddMember { ordinal, why, .. } => {
                format!("adding member number {ordinal} as a learner: {why}")
            }
            Self::Promote { member, .. } => format!("{member} has caught up: it becomes a voter"),
            Self::MoveLeader { from, to, why, .. } => format!("moving leadership from {from} to {to}: {why}"),
            Self::RemoveMember { member, why, .. } => {
                format!("removing {member} from etcd's member list: {why}")
            }
            Self::Update { ordinal, why, .. } => {
                format!("giving member number {ordinal} the new template: {why}")
            }
            Self::Restart { member, why, .. } => format!("restarting {member}: {why}"),
            Self::CleanUp { member, object } => {
                format!(
                    "{member} is out of etcd's member list: deleting its {} {}",
                    object.kind.as_str(),
                    object.name
                )
            }
            Self::DisarmAlarm { id } => {
                format!("member {id:x} is out of etcd's member list: disarming its CORRUPT alarm")
            }
            Self::ForceDeletePod { member, .. } => {
                format!(
                    "{member} is out of etcd's member list and its node does not confirm the end of its pod: deleting the pod by force"
                )
            }
        }
    }

    fn disruptive(&self) -> bool {
        !matches!(
            self,
            Self::ConfirmStarted { .. }
                | Self::RevokeTicket { .. }
                | Self::CleanUp { .. }
                | Self::DisarmAlarm { .. }
        )
    }
}
