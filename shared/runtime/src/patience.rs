//! How long a plan may wait on the word of the caches alone.
//!
//! A watch that lost an event does not say so, and nothing else may ever happen: whoever waits for what has happened
//! already waits for ever. A plan that has waited for a while is therefore made again from live reads, as before a
//! write; later and later, because most waiting is just that.

use std::time::Duration;

use ballast_core::plan::{Intent, Plan};
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(15);

/// Until when the caches are believed while a plan waits.
#[derive(Debug, Default)]
pub(crate) struct Patience(Option<Waiting>);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When it ends.
    until: Instant,
    /// How long it was.
    lasted: Duration,
}

impl Patience {
    /// Takes note of a plan that was made from the caches; whether it has to be made again from live reads.
    ///
    /// The longest time between two such looks is `resync`.
    pub(crate) fn is_over<I: Intent>(&mut self, plan: &Plan<I>, resync: Duration) -> bool {
        if !waits(plan) {
            self.0 = None;
            return false;
        }
        let now = Instant::now();
        let wait = |lasted| Waiting { until: now + lasted, lasted };
        match self.0 {
            None => {
                self.0 = Some(wait(FIRST));
                false
            }
            Some(waiting) if now < waiting.until => false,
            Some(waiting) => {
                self.0 = Some(wait(waiting.lasted.saturating_mul(2).min(resync.max(FIRST))));
                true
            }
        }
    }
}

/// Whether a plan does nothing, and yet is not content.
fn waits<I: Intent>(plan: &Plan<I>) -> bool {
    plan.is_empty() && (!plan.blocked.is_empty() || plan.requeue_after.is_some())
}

#[cfg(test)]
mod tests {
    use ballast_core::plan::Blocked;
    use tokio::time::advance;

    use super::*;
    use crate::operator_tests::Poke;

    fn waiting() -> Plan<Poke> {
        Plan { blocked: vec![Blocked::new("pods-ready", "PodsNotReady", "no")], ..Plan::default() }
    }

    /// The seconds after which it is over, looking every second.
    async fn ends(patience: &mut Patience, resync: Duration) -> u64 {
        for second in 1..1000 {
            advance(Duration::from_secs(1)).await;
            if patience.is_over(&waiting(), resync) {
                return second;
            }
        }
        panic!("it never ends");
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_later_and_later_but_no_later_than_a_resync() {
        let mut patience = Patience::default();
        assert!(!patience.is_over(&waiting(), Duration::from_mins(1)));
        let mut ended = vec![];
        for _ in 0..4 {
            ended.push(ends(&mut patience, Duration::from_mins(1)).await);
        }
        assert_eq!(ended, [15, 30, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_acts_or_is_content_begins_anew() {
        let mut patience = Patience::default();
        let acts = Plan { intent: Some(Poke), ..waiting() };
        for other in [acts, Plan::default()] {
            assert!(!patience.is_over(&waiting(), Duration::ZERO));
            advance(Duration::from_mins(1)).await;
            assert!(!patience.is_over(&other, Duration::ZERO));
            assert!(!patience.is_over(&waiting(), Duration::ZERO));
            assert_eq!(ends(&mut patience, Duration::ZERO).await, 15);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_to_look_again_waits() {
        let mut patience = Patience::default();
        let plan = Plan::<Poke> { requeue_after: Some(Duration::from_secs(1)), ..Plan::default() };
        assert!(!patience.is_over(&plan, Duration::ZERO));
        advance(Duration::from_mins(1)).await;
        assert!(patience.is_over(&plan, Duration::ZERO));
    }
}
