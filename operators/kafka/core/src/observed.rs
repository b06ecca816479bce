//! What was seen of Kubernetes and of Kafka, joined by node.
//!
//! The shell asks Kafka and hands the answers over as [`Answers`]; [`observe`] joins them with the objects, purely.
//! A failed request is data: `None`, never an error.

use std::collections::{BTreeMap, BTreeSet};

pub use ballast_core::view::{ClaimView, PodView, StatefulSetView, TicketView};
use ballast_core::{
    bootstrap::{self, FoundRecord},
    label,
    object::{Children, by_name},
    view::{claim_view, pod_view, stateful_set_view, ticket_view},
};
use jiff::Timestamp;

use crate::{APPLICATION, api::KafkaClusterStatus, build, validate::Desired};

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// What each node said when asked directly for what it is: `Err` holds why it did not answer.
    pub probes: BTreeMap<i32, Result<(), String>>,
}

/// Everything about one node.
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Node id.
    pub id: i32,
    /// Name, also of its StatefulSet.
    pub name: String,
    /// Name of its pool.
    pub pool: String,
    /// Whether it is a controller.
    pub controller: bool,
    /// Whether it is a broker.
    pub broker: bool,
    /// Whether the specification wants it.
    pub wanted: bool,
    /// Its StatefulSet.
    pub stateful_set: Option<StatefulSetView>,
    /// Its pod.
    pub pod: Option<PodView>,
    /// All claims made for it, of this cluster.
    pub claims: Vec<ClaimView>,
    /// Its ticket.
    pub ticket: Option<TicketView>,
    /// Its registration as a broker.
    pub registered: Option<Registered>,
    /// Whether it votes in the quorum.
    pub voter: Option<Replica>,
    /// Whether it follows the quorum.
    pub observer: Option<Replica>,
    /// Whether it leads the quorum.
    pub leads: bool,
    /// What it said when asked directly.
    pub probe: Result<(), String>,
    /// Since when it has not served.
    pub unhealthy_since: Option<Timestamp>,
}

impl Node {
    /// Whether Kafka knows that it runs with its data: a broker in service, a controller that follows or votes.
    pub fn started(&self) -> bool {
        let broker = !self.broker || self.registered.as_ref().is_some_and(|broker| !broker.fenced);
        let controller = !self.controller || self.voter.is_some() || self.observer.is_some();
        self.probe.is_ok() && broker && controller
    }

    /// Whether it does all that it is for.
    pub fn serves(&self) -> bool {
        self.started() && (!self.controller || self.voter.is_some())
    }

    /// The claim that its StatefulSet uses.
    pub fn claim(&self) -> Option<&ClaimView> {
        let name = self.stateful_set.as_ref()?.claim.as_deref()?;
        self.claims.iter().find(|claim| claim.reference.name == name)
    }

    /// Zone of its data.
    pub fn zone(&self) -> Option<&str> {
        self.claim().or_else(|| self.claims.iter().find(|claim| !claim.deleting))?.zone.as_deref()
    }

    /// Whether nothing of it is left but claims.
    pub fn gone(&self) -> bool {
        self.stateful_set.is_none()
            && self.pod.is_none()
            && self.registered.is_none()
            && self.voter.is_none()
            && self.ticket.is_none()
    }
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
    /// StatefulSets and pods of pools that the specification does not have.
    pub strangers: Vec<String>,
    /// Node ids that Kafka knows and that no pool has.
    pub foreign: Vec<i32>,
    /// Claims of earlier clusters of the same name.
    pub retained: Vec<ClaimView>,
    /// What Kafka said.
    pub answers: Answers,
}

impl Observed {
    /// The node with this id.
    pub fn node(&self, id: i32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
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
    let seen: BTreeSet<String> =
        sets.chain(pods).chain(own.iter().map(|claim| claim.member.clone())).collect();
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
    let nodes = names
        .into_iter()
        .filter_map(|(id, name)| node(desired, previous, &children, &own, &answers, id, name))
        .collect();
    let record = bootstrap::find(&children, uid, desired.cluster.name());
    Observed { children, record, nodes, strangers, foreign, retained, answers }
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
        wanted: pool.wanted().contains(&id),
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
        desired.node(member).is_some_and(|node| hashes.get(node.pool.name.as_str()) != Some(hash))
    };
    let sets = children.stateful_sets.iter().filter_map(stateful_set_view);
    let pods = children.pods.iter().map(|pod| pod_view(pod, APPLICATION));
    sets.into_iter().any(|set| outdated(&set.reference.name, &set.template_hash))
        || pods
            .into_iter()
            .any(|pod| outdated(pod.name.strip_suffix("-0").unwrap_or_default(), &pod.template_hash))
}
