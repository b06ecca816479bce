//! What was seen of Kubernetes and of Kafka, joined by node.
//!
//! The shell asks Kafka and hands the answers over as [`Answers`]; [`observe`] joins them with the objects, purely.
//! A failed request is data: `None`, never an error.

mod node;

use std::collections::{BTreeMap, BTreeSet};

pub use ballast_core::view::{ClaimView, PodView, StatefulSetView, TicketView};
use ballast_core::{
    bootstrap::{self, FoundRecord},
    label,
    object::{Children, by_name},
    view::{claim_view, pod_view, stateful_set_view, ticket_view},
};
pub use node::Node;

use crate::{
    APPLICATION,
    api::{KafkaClusterStatus, RebalanceStatus, kafka_rebalance::Asked},
    build, canary,
    moving::{self, Moving},
    progress::Still,
    rebalance::outcome::Plan,
    relocation::{self, Relocation},
    validate::Desired,
};

/// A broker that the cluster knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Node id.
    pub id: i32,
    /// Whether it is fenced: known, but not in service.
    pub fenced: bool,
    /// Its rack.
    pub rack: Option<String>,
}

/// A controller, or a broker that follows the quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Node id.
    pub id: i32,
    /// Id of its metadata log, Kafka's alphabet; a volume that was formatted anew has another one.
    pub directory: String,
    /// How far it has the metadata log.
    pub end_offset: i64,
    /// When it last had everything, in milliseconds since 1970; -1: never, or not known.
    pub caught_up: i64,
}

/// The quorum of the controllers, as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// Node id of the leader.
    pub leader: i32,
    /// Those who vote.
    pub voters: Vec<Replica>,
    /// Those who follow.
    pub observers: Vec<Replica>,
}

impl Quorum {
    /// The voter with this id.
    pub fn voter(&self, id: i32) -> Option<&Replica> {
        self.voters.iter().find(|voter| voter.id == id)
    }

    /// The leader itself.
    pub fn leader(&self) -> Option<&Replica> {
        self.voter(self.leader)
    }

    /// Whether a replica had everything at most this long before the leader did.
    pub fn caught_up(&self, replica: &Replica, within_milliseconds: i64) -> bool {
        replica.id == self.leader
            || self.leader().is_some_and(|leader| {
                replica.caught_up > 0 && leader.caught_up - replica.caught_up <= within_milliseconds
            })
    }
}

/// The in-sync replicas of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Topic.
    pub topic: String,
    /// Number in the topic.
    pub index: i32,
    /// All its replicas.
    pub replicas: Vec<i32>,
    /// Those that are in sync.
    pub isr: Vec<i32>,
    /// Its leader; `None`: it has none now.
    pub leader: Option<i32>,
    /// `min.insync.replicas` of its topic; `None`: not known.
    pub min_isr: Option<usize>,
}

/// Everything that Kafka said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Cluster id; `None`: not known.
    pub cluster_id: Option<String>,
    /// All brokers that are registered; `None`: not known.
    pub brokers: Option<Vec<Registered>>,
    /// The quorum; `None`: not known.
    pub quorum: Option<Quorum>,
    /// Finalized level of `metadata.version`; `None`: not known.
    pub metadata_level: Option<i16>,
    /// All partitions; `None`: not known.
    pub partitions: Option<Vec<Partition>>,
    /// What is being moved and what is on the disks; `None`: not known, or not asked since nothing has to move.
    pub moving: Option<Moving>,
    /// How long copies are known to stand still.
    pub still: Still,
    /// Bytes per second that producers write to each partition; `None`: not measured, or not long enough yet.
    pub rates: Option<BTreeMap<moving::Name, f64>>,
    /// What became of the canary's last records; `None`: there is no canary, or it has not told for long.
    pub canary: Option<canary::Outcomes>,
    /// What each node said when asked directly for what it is: `Err` holds why it did not answer.
    pub probes: BTreeMap<i32, Result<(), String>>,
}

