//! What the guard sees of a disk, decides, and leaves behind, without files: the same for the simulated world and for
//! a testbed with a real API server.

use ballast_core::guard::{
    ConfigCopy, Decision, Facts, Invocation, Marker, Refusal, RunArgs, Start, Ticket,
    decide::{DataFact, MarkerFact, NoteFact, TicketFact, decide},
};
use k8s_openapi::api::core::v1::Container;

use crate::world::Disk;

/// The guard's arguments in a container's command.
///
/// # Errors
/// What the guard answers when its command line is wrong, or does not run anything.
pub fn arguments(container: &Container) -> Result<RunArgs, Refusal> {
    let command = container.command.clone().unwrap_or_default();
    match Invocation::parse(command.get(1..).unwrap_or_default())? {
        Invocation::Run(run) => Ok(*run),
        Invocation::Install(_) | Invocation::Help => {
            Err(Refusal::Usage("the command does not run anything".to_owned()))
        }
    }
}

/// Whether the application may start on this disk, with this ticket (the file's text) and used-note.
///
/// # Errors
/// The guard's refusal.
pub fn judge(run: &RunArgs, disk: Option<&Disk>, ticket: Option<&str>, note: bool) -> Result<Start, Refusal> {
    let facts = Facts {
        cluster_uid: run.cluster_uid.clone(),
        member: run.member.clone(),
        claim: run.claim.clone(),
        accepted: run.accept_cluster_uids.clone(),
        config_files: run.configs.iter().map(ConfigCopy::name).collect(),
        marker: disk.and_then(|disk| disk.marker.clone()).map_or(MarkerFact::Absent, MarkerFact::Present),
        data: if disk.is_some_and(|disk| disk.data) { DataFact::Valid } else { DataFact::NotValid },
        ticket: ticket.map_or(TicketFact::Absent, |text| {
            serde_json::from_str::<Ticket>(text)
                .map_or_else(|error| TicketFact::Invalid(error.to_string()), TicketFact::Present)
        }),
        note: if note { NoteFact::Present } else { NoteFact::Absent },
    };
    match decide(&facts) {
        Decision::Start(how) => Ok(how),
        Decision::Refuse(refusal) => Err(refusal),
    }
}

/// Leaves on the disk what a start leaves there. Whether the ticket is used in this pod from now on.
pub fn prepare(how: &Start, run: &RunArgs, disk: &mut Disk) -> bool {
    let adopted_from = match how {
        Start::DataPresent => return false,
        Start::Adopted { from } => Some(from.clone()),
        Start::Ticket(_) => None,
    };
    disk.marker = Some(Marker {
        cluster_uid: run.cluster_uid.clone(),
        member: run.member.clone(),
        claim: run.claim.clone(),
        adopted_from,
    });
    let by_ticket = matches!(how, Start::Ticket(_));
    if by_ticket {
        disk.data = false;
    }
    by_ticket
}
