//! Why replicas move now: brokers are emptied, or else the cluster is made more even.

use std::collections::BTreeMap;

use crate::{
    api::{
        HotMode, Purpose, RebalanceStatus,
        kafka_rebalance::{Asked, Mode},
    },
    moving,
    observed::{Answers, Node},
    progress::{self, Stuck},
    rebalance::{
        self,
        outcome::{Plan, Role},
        request::{Goal, Request},
        snapshot::Snapshot,
    },
    validate::Desired,
};

/// What is to be moved, and what was seen of it.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Why.
    pub purpose: Purpose,
    /// Brokers that are to be empty, by id: of nodes that leave, and those that people ask to be emptied.
    pub leaving: Vec<i32>,
    /// Brokers that were to be empty until a moment ago, or that get their share.
    pub kept: Vec<i32>,
    /// Where replicas are.
    pub snapshot: Snapshot,
    /// Where they go.
    pub plan: Plan,
    /// Copies that run and do not get on.
    pub stuck: Vec<Stuck>,
    /// How many partitions each broker has, or gets, a replica of, as the brokers tell; none is left out.
    held: BTreeMap<i32, usize>,
}

impl Relocation {
    /// Partitions that have a replica on this broker, or get one.
    pub fn replicas_on(&self, broker: i32) -> usize {
        self.held.get(&broker).copied().unwrap_or(0)
    }

    /// Whether brokers that are to be empty have something yet.
    pub fn has_to_empty(&self) -> bool {
        self.leaving.iter().any(|id| self.replicas_on(*id) > 0)
    }

    /// Reassignments that run for this. Nobody can tell who began one that only makes a cluster more even.
    pub fn in_flight(&self) -> usize {
        self.plan
            .in_flight
            .iter()
            .filter(|flight| self.purpose != Purpose::Drain || is_ours(flight.role))
            .count()
    }

    /// Bytes that are still to be copied; those that are blocked too.
    pub fn bytes_to_go(&self) -> u64 {
        match self.purpose {
            Purpose::Drain => self.plan.report.lower_bound_bytes + self.plan.report.in_flight_bytes,
            Purpose::Full | Purpose::Spread | Purpose::HotPartitions => {
                self.plan.report.bytes + self.plan.in_flight.iter().map(|flight| flight.bytes).sum::<u64>()
            }
        }
    }

    /// Whether nothing is left to be moved.
    pub fn is_done(&self) -> bool {
        self.plan.moves.is_empty() && self.in_flight() == 0
    }
}

fn is_ours(role: Role) -> bool {
    matches!(role, Role::Serves | Role::Superseded | Role::Stalled | Role::Obsolete)
}

/// What people ask for that can be done, in the order in which they asked; `Err`: why it cannot.
pub fn check(desired: &Desired, asked: &Asked) -> Result<(), String> {
    match asked.spec.node_ids.iter().find(|id| !desired.wants_broker(**id)) {
        Some(id) => Err(format!("spec.nodeIds: the cluster has no broker {id}")),
        None => Ok(()),
    }
}

/// Brokers that people ask to be emptied.
fn asked_to_be_empty<'a>(desired: &'a Desired, asked: &'a [Asked]) -> impl Iterator<Item = i32> + 'a {
    let drains = asked.iter().filter(|asked| asked.spec.mode == Mode::Drain && !asked.spec.dry_run);
    drains.filter(|asked| check(desired, asked).is_ok()).flat_map(|asked| asked.spec.node_ids.iter().copied())
}

/// The rebalance for evenness that is done next, or goes on.
pub fn first(asked: &[Asked]) -> Option<&Asked> {
    asked.iter().find(|asked| asked.spec.mode != Mode::Drain && !asked.spec.dry_run && !asked.is_over())
}

/// Whether traffic has to be measured.
pub fn needs_rates(desired: &Desired, asked: &[Asked]) -> bool {
    let waits = |asked: &Asked| asked.spec.mode == Mode::HotPartitions && !asked.is_over();
    desired.hot.mode != HotMode::Disabled || asked.iter().any(waits)
}

/// What would be moved for brokers that have too much traffic, if that is looked for and known.
pub(crate) fn heat(desired: &Desired, answers: &Answers) -> Option<Relocation> {
    let known = desired.hot.mode != HotMode::Disabled && answers.rates.is_some();
    known.then(|| look(desired, Goal::HotPartitions, vec![], vec![], &[], answers).ok()).flatten()
}

