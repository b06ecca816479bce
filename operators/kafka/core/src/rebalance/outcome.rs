//! What a plan says: moves, what runs already, what is blocked and why, and figures to judge it by.

use serde::Serialize;

use super::snapshot::{BrokerId, Topic};

pub use super::load::Resource;

/// Where partitions go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Partitions whose replica list changes, by topic and number.
    pub moves: Vec<Move>,
    /// Whether moves that copy nothing are sent before those that copy.
    pub leaders_first: bool,
    /// Reassignments that run, and what they are to this plan.
    pub in_flight: Vec<InFlight>,
    /// Topics of which nothing is moved, because not enough brokers are left for their replicas.
    pub infeasible: Vec<Infeasible>,
    /// Replicas that should move and cannot; the others of their topic can.
    pub blocked: Vec<Blocked>,
    /// Partitions that are too much for any broker.
    pub unfixable: Vec<Unfixable>,
    /// Brokers that stay above the limit of the request.
    pub unresolved: Vec<Hot>,
    /// Figures.
    pub report: Report,
}

impl Plan {
    /// Whether nothing is left to be wanted: no move, nothing that runs for this plan, nothing blocked.
    pub fn is_done(&self) -> bool {
        let runs = |flight: &InFlight| matches!(flight.role, Role::Serves | Role::Stalled);
        self.moves.is_empty()
            && !self.in_flight.iter().any(runs)
            && self.infeasible.is_empty()
            && self.blocked.is_empty()
    }
}

/// A new replica list for a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// Topic.
    pub topic: Topic,
    /// Number of the partition.
    pub partition: i32,
    /// The list that it has, or will have when the reassignment that runs is done.
    pub from: Box<[BrokerId]>,
    /// The list that it gets. A replica that is replaced keeps its position.
    pub to: Box<[BrokerId]>,
    /// What is copied for it; nothing, if only the order changes.
    pub transfers: Box<[Transfer]>,
    /// A reassignment of this partition runs to where it must not go: this takes its place at once.
    pub supersedes: bool,
}

impl Move {
    /// Bytes that are copied.
    pub fn bytes(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }

    /// Whether another broker becomes the preferred leader.
    pub fn changes_leader(&self) -> bool {
        self.from.first() != self.to.first()
    }
}

/// One replica that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    /// The broker that loses its replica. The bytes come from the partition's leader, not from here.
    pub leaves: BrokerId,
    /// The broker that gets one.
    pub joins: BrokerId,
    /// Size of the replica.
    pub bytes: u64,
}

/// A reassignment that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InFlight {
    /// Topic.
    pub topic: Topic,
    /// Number of the partition.
    pub partition: i32,
    /// Brokers that get a replica.
    pub adding: Box<[BrokerId]>,
    /// Brokers that lose one.
    pub removing: Box<[BrokerId]>,
    /// Bytes that are still to be copied.
    pub bytes: u64,
    /// What it is to this plan.
    pub role: Role,
}

/// What a reassignment that runs is to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Role {
    /// It does what the plan wants: wait for it.
    Serves,
    /// It takes a replica off a broker that leaves, but puts one where none may be: a move of the plan supersedes it.
    Superseded,
    /// It does what a drain wants, and makes no progress: it may be cancelled, and is then planned anew.
    Stalled,
    /// It takes a replica off a broker that is no longer to leave: it may be cancelled.
    Obsolete,
    /// Somebody else's: leave it alone.
    Foreign,
}

/// A topic that cannot be moved at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Infeasible {
    /// Topic.
    pub topic: Topic,
    /// Replicas of a partition.
    pub replicas: usize,
    /// Brokers that may hold a replica after the plan.
    pub eligible: usize,
    /// Partitions that would have too few brokers.
    pub partitions: usize,
    /// For people.
    pub message: String,
}

/// A replica that should move and cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// Topic.
    pub topic: Topic,
    /// Number of the partition.
    pub partition: i32,
    /// Where the replica is.
    pub broker: BrokerId,
    /// Its size.
    pub bytes: u64,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people, and what would change it.
    pub message: String,
}

impl std::fmt::Display for Blocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{} on broker {}: {}", self.topic, self.partition, self.broker, self.message)
    }
}

/// Why a replica cannot move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Reason {
    /// No broker that may hold it has room.
    DiskFull,
    /// Only brokers are left in racks that have more of the partition's replicas than they should.
    RackCrowded,
    /// No complete replica is on a live broker: there is nothing to copy from.
    NoSource,
    /// Somebody else's reassignment of the partition runs.
    ForeignReassignment,
    /// Every broker that may hold it holds one.
    NoBroker,
}

/// A partition that no move helps.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unfixable {
    /// Topic.
    pub topic: Topic,
    /// Number of the partition.
    pub partition: i32,
    /// What it has too much of.
    pub resource: Resource,
    /// Bytes per second.
    pub rate: f64,
    /// Bytes per second that one broker should have of everything together.
    pub share: f64,
    /// Partitions that the topic has.
    pub partitions: usize,
    /// Partitions that it needs for one of them to be no longer hot.
    pub needed: usize,
    /// For people.
    pub message: String,
}

/// A broker above a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hot {
    /// Broker.
    pub broker: BrokerId,
    /// What it has too much of.
    pub resource: Resource,
    /// How much, compared with its fair share.
    pub ratio: f64,
}

/// Figures of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Bytes that the moves copy.
    pub bytes: u64,
    /// Bytes that any plan for this goal has to copy. Drain: all replicas on brokers that leave, also the blocked ones.
    pub lower_bound_bytes: u64,
    /// Part of the lower bound that is blocked or infeasible.
    pub blocked_bytes: u64,
    /// Bytes that reassignments which serve the plan still have to copy.
    pub in_flight_bytes: u64,
    /// Bytes of all replicas.
    pub total_bytes: u64,
    /// Replicas that are copied.
    pub transfers: usize,
    /// Partitions that only get another order.
    pub reorders: usize,
    /// Partitions that get another preferred leader.
    pub leader_changes: usize,
    /// Partitions with more replicas in a rack than they must have: now.
    pub rack_violations_before: usize,
    /// The same, after the plan.
    pub rack_violations_after: usize,
    /// How even brokers that live are now, per resource that is known.
    pub before: Vec<Evenness>,
    /// How even brokers that stay are after the plan.
    pub after: Vec<Evenness>,
}

/// How even a resource is over brokers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evenness {
    /// Which.
    pub resource: Resource,
    /// What a broker has on average: bytes, bytes per second, or a count.
    pub average: f64,
    /// What the busiest broker has.
    pub maximum: f64,
    /// What the busiest broker has, compared with its fair share by capacity.
    pub ratio: f64,
    /// The busiest broker.
    pub broker: BrokerId,
}
