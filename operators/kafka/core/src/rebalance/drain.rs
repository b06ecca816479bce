//! Empties brokers. What has to move is fixed, each replica once; only where it goes is a choice. So the bytes are the
//! least that there can be, and a greedy choice, the largest replica first, makes the result even.

use std::collections::BTreeMap;

use super::{
    emit::Found,
    flights::{self, Flights},
    layout::Layout,
    leaders,
    outcome::{Blocked, Infeasible, Reason, Role},
    request::Request,
    target::{self, Preference, Refusal, Rule},
};

/// A replica that has to go.
#[derive(Clone, Copy)]
struct Forced {
    row: usize,
    broker: u16,
    bytes: u64,
}

pub(super) fn plan(layout: &mut Layout<'_>, flights: &Flights, request: &Request) -> Found {
    let snapshot = layout.snapshot;
    let mut found = Found::default();
    let mut frozen = flights.frozen(snapshot.len());
    let forced = forced(layout, flights, &mut found);
    let infeasible = infeasible(layout, &forced);
    let mut movable = Vec::with_capacity(forced.len());
    for replica in forced {
        found.lower_bound_bytes += replica.bytes;
        if infeasible.contains_key(&snapshot.view(replica.row).topic_index()) {
            found.blocked_bytes += replica.bytes;
        } else if snapshot.view(replica.row).source().is_none() {
            found.blocked_bytes += replica.bytes;
            found.blocked.push(blocked(layout, replica, Reason::NoSource, request));
        } else {
            movable.push(replica);
        }
    }
    for (row, view) in snapshot.views().enumerate() {
        frozen[row] |= infeasible.contains_key(&view.topic_index());
    }
    found.infeasible = infeasible.into_values().collect();
    // The largest first; equals by name, so that the order of a file does not matter.
    let tie = |replica: &Forced| layout.tie(replica.row, replica.broker);
    movable.sort_by_cached_key(|replica| (std::cmp::Reverse(replica.bytes), tie(replica)));
    place_all(layout, &movable, request, &mut found);
    leaders::even(layout, &frozen, request.leaders_above, &leaders::DRIVERS);
    found
}

/// Everything on brokers that leave, except what somebody else is moving.
fn forced(layout: &Layout<'_>, flights: &Flights, found: &mut Found) -> Vec<Forced> {
    let roster = layout.roster;
    let mut forced = Vec::new();
    for (row, view) in layout.snapshot.views().enumerate() {
        let role = flights.role(row);
        for (position, broker) in view.targets().iter().copied().enumerate() {
            let leaves = roster.leaving[usize::from(broker)];
            let lost = role == Some(Role::Superseded)
                && view.is_adding(position)
                && !flights::may_finish(roster, broker);
            if !leaves && !lost {
                continue;
            }
            let replica = Forced { row, broker, bytes: view.size(position) };
            match role {
                // It is to be cancelled first; what then remains is planned after that.
                Some(Role::Obsolete | Role::Stalled) => {}
                Some(Role::Foreign) => {
                    found.lower_bound_bytes += replica.bytes;
                    found.blocked_bytes += replica.bytes;
                    found.blocked.push(Blocked {
                        message: format!(
                            "another reassignment of this partition runs and leaves a replica on broker {}: wait until \
                             it is done, or cancel it",
                            layout.id(broker)
                        ),
                        ..describe(layout, replica, Reason::ForeignReassignment)
                    });
                }
                _ => forced.push(replica),
            }
        }
    }
    forced
}

