//! Delays: exponential after errors, a slow steady resync when quiet. Jitter is deterministic, from the uid.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// How far jitter moves a delay, each way.
const JITTER: f64 = 0.1;

/// The delay after `failures` passes in a row that ended in an error (at least one).
pub fn after_failures(uid: &str, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    jittered(FIRST.saturating_mul(1 << doublings).min(LONGEST), (uid, failures))
}

/// The delay of the next look at a resource where nothing happens.
pub fn resync(uid: &str, every: Duration) -> Duration {
    jittered(every, uid)
}

fn jittered(delay: Duration, seed: impl Hash) -> Duration {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    let part = f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or(0)) / f64::from(u32::MAX);
    delay.mul_f64(1.0 - JITTER + 2.0 * JITTER * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_a_minute() {
        let delays: Vec<Duration> = (1..=9).map(|failures| after_failures("uid", failures)).collect();
        for (have, want) in delays.iter().zip([1, 2, 4, 8, 16, 32, 60, 60, 60]) {
            let off = have.abs_diff(Duration::from_secs(want));
            assert!(off <= Duration::from_secs(want).mul_f64(JITTER), "{delays:?}");
        }
        assert!(after_failures("uid", u32::MAX) <= Duration::from_secs(66));
    }

    #[test]
    fn jitter_is_bounded_deterministic_and_differs_between_resources() {
        let every = Duration::from_mins(5);
        let delays: Vec<Duration> = (0..100).map(|n| resync(&format!("uid-{n}"), every)).collect();
        assert!(delays.iter().all(|delay| (270..=330).contains(&delay.as_secs())));
        assert_eq!(delays[7], resync("uid-7", every));
        assert!(delays.iter().max() > delays.iter().min());
    }
}
