//! What the operator hears when it asks the members: the model of `observe.rs` of the operator.

use ballast_core::object::Children;
use ballast_etcd_core::{
    observed::{AlarmKind, Answer, Answers, Probe, addresses, recorded_cluster_id},
    validate::Desired,
};

use crate::etcd::{Etcd, Running};

impl Etcd {
    fn at(&self, address: &str) -> Option<&Running> {
        let answering = |running: &&Running| !self.hung.contains(&running.process.member);
        self.running.values().filter(answering).find(|running| running.process.address == address)
    }

    fn answer(&self, running: &Running) -> Answer {
        let cluster = &self.clusters[&running.cluster];
        let applied = self.applied(running.cluster, running.id);
        let quorum = self.has_quorum(cluster);
        Answer {
            id: running.id,
            cluster_id: running.cluster,
            version: running.version.clone(),
            leader: cluster.leader.filter(|_| quorum).unwrap_or(0),
            raft_index: if quorum { cluster.log } else { applied },
            applied_index: applied,
            db_size: 1 << 20,
            linearizable: self.serves(running),
        }
    }

    /// All answers, as the operator would get them now.
    pub fn ask(&self, desired: &Desired, children: &Children) -> Answers {
        let recorded = recorded_cluster_id(desired, children);
        let mut answers = Answers::default();
        let mut trusted = None;
        for (member, address) in addresses(desired, children) {
            let probe = match self.at(&address) {
                None => Probe::Silent("deadline exceeded".to_owned()),
                Some(running) => {
                    let answer = self.answer(running);
                    if let Some(expected) = recorded.filter(|expected| *expected != answer.cluster_id) {
                        Probe::Silent(format!("it answers for another cluster than {expected:x}"))
                    } else {
                        if answer.linearizable && trusted.is_none() {
                            trusted = Some(running.cluster);
                        }
                        Probe::Answered(answer)
                    }
                }
            };
            answers.probes.insert(member, probe);
        }
        if let Some(cluster) = trusted {
            answers.list = Some(self.list(cluster));
            let corrupt = &self.clusters[&cluster].corrupt;
            answers.alarms = Some(corrupt.iter().map(|id| (*id, AlarmKind::Corrupt)).collect());
            answers.cluster_version = Some(self.clusters[&cluster].version);
        }
        answers
    }
}
