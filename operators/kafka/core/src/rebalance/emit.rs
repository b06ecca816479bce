//! Turns a layout into a plan.

use super::{
    flights::Flights,
    layout::Layout,
    load::Resource,
    outcome::{Blocked, Evenness, Hot, Infeasible, Move, Plan, Report, Role, Transfer, Unfixable},
    report,
};

/// What a way to improve a cluster found out, besides the layout.
#[derive(Default)]
pub(super) struct Found {
    pub(super) leaders_first: bool,
    pub(super) infeasible: Vec<Infeasible>,
    pub(super) blocked: Vec<Blocked>,
    pub(super) unfixable: Vec<Unfixable>,
    pub(super) unresolved: Vec<Hot>,
    pub(super) lower_bound_bytes: u64,
    pub(super) blocked_bytes: u64,
}

pub(super) fn plan(
    layout: &mut Layout<'_>,
    flights: &Flights,
    found: Found,
    before: (Vec<Evenness>, usize),
) -> Plan {
    let snapshot = layout.snapshot;
    let in_flight = flights.describe(snapshot);
    let moves = moves(layout, flights);
    let (after, rack_violations_after) = report::measure(layout, &layout.roster.staying);
    let sum = |bytes: fn(&Move) -> u64| moves.iter().map(bytes).sum();
    let count = |test: fn(&&Move) -> bool| moves.iter().filter(test).count();
    let report = Report {
        bytes: sum(Move::bytes),
        lower_bound_bytes: found.lower_bound_bytes,
        blocked_bytes: found.blocked_bytes,
        in_flight_bytes: in_flight
            .iter()
            .filter(|flight| matches!(flight.role, Role::Serves | Role::Stalled))
            .map(|flight| flight.bytes)
            .sum(),
        total_bytes: snapshot
            .views()
            .map(|view| (0..view.factor()).map(|position| view.size(position)).sum::<u64>())
            .sum(),
        transfers: moves.iter().map(|it| it.transfers.len()).sum(),
        reorders: count(|it| it.transfers.is_empty()),
        leader_changes: count(|it| it.changes_leader()),
        rack_violations_before: before.1,
        rack_violations_after,
        before: before.0,
        after,
    };
    let Found { leaders_first, infeasible, mut blocked, unfixable, unresolved, .. } = found;
    blocked.sort_by(|one, other| {
        (&one.topic, one.partition, one.broker).cmp(&(&other.topic, other.partition, other.broker))
    });
    Plan { moves, leaders_first, in_flight, infeasible, blocked, unfixable, unresolved, report }
}

/// Every partition whose list is another one now, by topic and number.
fn moves(layout: &mut Layout<'_>, flights: &Flights) -> Vec<Move> {
    layout.copied.sort_by_key(|copied| copied.row);
    let snapshot = layout.snapshot;
    let mut copied = layout.copied.chunk_by(|one, other| one.row == other.row).peekable();
    let mut moves = Vec::new();
    for (row, view) in snapshot.views().enumerate() {
        let transfers = copied.next_if(|copied| copied[0].row == row).unwrap_or_default();
        if layout.list(row) == view.targets() {
            continue;
        }
        moves.push(Move {
            topic: view.topic().clone(),
            partition: view.number(),
            from: snapshot.ids(view.targets()),
            to: snapshot.ids(layout.list(row)),
            transfers: transfers
                .iter()
                .map(|copied| Transfer {
                    leaves: layout.id(copied.leaves),
                    joins: layout.id(copied.joins),
                    bytes: copied.bytes,
                })
                .collect(),
            supersedes: flights.role(row) == Some(Role::Superseded),
        });
    }
    moves.shrink_to_fit();
    moves
}

/// Staying brokers above a limit, the worst resource of each, the worst broker first.
pub(super) fn above(layout: &Layout<'_>, limit: f64, resources: &[Resource]) -> Vec<Hot> {
    let staying = (0..).zip(&layout.roster.staying).filter(|(_, staying)| **staying);
    let mut hot: Vec<Hot> = staying
        .filter_map(|(broker, _)| {
            let ratios = resources.iter().map(|resource| (layout.ratio(broker, *resource), *resource));
            let (ratio, resource) = ratios.max_by(|one, other| one.0.total_cmp(&other.0))?;
            (ratio > limit + 1e-9).then(|| Hot { broker: layout.id(broker), resource, ratio })
        })
        .collect();
    hot.sort_by(|one, other| other.ratio.total_cmp(&one.ratio).then(one.broker.cmp(&other.broker)));
    hot
}