/// Everything that a plan is made from.
#[derive(Clone, Debug)]
pub struct Observed {
    /// All objects with the cluster's labels.
    pub children: Children,
    /// The bootstrap record; `Err`: it is there but cannot be read.
    pub record: Result<Option<FoundRecord>, String>,
    /// Nodes of this cluster, by id.
    pub nodes: Vec<Node>,
    /// Nodes of which nobody can tell to which pool they belong, or did.
    pub strangers: Vec<String>,
    /// Node ids that Kafka knows and that no pool has.
    pub foreign: Vec<i32>,
    /// Claims of earlier clusters of the same name.
    pub retained: Vec<ClaimView>,
    /// What Kafka said.
    pub answers: Answers,
    /// What the status last said of moving replicas.
    pub rebalance: Option<RebalanceStatus>,
    /// What people ask for, in the order in which they asked.
    pub asked: Vec<Asked>,
    /// What is being moved and why, if anything is; `Err`: what is not known.
    pub relocation: Option<Result<Relocation, String>>,
    /// What would be moved for brokers that have too much traffic, if that is looked for and known.
    pub heat: Option<Plan>,
}

impl Observed {
    /// The node with this id.
    pub fn node(&self, id: i32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Brokers through which the canary's records are to go: those that are wanted and are not being emptied.
    pub fn canary_brokers(&self, desired: &Desired) -> BTreeSet<i32> {
        let emptied = |id: i32| match &self.relocation {
            Some(Ok(relocation)) => relocation.leaving.contains(&id),
            _ => false,
        };
        let brokers = desired.nodes().filter(|node| node.pool.broker).map(|node| node.id);
        brokers.filter(|id| !emptied(*id)).collect()
    }

    /// Whether a majority of the voters has answered and has caught up with the leader; `None`: the quorum is not known.
    pub fn quorum_serves(&self) -> Option<bool> {
        let quorum = self.answers.quorum.as_ref()?;
        let fine = quorum.voters.iter().filter(|voter| quorum.caught_up(voter, CAUGHT_UP)).count();
        Some(fine > quorum.voters.len() / 2)
    }
}

/// A controller follows if it had everything at most so many milliseconds ago: Kafka's `controller.quorum.fetch.timeout.ms`
/// is 2000, twice that is given to slow clocks and disks.
pub const CAUGHT_UP: i64 = 4000;

/// Pods to ask: node id and address.
pub fn addresses(desired: &Desired, children: &Children) -> Vec<(i32, String)> {
    let running = children.pods.iter().map(|pod| pod_view(pod, APPLICATION)).filter(|pod| pod.running);
    running.filter_map(|pod| Some((desired.node(pod.name.strip_suffix("-0")?)?.id, pod.ip?))).collect()
}

/// Joins objects and answers.
pub fn observe(
    desired: &Desired,
    previous: Option<&KafkaClusterStatus>,
    children: Children,
    mut answers: Answers,
) -> Observed {
    let uid = desired.cluster.labels.uid.as_str();
    let (own, retained): (Vec<_>, Vec<_>) =
        children.claims.iter().filter_map(claim_view).partition(|claim| claim.cluster_uid == uid);
    let sets = children.stateful_sets.iter().filter_map(|set| set.metadata.name.clone());
    let pods =
        children.pods.iter().filter_map(|pod| pod.metadata.labels.as_ref()?.get(label::MEMBER).cloned());
    // What a node left behind when it was removed is no sign of it.
    let claims = own.iter().filter(|claim| !claim.retired);
    let seen: BTreeSet<String> = sets.chain(pods).chain(claims.map(|claim| claim.member.clone())).collect();
    let mut names: BTreeMap<i32, String> =
        desired.nodes().map(|node| (node.id, desired.member(node.pool, node.id))).collect();
    let mut strangers = vec![];
    for name in seen {
        match desired.node(&name) {
            Some(node) => {
                names.insert(node.id, name);
            }
            None => strangers.push(name),
        }
    }
    // Before the first broker is made there is none to ask, and none that could be registered.
    let any_broker = names.values().any(|name| {
        desired.node(name).is_some_and(|node| node.pool.broker)
            && by_name(&children.stateful_sets, name).is_some()
    });
    if !any_broker && answers.quorum.is_some() {
        answers.brokers.get_or_insert_default();
    }
    let known = known_ids(&answers);
    for id in &known {
        if let Some(pool) = desired.pool_of(*id) {
            names.entry(*id).or_insert_with(|| desired.member(pool, *id));
        }
    }
    let foreign = known.into_iter().filter(|id| !names.contains_key(id)).collect();
    let nodes: Vec<Node> = names
        .into_iter()
        .filter_map(|(id, name)| node(desired, previous, &children, &own, &answers, id, name))
        .collect();
    let record = bootstrap::find(&children, uid, desired.cluster.name());
    let rebalance = previous.and_then(|status| status.rebalance.clone());
    let asked: Vec<Asked> = children.companions.iter().filter_map(Asked::read).collect();
    let relief = relocation::heat(desired, &answers);
    let heat = relief.as_ref().map(|relief| relief.plan.clone());
    let relocation = relocation::relocation(desired, &nodes, &asked, rebalance.as_ref(), &answers, relief);
    Observed {
        children,
        record,
        nodes,
        strangers,
        foreign,
        retained,
        answers,
        rebalance,
        asked,
        relocation,
        heat,
    }
}

fn known_ids(answers: &Answers) -> BTreeSet<i32> {
    let brokers = answers.brokers.iter().flatten().map(|broker| broker.id);
    let voters = answers.quorum.iter().flat_map(|quorum| &quorum.voters).map(|voter| voter.id);
    brokers.chain(voters).collect()
}

fn node(
    desired: &Desired,
    previous: Option<&KafkaClusterStatus>,
    children: &Children,
    own: &[ClaimView],
    answers: &Answers,
    id: i32,
    name: String,
) -> Option<Node> {
    let pool = desired.node(&name)?.pool;
    let quorum = answers.quorum.as_ref();
    Some(Node {
        id,
        pool: pool.name.clone(),
        controller: pool.controller,
        broker: pool.broker,
        wanted: pool.wants(id),
        stateful_set: by_name(&children.stateful_sets, &name).and_then(stateful_set_view),
        pod: by_name(&children.pods, &format!("{name}-0")).map(|pod| pod_view(pod, APPLICATION)),
        claims: own.iter().filter(|claim| claim.member == name).cloned().collect(),
        ticket: by_name(&children.config_maps, &build::ticket_name(&name)).and_then(ticket_view),
        registered: answers.brokers.iter().flatten().find(|broker| broker.id == id).cloned(),
        voter: quorum.and_then(|quorum| quorum.voter(id)).cloned(),
        // A copy on a disk that is gone stays in the list for minutes: the one that follows is meant.
        observer: quorum
            .and_then(|quorum| {
                let mine = quorum.observers.iter().filter(|observer| observer.id == id);
                mine.max_by_key(|observer| (observer.caught_up, observer.end_offset))
            })
            .cloned(),
        leads: quorum.is_some_and(|quorum| quorum.leader == id),
        probe: answers.probes.get(&id).cloned().unwrap_or_else(|| Err("not asked".to_owned())),
        unhealthy_since: previous
            .and_then(|status| status.nodes.iter().find(|node| node.id == id))
            .and_then(|node| node.unhealthy_since.as_ref()?.parse().ok()),
        name,
    })
}

/// Whether a node has another template than the wanted one, so that it is worth asking what a restart would do.
pub fn wants_restarts(desired: &Desired, children: &Children) -> bool {
    let hashes = build::template_hashes(desired);
    let outdated = |member: &str, hash: &String| {
        let wanted = desired.node(member).and_then(|node| hashes.get(node.pool.name.as_str()));
        wanted.is_some_and(|wanted| wanted != hash)
    };
    let sets = children.stateful_sets.iter().filter_map(stateful_set_view);
    let pods = children.pods.iter().map(|pod| pod_view(pod, APPLICATION));
    sets.into_iter().any(|set| outdated(&set.reference.name, &set.template_hash))
        || pods
            .into_iter()
            .any(|pod| outdated(pod.name.strip_suffix("-0").unwrap_or_default(), &pod.template_hash))
}
