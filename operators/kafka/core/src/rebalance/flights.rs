//! Reassignments that run: whose they are, and what becomes of them.

use std::collections::BTreeMap;

use super::{
    outcome::{InFlight, Role},
    request::{Goal, Request},
    roster::Roster,
    snapshot::{Snapshot, View},
};

/// Kafka does not say who asked for a reassignment, but it says what it does: what takes a replica off a broker that
/// is to be emptied is as good as ours.
pub(super) struct Flights {
    roles: BTreeMap<usize, Role>,
}

impl Flights {
    pub(super) fn classify(snapshot: &Snapshot, roster: &Roster, request: &Request) -> Self {
        let flying = snapshot.views().enumerate().filter(|(_, view)| view.in_flight());
        Self { roles: flying.map(|(row, view)| (row, role(snapshot, view, roster, request))).collect() }
    }

    /// What the reassignment of this partition is, if one runs.
    pub(super) fn role(&self, row: usize) -> Option<Role> {
        self.roles.get(&row).copied()
    }

    pub(super) fn describe(&self, snapshot: &Snapshot) -> Vec<InFlight> {
        let describe = |(row, role): (&usize, &Role)| {
            let view = snapshot.view(*row);
            InFlight {
                topic: view.topic().clone(),
                partition: view.number(),
                adding: view.adding().map(|broker| snapshot.id(broker)).collect(),
                removing: snapshot.ids(view.removing()),
                bytes: view.to_copy(),
                role: *role,
            }
        };
        self.roles.iter().map(describe).collect()
    }

    /// A mark for each partition that is not touched for evenness alone.
    pub(super) fn frozen(&self, partitions: usize) -> Vec<bool> {
        let mut frozen = vec![false; partitions];
        for row in self.roles.keys() {
            frozen[*row] = true;
        }
        frozen
    }
}

fn role(snapshot: &Snapshot, view: View<'_>, roster: &Roster, request: &Request) -> Role {
    let removes = |marks: &[bool]| view.removing().iter().any(|broker| marks[usize::from(*broker)]);
    let serves = match &request.goal {
        Goal::Drain { .. } => removes(&roster.leaving),
        Goal::Spread { onto } => view.adding().any(|broker| onto.contains(&snapshot.id(broker))),
        // A limit says nothing of where a replica should go.
        Goal::HotPartitions | Goal::Full => false,
    };
    if serves && view.adding().any(|broker| !may_finish(roster, broker)) {
        Role::Superseded
    } else if serves && is_stalled(view, request) {
        Role::Stalled
    } else if serves {
        Role::Serves
    } else if removes(&roster.kept) {
        Role::Obsolete
    } else {
        Role::Foreign
    }
}

/// Others may have begun what makes a cluster more even.
fn is_stalled(view: View<'_>, request: &Request) -> bool {
    matches!(request.goal, Goal::Drain { .. })
        && !request.stalled.is_empty()
        && request.stalled.contains(&(view.topic().to_string(), view.number()))
}

/// Whether a replica that is being copied to a broker may arrive. A cordoned broker keeps what it was promised.
pub(super) fn may_finish(roster: &Roster, broker: u16) -> bool {
    let broker = usize::from(broker);
    roster.alive[broker] && !roster.leaving[broker]
}
