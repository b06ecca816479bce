//! What was seen of Kubernetes and of etcd, joined by member.
//!
//! The shell asks etcd and hands the answers over as [`Answers`]; [`observe`] joins them with the objects, purely.
//! A failed probe is data: `None` or [`Probe::Silent`], never an error.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::{
    bootstrap::{self, FoundRecord, Record},
    label,
    object::{Children, by_name},
    version::{self, Minor},
};
use jiff::Timestamp;
use semver::Version;

pub use ballast_core::view::{ClaimView, PodView, StatefulSetView, TicketView};
use ballast_core::view::{claim_view, pod_view, stateful_set_view, ticket_view};

use crate::{
    APPLICATION,
    api::{EtcdClusterStatus, SuspectZone},
    build,
    validate::Desired,
};

/// A member in etcd's own list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Member id.
    pub id: u64,
    /// Name; empty until the member has started for the first time.
    pub name: String,
    /// Peer URLs.
    pub peer_urls: Vec<String>,
    /// Whether it does not vote.
    pub learner: bool,
}

/// What one member said when asked directly.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// It was not asked, did not answer, or the answer came from something else than this member of this cluster.
    Silent(String),
    /// It answered.
    Answered(Answer),
}

/// A member's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its member id.
    pub id: u64,
    /// Its cluster id.
    pub cluster_id: u64,
    /// Version that it runs.
    pub version: Version,
    /// Id of the leader that it follows; 0: none.
    pub leader: u64,
    /// Highest committed raft index that it knows.
    pub raft_index: u64,
    /// Highest raft index that it has applied.
    pub applied_index: u64,
    /// Size of its database in bytes.
    pub db_size: i64,
    /// Whether a linearizable read through it succeeded.
    pub linearizable: bool,
}

/// An alarm that is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmKind {
    /// The database reached its quota: writes are refused.
    NoSpace,
    /// The data of this member differs from that of the others.
    Corrupt,
}

/// Everything that etcd said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// The member list, read from a member right after a linearizable read through it; `None`: not known.
    pub list: Option<Vec<Listed>>,
    /// Alarms, by member id; `None`: not known.
    pub alarms: Option<Vec<(u64, AlarmKind)>>,
    /// The version on which the members have agreed.
    pub cluster_version: Option<Minor>,
    /// By member name.
    pub probes: BTreeMap<String, Probe>,
}

/// Everything about one member.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Number.
    pub ordinal: u32,
    /// Name.
    pub name: String,
    /// Its StatefulSet.
    pub stateful_set: Option<StatefulSetView>,
    /// Its pod.
    pub pod: Option<PodView>,
    /// All claims made for it, of this cluster.
    pub claims: Vec<ClaimView>,
    /// Its ticket.
    pub ticket: Option<TicketView>,
    /// Its entry in etcd's list.
    pub listed: Option<Listed>,
    /// What it said.
    pub probe: Probe,
    /// Whether a CORRUPT alarm names it.
    pub corrupt: bool,
    /// Since when it has not served.
    pub unhealthy_since: Option<Timestamp>,
}

