//! What happens when: drawn from a seed, so that the same seed gives the same schedule.

use std::{fmt, time::Duration};

/// Something that breaks. A number chooses whom it meets, among those that exist when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A member's pod is deleted without grace.
    KillMember(u8),
    /// The operator's pod is deleted without grace.
    KillOperator,
    /// The leader and all other members do not hear one another.
    IsolateLeader,
    /// The operator does not reach the members.
    OperatorFromMembers,
    /// The operator does not reach the API server.
    OperatorFromApi,
    /// A node's own daemons do not reach the API server; its pods are reachable.
    NodeFromApi(u8),
    /// A member's volume is full.
    FillDisk(u8),
    /// The API server crashes and is started again.
    RestartApi,
    /// The etcd of Kubernetes itself hangs.
    FreezeEtcd,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KillMember(_) => f.write_str("a member's pod is killed"),
            Self::KillOperator => f.write_str("the operator's pod is killed"),
            Self::IsolateLeader => f.write_str("the leader is cut off from the other members"),
            Self::OperatorFromMembers => f.write_str("the operator is cut off from the members"),
            Self::OperatorFromApi => f.write_str("the operator is cut off from the API server"),
            Self::NodeFromApi(_) => f.write_str("a node is cut off from the API server"),
            Self::FillDisk(_) => f.write_str("a member's volume is filled"),
            Self::RestartApi => f.write_str("the API server is restarted"),
            Self::FreezeEtcd => f.write_str("the etcd of Kubernetes is frozen"),
        }
    }
}

/// A fault, with its times since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    /// How long it lasts; zero if it is over at once.
    pub(crate) lasts: Duration,
    pub(crate) fault: Fault,
}

/// Kills of member pods, one every `every`.
pub(crate) fn kills(seed: u64, minutes: u64, every: Duration) -> Vec<Planned> {
    let mut random = fastrand::Rng::with_seed(seed);
    let end = Duration::from_mins(minutes);
    let mut planned = vec![];
    let mut at = every;
    while at < end {
        planned.push(Planned { at, lasts: Duration::ZERO, fault: Fault::KillMember(random.u8(..)) });
        at += every;
    }
    planned
}

/// Everything mixed. Faults that last do not overlap: two of them could take the quorum away by themselves, and then it
/// would not be the operator that is tested. What is killed is killed during them as well.
pub(crate) fn mixed(seed: u64, minutes: u64) -> Vec<Planned> {
    let mut random = fastrand::Rng::with_seed(seed);
    let end = Duration::from_mins(minutes);
    let mut planned = vec![];
    let mut at = Duration::from_secs(random.u64(5..15));
    while at < end {
        let (fault, lasts) = lasting(&mut random);
        let lasts = lasts.min(end.saturating_sub(at));
        planned.push(Planned { at, lasts, fault });
        at += lasts + Duration::from_secs(random.u64(10..30));
    }
    let mut at = Duration::from_secs(random.u64(5..30));
    while at < end {
        let operator = random.u8(0..3) == 0;
        let fault = if operator { Fault::KillOperator } else { Fault::KillMember(random.u8(..)) };
        planned.push(Planned { at, lasts: Duration::ZERO, fault });
        at += Duration::from_secs(random.u64(10..60));
    }
    planned.sort_by_key(|planned| planned.at);
    planned
}

fn lasting(random: &mut fastrand::Rng) -> (Fault, Duration) {
    let long = Duration::from_secs(random.u64(20..=60));
    match random.u8(0..7) {
        0 => (Fault::IsolateLeader, long),
        1 => (Fault::OperatorFromMembers, long),
        2 => (Fault::OperatorFromApi, long),
        3 => (Fault::NodeFromApi(random.u8(..)), long),
        4 => (Fault::FillDisk(random.u8(..)), long),
        5 => (Fault::RestartApi, Duration::ZERO),
        _ => (Fault::FreezeEtcd, Duration::from_secs(20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_schedule() {
        assert_eq!(mixed(7, 30), mixed(7, 30));
        assert_ne!(mixed(7, 30), mixed(8, 30));
        assert_eq!(kills(7, 10, Duration::from_secs(10)).len(), 59);
    }

    #[test]
    fn nothing_begins_or_lasts_beyond_the_end_and_lasting_faults_do_not_overlap() {
        for seed in 0..50 {
            let all = mixed(seed, 20);
            let end = Duration::from_mins(20);
            assert!(all.iter().all(|planned| planned.at < end && planned.at + planned.lasts <= end));
            let lasting: Vec<_> = all.iter().filter(|planned| !planned.lasts.is_zero()).collect();
            assert!(lasting.windows(2).all(|pair| pair[0].at + pair[0].lasts < pair[1].at), "seed {seed}");
        }
    }

    #[test]
    fn an_hour_meets_everything() {
        let all = mixed(1, 60);
        let names: std::collections::BTreeSet<String> =
            all.iter().map(|planned| planned.fault.to_string()).collect();
        assert_eq!(names.len(), 9, "{names:?}");
    }
}
