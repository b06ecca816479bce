//! How many replicas of a partition one rack may have.

use super::snapshot::Broker;

/// Racks of brokers, by index of the broker.
pub(super) struct Racks {
    of: Vec<u16>,
    /// Per rack: brokers that may get replicas.
    targets: Vec<usize>,
    is_target: Vec<bool>,
}

impl Racks {
    /// Brokers without a rack share one. If none has one, the rule is always kept: all are in the same.
    pub(super) fn new(brokers: &[Broker], is_target: &[bool]) -> Self {
        let mut names: Vec<Option<&str>> = brokers.iter().map(|broker| broker.rack.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let place = |broker: &Broker| names.binary_search(&broker.rack.as_deref()).unwrap_or(0);
        let mut targets = vec![0; names.len()];
        for (broker, _) in brokers.iter().zip(is_target).filter(|(_, is)| **is) {
            targets[place(broker)] += 1;
        }
        let of = brokers.iter().map(|broker| u16::try_from(place(broker)).unwrap_or(u16::MAX)).collect();
        Self { of, targets, is_target: is_target.to_vec() }
    }

    pub(super) fn of(&self, broker: u16) -> u16 {
        self.of[usize::from(broker)]
    }

    /// How many of these replicas are in a rack.
    pub(super) fn count(&self, replicas: &[u16], rack: u16) -> usize {
        replicas.iter().filter(|replica| self.of(**replica) == rack).count()
    }

    /// The least number of replicas that the fullest rack must have, when `factor` replicas are spread as evenly as
    /// brokers allow: `ceil(factor / racks)`, if every rack has enough brokers. `stuck` are replicas that stay on
    /// brokers which get nothing new; their rack has a place more for this partition.
    pub(super) fn cap(&self, factor: usize, stuck: &[u16]) -> usize {
        let room = |rack: usize, cap: usize| {
            let here = stuck.iter().filter(|broker| !self.is_target[usize::from(**broker)]);
            let here = here.filter(|broker| usize::from(self.of(**broker)) == rack).count();
            cap.min(self.targets[rack] + here)
        };
        let racks = 0..self.targets.len();
        (1..factor)
            .find(|cap| racks.clone().map(|rack| room(rack, *cap)).sum::<usize>() >= factor)
            .unwrap_or(factor)
    }

    /// Whether a rack has more of a partition's replicas than it must. `stays` tells which brokers can keep theirs.
    pub(super) fn is_violated(&self, replicas: &[u16], stays: &[bool]) -> bool {
        let fullest =
            replicas.iter().map(|replica| self.count(replicas, self.of(*replica))).max().unwrap_or(0);
        if fullest < 2 {
            return false;
        }
        let stuck: Vec<u16> = replicas.iter().copied().filter(|broker| stays[usize::from(*broker)]).collect();
        fullest > self.cap(replicas.len(), &stuck)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Brokers 0, 1, … in these racks; a capital letter is a broker that gets nothing.
    fn racks(names: &str) -> Racks {
        let rack = |name: char| Broker { rack: Some(name.to_lowercase().to_string()), ..Broker::default() };
        let brokers: Vec<Broker> = names.chars().map(rack).collect();
        let targets: Vec<bool> = names.chars().map(char::is_lowercase).collect();
        Racks::new(&brokers, &targets)
    }

    #[rstest]
    #[case::one_each("abc", 3, &[], 1)]
    #[case::two_racks("aabb", 3, &[], 2)]
    #[case::four_on_three("aabbcc", 4, &[], 2)]
    #[case::a_rack_too_small("aaab", 4, &[], 3)]
    #[case::a_rack_that_gets_nothing("aabbCC", 3, &[], 2)]
    #[case::unless_a_replica_is_there("aabbCC", 3, &[4], 1)]
    #[case::too_few_brokers("ab", 3, &[], 3)]
    #[case::one_replica("ab", 1, &[], 1)]
    fn the_fullest_rack(
        #[case] names: &str,
        #[case] factor: usize,
        #[case] stuck: &[u16],
        #[case] cap: usize,
    ) {
        assert_eq!(racks(names).cap(factor, stuck), cap);
    }

    #[rstest]
    #[case::apart("abc", &[0, 1, 2], false)]
    #[case::together("aabbcc", &[0, 1, 2], true)]
    #[case::as_good_as_it_gets("aab", &[0, 1, 2], false)]
    fn a_rack_is_too_full(#[case] names: &str, #[case] replicas: &[u16], #[case] violated: bool) {
        assert_eq!(racks(names).is_violated(replicas, &vec![true; names.len()]), violated);
    }
}