impl Member {
    /// Its answer, if there is one.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.probe {
            Probe::Answered(answer) => Some(answer),
            Probe::Silent(_) => None,
        }
    }

    /// Whether it has started at least once, by etcd's own list.
    pub fn started(&self) -> bool {
        self.listed.as_ref().is_some_and(|listed| !listed.name.is_empty())
    }

    /// Whether it votes, by etcd's own list.
    pub fn voter(&self) -> bool {
        self.listed.as_ref().is_some_and(|listed| !listed.learner)
    }

    /// Whether it is a learner, by etcd's own list.
    pub fn learner(&self) -> bool {
        self.listed.as_ref().is_some_and(|listed| listed.learner)
    }

    /// Whether it serves a linearizable read and its data is not known to be corrupt.
    pub fn serves(&self) -> bool {
        !self.corrupt && self.answer().is_some_and(|answer| answer.linearizable)
    }

    /// Whether it leads.
    pub fn leads(&self) -> bool {
        self.answer().is_some_and(|answer| answer.leader == answer.id && answer.id != 0)
    }

    /// The claim that its StatefulSet uses.
    pub fn claim(&self) -> Option<&ClaimView> {
        let name = self.stateful_set.as_ref()?.claim.as_deref()?;
        self.claims.iter().find(|claim| claim.reference.name == name)
    }

    /// Whether its data is certainly gone: the guard says so, or it does not run and its claim or volume is gone.
    pub fn lost(&self) -> bool {
        let pod = self.pod.as_ref();
        let named = self.stateful_set.as_ref().is_some_and(|set| set.claim.is_some());
        let gone = named && self.claim().is_none_or(|claim| claim.phase == "Lost");
        pod.is_some_and(PodView::lost_data) || (gone && !pod.is_some_and(|pod| pod.running))
    }

    /// Zone of its data.
    pub fn zone(&self) -> Option<&str> {
        self.claim().or_else(|| self.claims.iter().find(|claim| !claim.deleting))?.zone.as_deref()
    }

    /// Whether nothing of it is left but claims that are being deleted.
    pub fn gone(&self) -> bool {
        self.stateful_set.is_none()
            && self.pod.is_none()
            && self.listed.is_none()
            && self.ticket.is_none()
            && self.claims.iter().all(|claim| claim.deleting)
    }
}

/// Everything that a plan is made from.
#[derive(Clone, Debug)]
pub struct Observed {
    /// All objects with the cluster's labels.
    pub children: Children,
    /// The bootstrap record; `Err`: it is there but cannot be read.
    pub record: Result<Option<FoundRecord>, String>,
    /// Members of this cluster, by ordinal.
    pub members: Vec<Member>,
    /// Members in etcd's list that are none of ours.
    pub foreign: Vec<Listed>,
    /// Claims of earlier clusters of the same name.
    pub retained: Vec<ClaimView>,
    /// What etcd said.
    pub answers: Answers,
    /// The version on which the members had agreed when it was last known: the status remembers it.
    pub last_cluster_version: Option<Minor>,
    /// Zones that could not take a member lately.
    pub suspect_zones: Vec<SuspectZone>,
    /// Since when a quorum has served, by the last status; `None`: it did not.
    pub quorum_since: Option<Timestamp>,
}

impl Observed {
    /// Members that vote.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.voter())
    }

    /// The member that leads, if it serves.
    pub fn leader(&self) -> Option<&Member> {
        self.voters().find(|member| member.leads() && member.serves())
    }

    /// Cluster ids that answered; more than one is a split brain.
    pub fn cluster_ids(&self) -> BTreeSet<u64> {
        self.members.iter().filter_map(Member::answer).map(|answer| answer.cluster_id).collect()
    }

    /// Whether a majority of the voters serves; `None`: the list is not known.
    pub fn quorum(&self) -> Option<bool> {
        let list = self.answers.list.as_ref()?;
        let voters = list.iter().filter(|listed| !listed.learner).count();
        Some(self.voters().filter(|member| member.serves()).count() > voters / 2)
    }
}

/// etcd's cluster id that the bootstrap record of these objects holds, once the cluster has started.
pub fn recorded_cluster_id(desired: &Desired, children: &Children) -> Option<u64> {
    match bootstrap::find(children, &desired.cluster.labels.uid, desired.cluster.name()) {
        Ok(Some(FoundRecord { record: Record::Started { cluster_id }, .. })) => {
            u64::from_str_radix(&cluster_id, 16).ok()
        }
        _ => None,
    }
}

/// Pods to ask: member name and address.
pub fn addresses(desired: &Desired, children: &Children) -> Vec<(String, String)> {
    let running = children.pods.iter().map(|pod| pod_view(pod, APPLICATION)).filter(|pod| pod.running);
    running
        .filter_map(|pod| {
            let member = pod.name.strip_suffix("-0")?.to_owned();
            desired.ordinal(&member)?;
            Some((member, pod.ip?))
        })
        .collect()
}

