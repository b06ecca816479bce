//! What the operator hears when it asks the members: the model of `observe.rs` of the operator.

use ballast_core::object::Children;
use ballast_etcd_core::{
    observed::{AlarmKind, Answer, Answers, Listed, Probe, addresses, recorded_cluster_id},
    validate::Desired,
};
use ballast_etcd_simulated::model::{Endpoint, Etcd, List, Refusal, Running};

/// The model is another crate's; what the operator asks of it is ours.
pub trait Ask {
    /// All answers, as the operator would get them now.
    fn ask(&self, desired: &Desired, children: &Children) -> Answers;
}

/// A list as the operator reads it.
pub fn listed(list: &List) -> Vec<Listed> {
    list.iter()
        .map(|(id, entry)| Listed {
            id: *id,
            name: entry.name.clone(),
            peer_urls: vec![entry.url.clone()],
            learner: entry.learner,
        })
        .collect()
}

fn answer(etcd: &Etcd, running: &Running) -> Result<Answer, Refusal> {
    let at = Endpoint { cluster: running.cluster, id: running.id };
    let status = etcd.status(at)?;
    Ok(Answer {
        id: at.id,
        cluster_id: at.cluster,
        version: status.version,
        leader: status.leader,
        raft_index: status.raft_index,
        applied_index: status.applied_index,
        db_size: status.db_size,
        linearizable: !status.learner && etcd.read(at, b"ballast.dev/probe", true).is_ok(),
    })
}

impl Ask for Etcd {
    fn ask(&self, desired: &Desired, children: &Children) -> Answers {
        let recorded = recorded_cluster_id(desired, children);
        let mut answers = Answers::default();
        let mut trusted = None;
        for (member, address) in addresses(desired, children) {
            let at = self.running.values().find(|running| running.process.address == address);
            let probe = match at.ok_or(Refusal::Unreachable).and_then(|running| answer(self, running)) {
                Err(refusal) => Probe::Silent(refusal.to_string()),
                Ok(answer) => {
                    if let Some(expected) = recorded.filter(|expected| *expected != answer.cluster_id) {
                        Probe::Silent(format!("it answers for another cluster than {expected:x}"))
                    } else {
                        if answer.linearizable && trusted.is_none() {
                            trusted = Some(Endpoint { cluster: answer.cluster_id, id: answer.id });
                        }
                        Probe::Answered(answer)
                    }
                }
            };
            answers.probes.insert(member, probe);
        }
        if let Some(at) = trusted {
            answers.list = self.list(at, false).ok().as_ref().map(listed);
            let alarms = self.alarms(at).ok();
            answers.alarms =
                alarms.map(|alarms| alarms.iter().map(|alarm| (alarm.id, AlarmKind::Corrupt)).collect());
            answers.cluster_version = self.cluster_version(at).ok();
        }
        answers
    }
}
