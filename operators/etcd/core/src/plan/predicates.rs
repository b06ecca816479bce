//! The predicates: each has a name, a reason and a message, and what does not hold is shown in `.status.plan`.

use ballast_core::plan::{Blocked, Predicate, evaluate};

use super::{Context, Next};
use crate::observed::Member;

/// A voter may lag this many raft entries behind the leader and still count as caught up.
pub const CAUGHT_UP: u64 = 5_000;

/// One member is about to be stopped or removed.
pub(crate) struct Disruption<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) member: &'a Member,
    /// Whether the member leaves the list, so that the quorum of the rest counts too.
    pub(crate) leaves: bool,
}

impl Disruption<'_> {
    fn others(&self) -> impl Iterator<Item = &Member> {
        self.context.observed.voters().filter(|other| other.ordinal != self.member.ordinal)
    }
}

/// Never skippable.
fn quorum<'a>() -> Predicate<Disruption<'a>> {
    Predicate {
        name: "quorum-without-member",
        reason: "QuorumAtRisk",
        skippable: false,
        check: quorum_without,
    }
}

fn quorum_without(disruption: &Disruption<'_>) -> Result<(), String> {
    let voters = disruption.context.observed.voters().count();
    let serving = disruption.others().filter(|other| other.serves()).count();
    let needed = voters / 2 + 1;
    // A cluster of one or two cannot keep a quorum without a member; restarting a healthy one is then a short outage.
    if !disruption.leaves && voters <= 2 && disruption.member.serves() {
        return Ok(());
    }
    if !disruption.member.voter() {
        return Ok(());
    }
    // The removal itself is committed by the members that stay, under the old quorum if the member does not vote for it.
    let committing = serving + usize::from(disruption.member.serves());
    let rest = voters.saturating_sub(1);
    if disruption.leaves && (committing < needed || serving < rest / 2 + 1) {
        return Err(format!(
            "without {} only {serving} of {rest} voters would serve, and the removal needs {needed}",
            disruption.member.name
        ));
    }
    if !disruption.leaves && disruption.member.serves() && serving < needed {
        return Err(format!(
            "while {} stops only {serving} of {voters} voters serve, {needed} are needed",
            disruption.member.name
        ));
    }
    Ok(())
}

fn others_serve<'a>() -> Predicate<Disruption<'a>> {
    let check = |disruption: &Disruption<'_>| {
        // Clients reach only Ready pods: what etcd says is not enough.
        let ready = |other: &Member| {
            other.serves() && other.pod.as_ref().is_some_and(|pod| pod.ready && pod.deletion_due.is_none())
        };
        let silent: Vec<_> =
            disruption.others().filter(|other| !ready(other)).map(|other| other.name.as_str()).collect();
        if silent.is_empty() {
            Ok(())
        } else {
            Err(format!("{} must serve a linearizable read and be Ready first", silent.join(", ")))
        }
    };
    Predicate { name: "other-voters-serve", reason: "MemberNotServing", skippable: true, check }
}

fn caught_up<'a>() -> Predicate<Disruption<'a>> {
    let check = |disruption: &Disruption<'_>| {
        let highest = disruption
            .context
            .observed
            .voters()
            .filter_map(Member::answer)
            .map(|answer| answer.raft_index)
            .max()
            .unwrap_or(0);
        let lagging: Vec<_> = disruption
            .others()
            .filter(|other| other.answer().is_some_and(|answer| answer.applied_index + CAUGHT_UP < highest))
            .map(|other| other.name.as_str())
            .collect();
        if lagging.is_empty() {
            Ok(())
        } else {
            Err(format!("{} must catch up with the leader first", lagging.join(", ")))
        }
    };
    Predicate { name: "voters-caught-up", reason: "MemberLagging", skippable: true, check }
}

/// What does not hold for restarting a member that serves.
pub(crate) fn before_restart(context: &Context<'_>, member: &Member) -> Vec<Blocked> {
    check(&Disruption { context, member, leaves: false }, &[quorum(), others_serve(), caught_up()])
}

/// What does not hold for removing a member.
pub(crate) fn before_removal(context: &Context<'_>, member: &Member) -> Vec<Blocked> {
    check(&Disruption { context, member, leaves: true }, &[quorum()])
}

fn check<'a>(disruption: &Disruption<'a>, predicates: &[Predicate<Disruption<'a>>]) -> Vec<Blocked> {
    evaluate(disruption, predicates, &disruption.context.skipped())
}

/// Nothing about membership is decided without etcd's own list, read after a linearizable read.
pub(crate) fn list_known(context: &Context<'_>) -> Next {
    if context.observed.answers.list.is_some() {
        return Next::Nothing;
    }
    if let Some(next) = data_lost(context) {
        return next;
    }
    let silent: Vec<String> = context
        .observed
        .members
        .iter()
        .filter(|member| !member.serves())
        .map(|member| match &member.probe {
            crate::observed::Probe::Silent(why) => format!("{} ({why})", member.name),
            crate::observed::Probe::Answered(_) => format!("{} (no linearizable read)", member.name),
        })
        .collect();
    Next::wait(
        "quorum-answers",
        "QuorumUnknown",
        format!(
            "no member serves a linearizable read, so etcd's member list is not known; waiting for {}; pods that are lost come back by themselves",
            if silent.is_empty() { "the first pod".to_owned() } else { silent.join(", ") }
        ),
    )
}

/// So many members have lost their data that those left cannot be a quorum: waiting would not help.
fn data_lost(context: &Context<'_>) -> Option<Next> {
    let members: Vec<_> =
        context.observed.members.iter().filter(|member| member.stateful_set.is_some()).collect();
    let lost: Vec<_> =
        members.iter().filter(|member| member.lost()).map(|member| member.name.as_str()).collect();
    if lost.is_empty() || members.len() - lost.len() > members.len() / 2 {
        return None;
    }
    Some(Next::wait(
        "quorum-without-member",
        "DataLost",
        format!(
            "{} lost the data, and the others of {} members cannot hold a quorum: bring the volumes back, \
             or delete the EtcdCluster and restore a backup",
            lost.join(", "),
            members.len()
        ),
    ))
}

/// Members that the operator did not add are reported and never touched.
pub(crate) fn no_foreign_members(context: &Context<'_>) -> Next {
    let foreign: Vec<_> = context
        .observed
        .foreign
        .iter()
        .map(|member| format!("{:x} ({})", member.id, member.peer_urls.join(",")))
        .collect();
    if foreign.is_empty() {
        return Next::Nothing;
    }
    Next::wait(
        "no-foreign-members",
        "ForeignMember",
        format!(
            "etcd lists members that this operator did not add: {}; remove them with etcdctl member remove, or move them away",
            foreign.join(", ")
        ),
    )
}
