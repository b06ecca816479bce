//! Chance that a seed repeats: the generator `SplitMix64`, which is public domain and needs no state beside a number.

use std::time::Duration;

/// A sequence of numbers that follows from a seed and an index alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence for one thing of many.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        let mut chance = Self(seed);
        let first = chance.next();
        Self(first ^ index.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    /// Yes, once in so many times.
    pub(crate) fn one_in(&mut self, times: u32) -> bool {
        self.next().is_multiple_of(u64::from(times.max(1)))
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len());
        from.get(at)
    }

    /// Less than this.
    pub(crate) fn part_of(&mut self, whole: Duration) -> Duration {
        let thousandths = u32::try_from(self.below(1000)).unwrap_or(0);
        whole * thousandths / 1000
    }

    /// Another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_keeps_every_item_and_changes_the_order() {
        let mut items: Vec<u32> = (0..20).collect();
        Chance::new(1, 1).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
