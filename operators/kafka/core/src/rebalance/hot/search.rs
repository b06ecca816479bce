//! Moves replicas from the worst broker, as long as one is above the limit and something helps.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        layout::Layout,
        leaders,
        load::{Resource, real},
        request::Request,
        target::{self, Preference, Rule, improves, relief},
    },
    swap,
};

/// A broker, and what it has too much of.
type Place = (u16, Resource);

/// Swaps that are looked for. They are rarely needed, and each search looks at many pairs.
const SWAPS: usize = 8;

/// Replicas for which no broker is found, before a place counts as stuck: when the densest all fail, the rest does too.
const TRIES: usize = 256;

pub(super) struct Search<'a, 'b> {
    pub(super) layout: &'b mut Layout<'a>,
    pub(super) frozen: Vec<bool>,
    pub(super) limit: f64,
    /// What nobody may get above the limit.
    pub(super) drivers: Vec<Resource>,
    /// Bytes and replicas that may still be copied.
    pub(super) bytes: u64,
    pub(super) moves: usize,
    /// Partitions with a replica on a broker, those first that bring most for their bytes.
    ranked: BTreeMap<Place, Vec<usize>>,
}

/// A replica that goes somewhere.
struct Step {
    worth: f64,
    row: usize,
    position: usize,
    to: u16,
}

impl<'a, 'b> Search<'a, 'b> {
    pub(super) fn new(layout: &'b mut Layout<'a>, frozen: Vec<bool>, request: &Request) -> Self {
        Self {
            layout,
            frozen,
            limit: request.stop,
            drivers: Vec::new(),
            bytes: request.max_bytes.unwrap_or(u64::MAX),
            moves: request.max_moves.unwrap_or(usize::MAX),
            ranked: BTreeMap::new(),
        }
    }

    /// Goes on until nobody is above the limit of these resources, or nothing helps.
    pub(super) fn run(&mut self, drivers: &[Resource]) {
        self.drivers = drivers.to_vec();
        let mut swaps = SWAPS;
        // What replicas cost has changed, if they lead now.
        self.ranked.clear();
        let mut stuck = BTreeSet::new();
        // What is relieved can take from what was stuck before: that gets a second chance.
        let mut again = true;
        loop {
            let Some((broker, resource)) = self.worst(&stuck) else {
                if stuck.is_empty() || !again {
                    return;
                }
                stuck.clear();
                again = false;
                continue;
            };
            if let Some(step) = self.step(broker, resource) {
                self.take(step.row, step.position, step.to);
            } else if swaps > 0 {
                swaps -= 1;
                if !swap::apply(self, broker, resource) {
                    stuck.insert((broker, resource));
                }
            } else {
                stuck.insert((broker, resource));
            }
        }
    }

    /// Carries out a move.
    pub(super) fn take(&mut self, row: usize, position: usize, to: u16) {
        self.bytes = self.bytes.saturating_sub(self.layout.bytes(row, position));
        self.moves = self.moves.saturating_sub(1);
        self.layout.replace(row, position, to);
    }

    fn worst(&self, stuck: &BTreeSet<Place>) -> Option<Place> {
        let staying = (0_u16..).zip(&self.layout.roster.staying).filter(|(_, staying)| **staying);
        let places =
            staying.flat_map(|(broker, _)| self.drivers.iter().map(move |resource| (broker, *resource)));
        places
            .filter(|place| !stuck.contains(place))
            .map(|place| (self.layout.helpable(place.0, place.1), place))
            .filter(|(ratio, _)| *ratio > self.limit + 1e-9)
            .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))
            .map(|(_, place)| place)
    }

    /// How much of a resource a broker has above the limit.
    pub(super) fn overload(&self, broker: u16, resource: Resource) -> f64 {
        let index = resource.index();
        self.layout.load(broker)[index] - self.limit * self.layout.fair(broker)[index]
    }

    /// The replica that brings most for its bytes, where what is beyond the limit brings nothing.
    fn step(&mut self, broker: u16, resource: Resource) -> Option<Step> {
        if self.moves == 0 {
            return None;
        }
        let mut ranked = match self.ranked.remove(&(broker, resource)) {
            Some(ranked) => ranked,
            None => self.rank(broker, resource),
        };
        ranked.retain(|row| self.layout.list(*row).contains(&broker));
        let overload = self.overload(broker, resource);
        let mut best: Option<Step> = None;
        let mut tries = 0;
        for row in ranked.iter().copied() {
            let Some(position) = self.position(row, broker) else { continue };
            let bytes = self.layout.bytes(row, position);
            let cost = self.layout.cost(row, position);
            let amount = cost[resource.index()];
            let (most, worth) = (worth(amount, bytes), worth(amount.min(overload), bytes));
            if best.as_ref().is_some_and(|best| best.worth >= most) {
                break;
            }
            if best.as_ref().is_some_and(|best| best.worth >= worth) || bytes > self.bytes {
                continue;
            }
            tries += 1;
            if best.is_none() && tries > TRIES {
                break;
            }
            let (layout, limit, drivers) = (&*self.layout, self.limit, &self.drivers);
            let found = target::find(
                layout,
                (row, position),
                &layout.roster.targets,
                (Rule::Elective, Preference::Even),
                |to, cost| !leaders::exceeds(layout, to, cost, limit, drivers),
            );
            if let Ok((to, burden)) = found
                && improves(relief(layout, broker, &cost), burden)
            {
                best = Some(Step { worth, row, position, to });
            }
        }
        self.ranked.insert((broker, resource), ranked);
        best
    }

    /// Where a broker is in a partition's list.
    pub(super) fn position(&self, row: usize, broker: u16) -> Option<usize> {
        self.layout.list(row).iter().position(|replica| *replica == broker)
    }

    fn rank(&self, broker: u16, resource: Resource) -> Vec<usize> {
        let mut ranked: Vec<(f64, u64, usize)> = Vec::new();
        for row in self.movable(broker) {
            let Some(position) = self.position(row, broker) else { continue };
            let amount = self.layout.cost(row, position)[resource.index()];
            if amount > 0.0 {
                let worth = worth(amount, self.layout.bytes(row, position));
                ranked.push((worth, self.layout.tie(row, broker), row));
            }
        }
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        ranked.into_iter().map(|(_, _, row)| row).collect()
    }

    /// Partitions with a replica on a broker that may be moved: not one that has just been put there.
    pub(super) fn movable(&self, broker: u16) -> impl Iterator<Item = usize> + '_ {
        (0..self.frozen.len()).filter(move |row| {
            !self.frozen[*row]
                && self.layout.list(*row).contains(&broker)
                && !self.layout.is_new(*row, broker)
        })
    }
}

/// Amount per byte.
pub(super) fn worth(amount: f64, bytes: u64) -> f64 {
    amount / (real(bytes) + 1.0)
}
