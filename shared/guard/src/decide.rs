//! The decision table, as a pure function.
//!
//! | volume | ticket | decision |
//! |---|---|---|
//! | marker not readable | any | `VolumeUnreadable` |
//! | marker of another cluster or member | any | `ForeignVolume` |
//! | data not readable | any | `VolumeUnreadable` |
//! | valid data, marker of this member | any | start |
//! | valid data, marker of this member in an accepted cluster | any | start, after rewriting the marker |
//! | valid data, no marker | any | `ForeignVolume` |
//! | no valid data, marker of an accepted cluster | any | `DataLost`: what was to be adopted is not there; never cleaned |
//! | no valid data, no marker or ours | absent | `DataLost` |
//! | | not readable | `TicketInvalid` |
//! | | for another cluster, member or claim | `DataLost` |
//! | | used in this pod | `DataLost` |
//! | | unused, appends to a file that the pod does not have | `TicketInvalid` |
//! | | unused, cannot tell whether used | `SetupFailed` |
//! | | unused | clean, start |
//!
//! A ticket that cannot be read stops nobody who does not need one: a member with data starts.

use crate::marker::Marker;
use crate::refusal::Refusal;
use crate::ticket::Ticket;

/// The annotation on the resource that lets the volumes of an earlier cluster be adopted.
pub const ADOPT_ANNOTATION: &str = "ballast.dev/adopt-volumes";

/// Everything the decision depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Uid of this pod's cluster.
    pub cluster_uid: String,
    /// Name of this pod's member.
    pub member: String,
    /// Name of the claim that is mounted.
    pub claim: String,
    /// Uids of earlier clusters whose volumes are accepted.
    pub accepted: Vec<String>,
    /// File names of the configuration files that a ticket may append to.
    pub config_files: Vec<String>,
    /// The marker in the volume.
    pub marker: MarkerFact,
    /// The data in the volume.
    pub data: DataFact,
    /// The ticket.
    pub ticket: TicketFact,
    /// The used-note of this pod.
    pub note: NoteFact,
}

/// What is known of the marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerFact {
    /// Certainly not there.
    Absent,
    /// Read.
    Present(Marker),
    /// Unknown, and why.
    Unreadable(String),
}

/// What is known of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataFact {
    /// Every piece of evidence was found.
    Valid,
    /// Some evidence is certainly not there: empty or half-made.
    NotValid,
    /// Unknown, and why.
    Unreadable(String),
}

/// What is known of the ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketFact {
    /// Certainly not there.
    Absent,
    /// Read; not yet compared with this pod.
    Present(Ticket),
    /// Unknown, and why.
    Invalid(String),
}

/// What is known of the used-note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteFact {
    /// Certainly not there: no ticket was used in this pod.
    Absent,
    /// There, whatever it holds.
    Present,
    /// Unknown, and why.
    Unreadable(String),
}

/// What the guard does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Exec the application.
    Start(Start),
    /// Do not start it, and change nothing.
    Refuse(Refusal),
}

/// Why, and so how, the application is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// There is data of this member.
    DataPresent,
    /// There is data of this member of an earlier cluster, which is accepted. The marker is rewritten.
    Adopted {
        /// Uid of the earlier cluster.
        from: String,
    },
    /// There is no data, and a ticket allows that.
    Ticket(Ticket),
}

/// Decides. Unknown is never taken for yes.
pub fn decide(facts: &Facts) -> Decision {
    match check(facts) {
        Ok(start) => Decision::Start(start),
        Err(refusal) => Decision::Refuse(refusal),
    }
}

/// Whose volume it is, once it is known not to be somebody else's.
enum Owner<'a> {
    Ours,
    Accepted(&'a str),
    Nobody,
}

fn check(facts: &Facts) -> Result<Start, Refusal> {
    let owner = owner(facts)?;
    let member = &facts.member;
    match (&facts.data, owner) {
        (DataFact::Unreadable(why), _) => {
            Err(Refusal::VolumeUnreadable(format!("the data of {member} cannot be read: {why}")))
        }
        (DataFact::Valid, Owner::Ours) => Ok(Start::DataPresent),
        (DataFact::Valid, Owner::Accepted(from)) => Ok(Start::Adopted { from: from.to_owned() }),
        (DataFact::Valid, Owner::Nobody) => Err(Refusal::ForeignVolume(format!(
            "the volume of {member} holds data but no marker: its owner is unknown"
        ))),
        (DataFact::NotValid, Owner::Accepted(from)) => Err(Refusal::DataLost(format!(
            "the volume of {member} was to be adopted from cluster {from}, but holds no valid data"
        ))),
        (DataFact::NotValid, Owner::Ours | Owner::Nobody) => usable_ticket(facts).map(Start::Ticket),
    }
}

fn owner(facts: &Facts) -> Result<Owner<'_>, Refusal> {
    let member = &facts.member;
    let marker = match &facts.marker {
        MarkerFact::Absent => return Ok(Owner::Nobody),
        MarkerFact::Present(marker) => marker,
        MarkerFact::Unreadable(why) => {
            return Err(Refusal::VolumeUnreadable(format!(
                "the marker in the volume of {member} cannot be read: {why}"
            )));
        }
    };
    let same_cluster = marker.cluster_uid == facts.cluster_uid;
    let known_cluster = same_cluster || facts.accepted.contains(&marker.cluster_uid);
    match (known_cluster, marker.member == *member) {
        (true, true) if same_cluster => Ok(Owner::Ours),
        (true, true) => Ok(Owner::Accepted(&marker.cluster_uid)),
        (true, false) => {
            Err(Refusal::ForeignVolume(format!("the volume of {member} belongs to member {}", marker.member)))
        }
        (false, _) => Err(Refusal::ForeignVolume(format!(
            "the volume of {member} belongs to member {} of cluster {old}; to use its data, set the annotation \
             {ADOPT_ANNOTATION}: {old}",
            marker.member,
            old = marker.cluster_uid,
        ))),
    }
}

fn usable_ticket(facts: &Facts) -> Result<Ticket, Refusal> {
    let nothing = format!("the volume of {} holds no valid data and", facts.member);
    let lost = |why: String| Err(Refusal::DataLost(format!("{nothing} {why}")));
    let ticket = match &facts.ticket {
        TicketFact::Absent => return lost("there is no ticket".into()),
        TicketFact::Present(ticket) => ticket,
        TicketFact::Invalid(why) => {
            return Err(Refusal::TicketInvalid(format!("{nothing} the ticket cannot be read: {why}")));
        }
    };
    for (what, theirs, ours) in [
        ("cluster", &ticket.cluster_uid, &facts.cluster_uid),
        ("member", &ticket.member, &facts.member),
        ("claim", &ticket.claim, &facts.claim),
    ] {
        if theirs != ours {
            return lost(format!("the ticket is for {what} {theirs}, not {ours}"));
        }
    }
    match &facts.note {
        NoteFact::Absent => {}
        NoteFact::Present => return lost(format!("its {} ticket was already used in this pod", ticket.kind)),
        NoteFact::Unreadable(why) => {
            return Err(Refusal::SetupFailed(format!(
                "{nothing} it is unknown whether its ticket was used in this pod: {why}"
            )));
        }
    }
    match ticket.append.keys().find(|name| !facts.config_files.contains(name)) {
        Some(name) => Err(Refusal::TicketInvalid(format!(
            "{nothing} the ticket appends to {name}, which is no configuration file of this pod"
        ))),
        None => Ok(ticket.clone()),
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