/// Whether what people ask for needs a look at where everything is.
pub(crate) fn is_asked(asked: &[Asked]) -> bool {
    asked.iter().any(|asked| !asked.is_over())
}

/// Brokers that are in service and have nothing, while there is something to have.
pub(crate) fn empty_brokers<'a>(
    desired: &'a Desired,
    answers: &'a Answers,
) -> impl Iterator<Item = i32> + 'a {
    let partitions = answers.partitions.as_deref().unwrap_or_default();
    let has = |id: i32| partitions.iter().any(|partition| partition.replicas.contains(&id));
    let serving = answers.brokers.iter().flatten().filter(|broker| !broker.fenced).map(|broker| broker.id);
    let spreads = desired.spread && !partitions.is_empty();
    serving.filter(|id| desired.wants_broker(*id)).filter(move |id| spreads && !has(*id))
}

/// Brokers that are to get their share: new ones, and those to which it was promised.
fn newcomers(desired: &Desired, status: Option<&RebalanceStatus>, answers: &Answers) -> Vec<i32> {
    let Some(moving) = &answers.moving else { return vec![] };
    let promised = status.filter(|status| status.purpose == Purpose::Spread && desired.spread);
    let promised = promised.map(|status| status.brokers.clone()).unwrap_or_default();
    let mut all: Vec<i32> = empty_brokers(desired, answers).chain(promised).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|id| {
        desired.wants_broker(*id) && moving.disks.contains_key(id) && !moving.cordoned.contains(id)
    });
    all
}

/// What follows from what was seen, and what would be moved for brokers that have too much traffic ([`heat`]); `Err` says what is not known,
/// or does not fit together.
pub(crate) fn relocation(
    desired: &Desired,
    nodes: &[Node],
    asked: &[Asked],
    status: Option<&RebalanceStatus>,
    answers: &Answers,
    heat: Option<Relocation>,
) -> Option<Result<Relocation, String>> {
    let leaves = nodes.iter().any(Node::leaves);
    let mut leaving: Vec<i32> =
        nodes.iter().filter(|node| node.leaves() && node.broker).map(|node| node.id).collect();
    leaving.extend(asked_to_be_empty(desired, asked));
    leaving.sort_unstable();
    leaving.dedup();
    let drained = status.filter(|status| status.purpose == Purpose::Drain);
    let mut kept = drained.map(|status| status.brokers.clone()).unwrap_or_default();
    // Nothing has to be taken back of those that are neither cordoned nor being emptied.
    let is_held = |id: &i32| {
        answers.moving.as_ref().is_none_or(|moving| {
            moving.cordoned.contains(id)
                || moving.reassignments.values().any(|flight| flight.removing.contains(id))
        })
    };
    kept.retain(|id| !leaving.contains(id) && is_held(id));
    let avoided: Vec<i32> =
        status.iter().flat_map(|status| &status.avoided).map(|avoided| avoided.broker).collect();
    let looks = |goal| look(desired, goal, leaving.clone(), kept.clone(), &avoided, answers);
    if leaves || !leaving.is_empty() || !kept.is_empty() {
        return Some(looks(Goal::Drain { brokers: leaving.clone() }));
    }
    match first(asked).map(|asked| asked.spec.mode) {
        Some(Mode::HotPartitions) if answers.rates.is_some() => {
            return Some(heat.map_or_else(|| looks(Goal::HotPartitions), Ok));
        }
        Some(Mode::Full) => return Some(looks(Goal::Full)),
        _ => {}
    }
    let onto = newcomers(desired, status, answers);
    if !onto.is_empty() {
        let spread = look(desired, Goal::Spread { onto: onto.clone() }, vec![], onto, &[], answers);
        let begun = status.is_some_and(|status| status.purpose == Purpose::Spread);
        // Where there is too little to share, nothing is told; and nobody waits for what is not known.
        if let Some(spread) = spread.ok().filter(|spread| begun || !spread.plan.moves.is_empty()) {
            return Some(Ok(spread));
        }
    }
    if desired.hot.mode == HotMode::Auto
        && let Some(relief) = heat.filter(|relief| is_relieved(desired, status, relief))
    {
        return Some(Ok(relief));
    }
    (status.is_some() || is_asked(asked)).then(|| looks(Goal::Drain { brokers: vec![] }))
}

