//! Percentiles. Pure.

use std::time::Duration;

/// Durations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample(Vec<Duration>);

impl FromIterator<Duration> for Sample {
    fn from_iter<T: IntoIterator<Item = Duration>>(durations: T) -> Self {
        let mut sorted: Vec<_> = durations.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }
}

impl Sample {
    /// The smallest value that at least `percent` of a hundred values do not exceed (nearest rank); 100 is the largest.
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied()
    }

    /// The largest.
    pub fn max(&self) -> Option<Duration> {
        self.0.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(50, 50)]
    #[case(90, 90)]
    #[case(99, 99)]
    #[case(100, 100)]
    #[case(0, 1)]
    fn of_a_hundred_values_each_is_its_own_percentile(#[case] percent: usize, #[case] expected: u64) {
        let sample: Sample = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(sample.percentile(percent), Some(Duration::from_millis(expected)));
    }

    #[test]
    fn few_values_are_never_interpolated() {
        let sample: Sample = [3, 1, 2].map(Duration::from_secs).into_iter().collect();
        assert_eq!(sample.percentile(50), Some(Duration::from_secs(2)));
        assert_eq!(sample.percentile(90), sample.max());
        assert_eq!(Sample::default().percentile(50), None);
    }
}
