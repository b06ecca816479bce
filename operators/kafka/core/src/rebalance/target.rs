//! Which broker gets a replica.

use super::{layout::Layout, load::Load};

/// What a replica that needs a broker may do to racks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It has to go: into the emptiest rack that has a place, and never so that the partition is worse off than it
    /// is or has to be.
    Forced,
    /// It could stay: it goes only where the partition's racks are as even as before.
    Elective,
}

/// By what the best broker is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Preference {
    /// Where it makes the cluster worse least.
    Even,
    /// Where it leaves the least room: for clusters that are so full that evenness would leave large replicas out.
    Tight,
}

/// Why no broker can have it; of several reasons, the last one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    /// All candidates hold a replica of the partition.
    Holds,
    /// None has room.
    Disk,
    /// Those that have room are in the wrong racks.
    Rack,
    /// The caller accepted none.
    Unwanted,
}

/// Part of a replica's cost that is added for each replica of the same topic beyond the average, or beyond the first.
const CROWDING: f64 = 0.1;

/// Where the replica at `position` of a partition can go, and what that costs in the layout's potential.
/// `accepts` is asked last about each broker.
pub(super) fn find(
    layout: &Layout<'_>,
    (row, position): (usize, usize),
    candidates: &[u16],
    (rule, preference): (Rule, Preference),
    accepts: impl Fn(u16, &Load) -> bool,
) -> Result<(u16, f64), Refusal> {
    let list = layout.list(row);
    let racks = &layout.roster.racks;
    let (cost, bytes) = (layout.cost(row, position), layout.bytes(row, position));
    let stays: Vec<u16> = others(list, position).collect();
    let here = racks.count(&stays, racks.of(list[position]));
    let mut slopes = Slopes::new(layout, &cost);
    let mut cap = None;
    let mut best: Option<Best> = None;
    let mut refusal = Refusal::Holds;
    // A broker that had a replica before has its bytes until the plan is carried out: nothing is copied there.
    let holders = layout.snapshot.view(row).targets();
    let free = |broker: &u16| !list.contains(broker) && !holders.contains(broker);
    for broker in candidates.iter().copied().filter(free) {
        if !layout.has_room(broker, bytes) {
            refusal = refusal.max(Refusal::Disk);
            continue;
        }
        let tier = racks.count(&stays, racks.of(broker));
        let allowed = tier <= here
            || (rule == Rule::Forced
                && tier < *cap.get_or_insert_with(|| racks.cap(list.len(), &keeps(layout, &stays))));
        if !allowed {
            refusal = refusal.max(Refusal::Rack);
            continue;
        }
        let tier = if rule == Rule::Forced { tier } else { 0 };
        if best.as_ref().is_some_and(|best| tier > best.tier) {
            continue;
        }
        if !accepts(broker, &cost) {
            refusal = refusal.max(Refusal::Unwanted);
            continue;
        }
        let potential = slopes.potential(broker) * (1.0 + CROWDING * layout.crowding(row, broker));
        let score = match preference {
            Preference::Even => potential,
            Preference::Tight => layout.room_left(broker),
        };
        let this = Best { tier, score, broker, potential };
        if best.as_ref().is_none_or(|best| this.beats(best, |broker| layout.tie(row, broker))) {
            best = Some(this);
        }
    }
    best.map(|best| (best.broker, best.potential)).ok_or(refusal)
}

/// What the cluster gains if the replica is no longer where it is: a negative number.
pub(super) fn relief(layout: &Layout<'_>, broker: u16, cost: &Load) -> f64 {
    let slope = layout.slope(broker, &cost.map(|amount| -amount));
    weigh(layout.heat(broker), &slope)
}

/// What it costs the cluster if a broker gets a load.
pub(super) fn burden(layout: &Layout<'_>, broker: u16, cost: &Load) -> f64 {
    weigh(layout.heat(broker), &layout.slope(broker, cost))
}

/// Whether the cluster is better when a load goes from a broker to another. Both sides can be very large numbers, and a
/// difference that is only their rounding would move things to and fro for ever.
pub(super) fn improves(relief: f64, burden: f64) -> bool {
    relief + burden < -ROUNDING * relief.abs()
}

const ROUNDING: f64 = 1e-6;

fn weigh(heat: &Load, slope: &Load) -> f64 {
    heat.iter().zip(slope).map(|(heat, slope)| heat * slope).sum()
}

/// Replicas that remain wherever they are: on brokers that are not to be emptied.
fn keeps(layout: &Layout<'_>, stays: &[u16]) -> Vec<u16> {
    stays.iter().copied().filter(|broker| !layout.roster.leaving[usize::from(*broker)]).collect()
}

fn others(list: &[u16], position: usize) -> impl Iterator<Item = u16> {
    list.iter().enumerate().filter(move |(other, _)| *other != position).map(|(_, broker)| *broker)
}

struct Best {
    tier: usize,
    score: f64,
    broker: u16,
    potential: f64,
}

impl Best {
    fn beats(&self, other: &Self, tie: impl Fn(u16) -> u64) -> bool {
        let order = self.tier.cmp(&other.tier).then(self.score.total_cmp(&other.score));
        order.then_with(|| tie(self.broker).cmp(&tie(other.broker))).is_lt()
    }
}

/// Slopes of one load. Brokers with the same share have the same, and mostly all have.
struct Slopes<'a> {
    layout: &'a Layout<'a>,
    cost: &'a Load,
    latest: Option<(Load, Load)>,
}

impl<'a> Slopes<'a> {
    fn new(layout: &'a Layout<'a>, cost: &'a Load) -> Self {
        Self { layout, cost, latest: None }
    }

    #[expect(clippy::float_cmp, reason = "the same share, not a similar one")]
    fn potential(&mut self, broker: u16) -> f64 {
        let fair = self.layout.fair(broker);
        let slope = match &self.latest {
            Some((of, slope)) if of == fair => slope,
            _ => &self.latest.insert((*fair, self.layout.slope(broker, self.cost))).1,
        };
        weigh(self.layout.heat(broker), slope)
    }
}
