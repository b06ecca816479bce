//! What comes of each of some partitions.

use std::collections::BTreeSet;

use super::{ByTopic, Error};

/// The outcome for each partition that was asked for, by topic.
pub type Outcomes<T> = ByTopic<(i32, Result<T, Error>)>;

/// Adds those that were asked for and are not in the answer: of them nothing is known. A missing outcome must not look like success.
pub(super) fn complete<'a, T>(
    mut outcomes: Outcomes<T>,
    asked: impl IntoIterator<Item = (&'a String, impl IntoIterator<Item = i32>)>,
    mutates: bool,
) -> Outcomes<T> {
    for (topic, partitions) in asked {
        let own = outcomes.entry(topic.clone()).or_default();
        let answered: BTreeSet<i32> = own.iter().map(|(partition, _)| *partition).collect();
        let missing = partitions.into_iter().filter(|partition| !answered.contains(partition));
        own.extend(
            missing.map(|partition| (partition, Err(Error::incomplete("one of the partitions", mutates)))),
        );
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_is_unknown() {
        let asked = ByTopic::from([("a".to_owned(), vec![0, 1]), ("b".to_owned(), vec![7])]);
        let answered = Outcomes::from([("a".to_owned(), vec![(1, Ok(5))])]);
        let all = complete(answered, asked.iter().map(|(topic, of)| (topic, of.iter().copied())), true);
        let unknown = || Err(Error::incomplete("one of the partitions", true));
        assert_eq!(all["a"], [(1, Ok(5)), (0, unknown())]);
        assert_eq!(all["b"], [(7, unknown())]);
        assert!(all["b"][0].1.as_ref().unwrap_err().may_have_been_applied());
    }
}
