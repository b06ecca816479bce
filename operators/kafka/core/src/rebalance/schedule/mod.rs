//! Which moves of a plan are sent next. Called with every look at the cluster: as soon as one copy is done the next
//! begins, so that nothing waits for the slowest.

mod throttle;

use super::{
    outcome::{Move, Plan},
    snapshot::Snapshot,
};

pub use throttle::{ThrottledTopic, least_rate, shortest_time, throttled};

/// How much runs at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Copies that one broker sends.
    pub per_source: usize,
    /// Copies that one broker receives.
    pub per_target: usize,
    /// Copies in the whole cluster.
    pub cluster: usize,
    /// Partitions of one request. A request becomes one set of records of `KRaft`, which has at most 10,000.
    pub per_request: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_source: 5, per_target: 5, cluster: 200, per_request: 500 }
    }
}

/// What is sent next, and what waits. Numbers count in [`Plan::moves`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Moves for the next request, in the order in which they should begin.
    pub moves: Vec<usize>,
    /// Moves that wait until brokers are less busy.
    pub busy: usize,
    /// Moves of partitions whose replicas have to catch up first.
    pub behind: usize,
    /// Moves of partitions with a reassignment that has to end first.
    pub in_flight: usize,
    /// Moves of order only, which wait until nothing is copied any more.
    pub orders: usize,
    /// Moves of partitions that are not there, or have nothing to copy from.
    pub gone: usize,
}

/// A copy that could begin.
struct Candidate {
    /// Replicas that would have to be lost for data to be lost.
    redundancy: usize,
    bytes: u64,
    index: usize,
    source: u16,
    targets: Vec<u16>,
}

/// The next batch for a plan that was made of this snapshot.
///
/// Partitions with the fewest replicas in sync come first, since their data is most at risk while it waits; of those
/// the largest, since a long copy that begins last is waited for alone. Reassignments that run count, whoever
/// began them.
pub fn next(snapshot: &Snapshot, plan: &Plan, limits: &Limits) -> Batch {
    let mut batch = Batch::default();
    let mut traffic = Traffic::of(snapshot);
    let mut candidates = Vec::new();
    let mut orders = Vec::new();
    for (index, it) in plan.moves.iter().enumerate() {
        let Some(row) = snapshot.find(&it.topic, it.partition) else {
            batch.gone += 1;
            continue;
        };
        if snapshot.view(row).in_flight() && !it.supersedes {
            batch.in_flight += 1;
        } else if it.transfers.is_empty() {
            orders.push(index);
        } else if is_behind(snapshot, row, it) {
            batch.behind += 1;
        } else if let Some(candidate) = candidate(snapshot, row, it, index) {
            candidates.push(candidate);
        } else {
            batch.gone += 1;
        }
    }
    if plan.leaders_first {
        take_orders(&mut batch, &orders, limits);
    }
    candidates.sort_by_key(|it| (it.redundancy, std::cmp::Reverse(it.bytes), it.index));
    for candidate in &candidates {
        if batch.moves.len() < limits.per_request && traffic.admit(candidate, limits) {
            batch.moves.push(candidate.index);
        } else {
            batch.busy += 1;
        }
    }
    if !plan.leaders_first {
        if candidates.is_empty() && traffic.copies == 0 && batch.behind == 0 {
            take_orders(&mut batch, &orders, limits);
        } else {
            batch.orders = orders.len();
        }
    }
    batch
}

fn take_orders(batch: &mut Batch, orders: &[usize], limits: &Limits) {
    let taken = orders.len().min(limits.per_request.saturating_sub(batch.moves.len()));
    batch.moves.extend(&orders[..taken]);
    batch.orders = orders.len() - taken;
}

fn candidate(snapshot: &Snapshot, row: usize, it: &Move, index: usize) -> Option<Candidate> {
    let view = snapshot.view(row);
    let targets = it.transfers.iter().map(|transfer| snapshot.index(transfer.joins));
    Some(Candidate {
        redundancy: view.synced(),
        bytes: it.bytes(),
        index,
        source: view.source()?,
        targets: targets.collect::<Option<_>>()?,
    })
}

/// Whether a replica that stays is behind on a broker that answers: it is being copied to already, and its leader has
/// enough to send. What is behind on a broker that the move leaves, or that is dead, does not get better by waiting.
fn is_behind(snapshot: &Snapshot, row: usize, it: &Move) -> bool {
    let view = snapshot.view(row);
    view.targets().iter().enumerate().any(|(position, broker)| {
        let broker = &snapshot.brokers()[usize::from(*broker)];
        !view.in_sync(position) && !view.is_adding(position) && !broker.dead && it.to.contains(&broker.id)
    })
}

/// Copies that run, by index of the broker.
struct Traffic {
    sent: Vec<usize>,
    received: Vec<usize>,
    copies: usize,
}

impl Traffic {
    fn of(snapshot: &Snapshot) -> Self {
        let none = vec![0; snapshot.brokers().len()];
        let mut traffic = Self { sent: none.clone(), received: none, copies: 0 };
        for view in snapshot.views().filter(|view| view.in_flight()) {
            for target in view.adding() {
                traffic.received[usize::from(target)] += 1;
                traffic.copies += 1;
                if let Some(source) = view.source() {
                    traffic.sent[usize::from(source)] += 1;
                }
            }
        }
        traffic
    }

    /// Counts a copy, if it is within the limits. A move of more replicas than a limit allows begins when its
    /// brokers are idle.
    fn admit(&mut self, candidate: &Candidate, limits: &Limits) -> bool {
        let count = candidate.targets.len();
        let fits = |running: usize, limit: usize, more: usize| {
            running + more <= limit || (running == 0 && limit > 0)
        };
        let admitted = fits(self.copies, limits.cluster, count)
            && fits(self.sent[usize::from(candidate.source)], limits.per_source, count)
            && candidate
                .targets
                .iter()
                .all(|target| fits(self.received[usize::from(*target)], limits.per_target, 1));
        if admitted {
            self.copies += count;
            self.sent[usize::from(candidate.source)] += count;
            for target in &candidate.targets {
                self.received[usize::from(*target)] += 1;
            }
        }
        admitted
    }
}