/// Whether the relief of hot brokers begins by itself, or goes on.
fn is_relieved(desired: &Desired, status: Option<&RebalanceStatus>, relief: &Relocation) -> bool {
    // What is under way for it is waited for, whatever it would copy.
    let allowed = desired.hot.max_bytes.is_none_or(|most| relief.plan.report.bytes <= most);
    let begun = status.is_some_and(|status| status.purpose == Purpose::HotPartitions);
    begun || (!relief.plan.moves.is_empty() && allowed)
}

fn look(
    desired: &Desired,
    goal: Goal,
    mut leaving: Vec<i32>,
    kept: Vec<i32>,
    avoided: &[i32],
    answers: &Answers,
) -> Result<Relocation, String> {
    let unknown = |what: &str| format!("Kafka does not tell {what}");
    let partitions = answers.partitions.as_ref().ok_or_else(|| unknown("where all partitions are"))?;
    let moving = answers.moving.as_ref();
    let moving = moving.ok_or_else(|| unknown("what is being moved, or what is on its disks"))?;
    // Traffic changes all the time: what does not ask for it is not planned anew for that.
    let rates = answers.rates.as_ref().filter(|_| goal == Goal::HotPartitions);
    let snapshot = moving::snapshot(&leaving, answers, partitions, moving, rates)?;
    leaving.retain(|id| snapshot.brokers().iter().any(|broker| broker.id == *id));
    let purpose = match &goal {
        Goal::Drain { .. } => Purpose::Drain,
        Goal::Spread { .. } => Purpose::Spread,
        Goal::HotPartitions => Purpose::HotPartitions,
        Goal::Full => Purpose::Full,
    };
    let goal = match goal {
        Goal::Drain { .. } => Goal::Drain { brokers: leaving.clone() },
        other => other,
    };
    let drained = if purpose == Purpose::Drain { kept.clone() } else { vec![] };
    let mut request = Request { kept: drained, ..request(desired, goal) };
    if purpose == Purpose::Drain {
        request.avoid = avoided.to_vec();
        request.stalled = progress::given_up(avoided, answers);
    }
    let plan = rebalance::plan(&snapshot, &request).map_err(|error| error.to_string())?;
    let mut held: BTreeMap<i32, usize> = BTreeMap::new();
    let replicas = partitions.iter().flat_map(|partition| &partition.replicas);
    let adding = moving.reassignments.values().flat_map(|flight| &flight.adding);
    for broker in replicas.chain(adding) {
        *held.entry(*broker).or_default() += 1;
    }
    // What a broker has on its disks is there, whatever others tell.
    for (broker, disks) in &moving.disks {
        let there = held.entry(*broker).or_default();
        *there = disks.replicas.len().max(*there);
    }
    let stuck = progress::stuck(purpose, &plan, answers);
    Ok(Relocation { purpose, leaving, kept, snapshot, plan, stuck, held })
}

/// Of a broker's fair share: who has such a partition is above any threshold.
const NO_PARTITION: f64 = 100.0;

fn request(desired: &Desired, goal: Goal) -> Request {
    let usual = Request::new(goal);
    match usual.goal {
        // It begins as soon as anything can be better, so that it goes on after each move as it began.
        Goal::Full => Request { trigger: usual.stop, ..usual },
        // It ends below what is hot: rates are never twice the same, and going on would move things to and fro.
        // What is too hot is what the specification says, and no partition that is large where there are few.
        Goal::HotPartitions => {
            Request { trigger: desired.hot.threshold, partition_trigger: NO_PARTITION, ..usual }
        }
        Goal::Drain { .. } | Goal::Spread { .. } => usual,
    }
}

/// What somebody asks for, planned on its own.
pub fn plan(desired: &Desired, relocation: &Relocation, asked: &Asked) -> Result<Plan, String> {
    let goal = match asked.spec.mode {
        Mode::Full => Goal::Full,
        Mode::HotPartitions => Goal::HotPartitions,
        Mode::Drain => Goal::Drain { brokers: asked.spec.node_ids.clone() },
    };
    rebalance::plan(&relocation.snapshot, &request(desired, goal)).map_err(|error| error.to_string())
}