/// Topics with a partition that has more replicas to move than brokers that could take one, by index.
fn infeasible(layout: &Layout<'_>, forced: &[Forced]) -> BTreeMap<usize, Infeasible> {
    let roster = layout.roster;
    let eligible = roster.targets.len() + roster.last_resort.len();
    let mut topics: BTreeMap<usize, Infeasible> = BTreeMap::new();
    // Replicas of a partition follow one another.
    for replicas in forced.chunk_by(|one, other| one.row == other.row) {
        let row = replicas[0].row;
        let list = layout.list(row);
        let may_hold =
            |broker: &&u16| roster.is_target[usize::from(**broker)] || roster.last_resort.contains(*broker);
        let taken = list.iter().filter(may_hold).count();
        if replicas.len() <= eligible - taken {
            continue;
        }
        let view = layout.snapshot.view(row);
        let topic = topics.entry(view.topic_index()).or_insert_with(|| Infeasible {
            topic: view.topic().clone(),
            replicas: list.len(),
            eligible,
            partitions: 0,
            message: String::new(),
        });
        topic.partitions += 1;
        topic.replicas = topic.replicas.max(list.len());
    }
    for topic in topics.values_mut() {
        let Infeasible { topic: name, replicas, partitions, message, .. } = topic;
        *message = format!(
            "{name} has {replicas} replicas, and {eligible} brokers are left that may take one ({partitions} partitions \
             have nowhere to go): keep or add brokers, or give the topic fewer replicas"
        );
    }
    topics
}

/// Places everything. If some replicas find no room, everything is placed again so that room is used tightly, and
/// the way that leaves fewer bytes out is taken.
fn place_all(layout: &mut Layout<'_>, movable: &[Forced], request: &Request, found: &mut Found) {
    let mut refused = place(layout, movable, Preference::Even);
    if refused.iter().any(|(_, refusal)| *refusal == Refusal::Disk) {
        let mut tight = Layout::new(layout.snapshot, layout.roster, layout.style);
        let fewer = place(&mut tight, movable, Preference::Tight);
        let bytes =
            |refused: &[(Forced, Refusal)]| refused.iter().map(|(replica, _)| replica.bytes).sum::<u64>();
        if bytes(&fewer) < bytes(&refused) {
            *layout = tight;
            refused = fewer;
        }
    }
    for (replica, refusal) in refused {
        let reason = match refusal {
            Refusal::Disk => Reason::DiskFull,
            Refusal::Rack => Reason::RackCrowded,
            Refusal::Holds | Refusal::Unwanted => Reason::NoBroker,
        };
        found.blocked_bytes += replica.bytes;
        found.blocked.push(blocked(layout, replica, reason, request));
    }
}

fn place(layout: &mut Layout<'_>, movable: &[Forced], preference: Preference) -> Vec<(Forced, Refusal)> {
    let roster = layout.roster;
    let mut refused = Vec::new();
    for replica in movable {
        let list = layout.list(replica.row);
        let Some(position) = list.iter().position(|broker| *broker == replica.broker) else { continue };
        let at = (replica.row, position);
        let find =
            |targets: &[u16]| target::find(layout, at, targets, (Rule::Forced, preference), |_, _| true);
        let found = find(&roster.targets)
            .or_else(|refusal| find(&roster.last_resort).map_err(|last| last.max(refusal)));
        match found {
            Ok((broker, _)) => layout.replace(replica.row, position, broker),
            Err(refusal) => refused.push((*replica, refusal)),
        }
    }
    refused
}

fn describe(layout: &Layout<'_>, replica: Forced, reason: Reason) -> Blocked {
    let view = layout.snapshot.view(replica.row);
    Blocked {
        topic: view.topic().clone(),
        partition: view.number(),
        broker: layout.id(replica.broker),
        bytes: replica.bytes,
        reason,
        message: String::new(),
    }
}

fn blocked(layout: &Layout<'_>, replica: Forced, reason: Reason, request: &Request) -> Blocked {
    let bytes = replica.bytes;
    let message = match reason {
        Reason::DiskFull => format!(
            "no broker that may hold it has room for its {bytes} bytes below {:.0} % of its disk: add brokers, grow \
             their disks, or shorten the retention of large topics",
            request.disk_high_water * 100.0
        ),
        Reason::RackCrowded => {
            "brokers with room are only in racks that have enough of its replicas: add a broker, \
                                or room, in another rack"
                .to_owned()
        }
        Reason::NoSource => {
            "no complete replica is on a broker that answers, so there is nothing to copy from: \
                             bring one of its brokers back, or delete the topic"
                .to_owned()
        }
        Reason::NoBroker | Reason::ForeignReassignment => {
            "every broker that may hold it already does: add a broker, or give the topic fewer replicas"
                .to_owned()
        }
    };
    Blocked { message, ..describe(layout, replica, reason) }
}
