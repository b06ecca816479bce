//! Two replicas that change places: where every broker is too full to take anything without giving something back.

use super::{
    super::{
        layout::Layout,
        load::{self, Load, Resource},
        target::{self, Preference, Rule, burden, improves, relief},
    },
    search::{Search, worth},
};

/// Replicas of the broker that is relieved.
const GIVEN: usize = 64;
/// Brokers that could take one of them.
const TAKERS: usize = 16;
/// Replicas of each that could go back.
const RETURNED: usize = 32;

struct Swap {
    worth: f64,
    given: (usize, usize),
    returned: (usize, usize),
    taker: u16,
}

/// Carries out the swap that brings most for its bytes. Whether there was one.
pub(super) fn apply(search: &mut Search<'_, '_>, broker: u16, resource: Resource) -> bool {
    if search.moves < 2 || !search.layout.roster.is_target[usize::from(broker)] {
        return false;
    }
    let Some(swap) = best(search, broker, resource) else { return false };
    search.take(swap.given.0, swap.given.1, swap.taker);
    search.take(swap.returned.0, swap.returned.1, broker);
    true
}

fn best(search: &Search<'_, '_>, broker: u16, resource: Resource) -> Option<Swap> {
    let layout = &*search.layout;
    let index = resource.index();
    let mut given = held(search, broker);
    given.sort_by(|one, other| other.cost[index].total_cmp(&one.cost[index]));
    given.truncate(GIVEN);
    let mut takers: Vec<u16> =
        layout.roster.targets.iter().copied().filter(|taker| *taker != broker).collect();
    takers.sort_by(|one, other| {
        layout.ratio(*one, resource).total_cmp(&layout.ratio(*other, resource)).then(one.cmp(other))
    });
    takers.truncate(TAKERS);
    let overload = search.overload(broker, resource);
    let mut best: Option<Swap> = None;
    for taker in takers {
        let mut returned = held(search, taker);
        returned.sort_by_key(|held| held.bytes);
        returned.truncate(RETURNED);
        for (given, returned) in given.iter().flat_map(|given| returned.iter().map(move |back| (given, back)))
        {
            let amount = given.cost[index] - returned.cost[index];
            let bytes = given.bytes.saturating_add(returned.bytes);
            let worth = worth(amount.min(overload), bytes);
            if amount <= 0.0
                || bytes > search.bytes
                || given.at.0 == returned.at.0
                || best.as_ref().is_some_and(|best| best.worth >= worth)
                || !helps(search, (broker, given), (taker, returned))
            {
                continue;
            }
            best = Some(Swap { worth, given: given.at, returned: returned.at, taker });
        }
    }
    best
}

/// A replica where it is.
struct Held {
    at: (usize, usize),
    cost: Load,
    bytes: u64,
}

fn held(search: &Search<'_, '_>, broker: u16) -> Vec<Held> {
    let layout = &*search.layout;
    let held = search.movable(broker).filter_map(|row| {
        let position = search.position(row, broker)?;
        Some(Held {
            at: (row, position),
            cost: layout.cost(row, position),
            bytes: layout.bytes(row, position),
        })
    });
    held.collect()
}

/// Whether the cluster is better after a swap, and the taker within the limit.
fn helps(search: &Search<'_, '_>, (broker, given): (u16, &Held), (taker, returned): (u16, &Held)) -> bool {
    let layout = &*search.layout;
    let change = load::minus(given.cost, &returned.cost);
    let within = search.drivers.iter().all(|resource| {
        let index = resource.index();
        let limit = search.limit * layout.fair(taker)[index];
        change[index] <= 0.0 || layout.load(taker)[index] + change[index] <= limit
    });
    within
        && improves(relief(layout, broker, &change), burden(layout, taker, &change))
        && fits(layout, given.at, taker)
        && fits(layout, returned.at, broker)
}

/// Whether racks and disk allow it.
fn fits(layout: &Layout<'_>, at: (usize, usize), to: u16) -> bool {
    target::find(layout, at, &[to], (Rule::Elective, Preference::Even), |_, _| true).is_ok()
}