/// Joins objects and answers.
pub fn observe(
    desired: &Desired,
    previous: Option<&EtcdClusterStatus>,
    children: Children,
    answers: Answers,
) -> Observed {
    let uid = desired.cluster.labels.uid.as_str();
    let (own, retained): (Vec<_>, Vec<_>) =
        children.claims.iter().filter_map(claim_view).partition(|claim| claim.cluster_uid == uid);
    let mut ordinals: BTreeSet<u32> = BTreeSet::new();
    ordinals.extend(
        children.stateful_sets.iter().filter_map(|set| desired.ordinal(set.metadata.name.as_deref()?)),
    );
    ordinals.extend(
        children
            .pods
            .iter()
            .filter_map(|pod| desired.ordinal(pod.metadata.labels.as_ref()?.get(label::MEMBER)?)),
    );
    ordinals.extend(own.iter().filter_map(|claim| desired.ordinal(&claim.member)));
    let listed = answers.list.clone().unwrap_or_default();
    let ordinal_of = |listed: &Listed| {
        listed.peer_urls.iter().find_map(|url| {
            let host = url.strip_prefix("http://")?.split(':').next()?;
            let member = host.split('.').next()?.strip_suffix("-0")?;
            let ordinal = desired.ordinal(member)?;
            (crate::peer_url(&desired.cluster.host(member)) == *url).then_some(ordinal)
        })
    };
    ordinals.extend(listed.iter().filter_map(ordinal_of));
    let foreign = listed.iter().filter(|entry| ordinal_of(entry).is_none()).cloned().collect();
    let alarms = answers.alarms.clone().unwrap_or_default();
    let members = ordinals
        .into_iter()
        .map(|ordinal| {
            let name = desired.member(ordinal);
            let entry = listed.iter().find(|entry| ordinal_of(entry) == Some(ordinal)).cloned();
            let probe =
                answers.probes.get(&name).cloned().unwrap_or_else(|| Probe::Silent("not asked".to_owned()));
            // An address may have passed to another pod: only the id in etcd's own list is believed.
            let probe = match (&probe, &entry) {
                (Probe::Answered(answer), Some(entry)) if answer.id != entry.id => {
                    Probe::Silent(format!("it answers as member {:x}", answer.id))
                }
                _ => probe,
            };
            let corrupt =
                entry.as_ref().is_some_and(|entry| alarms.contains(&(entry.id, AlarmKind::Corrupt)));
            Member {
                ordinal,
                stateful_set: by_name(&children.stateful_sets, &name).and_then(stateful_set_view),
                pod: by_name(&children.pods, &format!("{name}-0")).map(|pod| pod_view(pod, APPLICATION)),
                claims: own.iter().filter(|claim| claim.member == name).cloned().collect(),
                ticket: by_name(&children.config_maps, &build::ticket_name(&name)).and_then(ticket_view),
                listed: entry,
                probe,
                corrupt,
                unhealthy_since: previous
                    .and_then(|status| status.members.iter().find(|member| member.name == name))
                    .and_then(|member| member.unhealthy_since.as_ref()?.parse().ok()),
                name,
            }
        })
        .collect();
    let record = bootstrap::find(&children, uid, desired.cluster.name());
    Observed {
        children,
        record,
        members,
        foreign,
        retained,
        answers,
        last_cluster_version: previous.and_then(|status| {
            let version = version::parse(&format!("{}.0", status.cluster_version.as_ref()?)).ok()?;
            Some(Minor::from(&version))
        }),
        suspect_zones: previous.map(|status| status.suspect_zones.clone()).unwrap_or_default(),
        quorum_since: previous
            .and_then(|status| status.conditions.iter().find(|condition| condition.type_ == "QuorumHealthy"))
            .filter(|condition| condition.status == "True")
            .map(|condition| condition.last_transition_time.0),
    }
}
