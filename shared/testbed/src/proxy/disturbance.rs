//! What a proxy does to an operator.

use std::time::Duration;

use super::request::Class;
use crate::chance::Chance;

/// After this, a write is held back no longer.
pub const HELD_AT_MOST: Duration = Duration::from_mins(1);

/// One write of an operator: the how-manieth of its class, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// What it writes.
    pub class: Class,
    /// Which of them.
    pub number: usize,
}

/// When the operator is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// Before the write reaches the API server.
    Before,
    /// After the API server has applied it, before its answer is delivered.
    After,
}

/// An answer that is not what the API server would say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 409: somebody else changed the object. Writes only.
    Conflict,
    /// 429, with the seconds after which to ask again.
    TooManyRequests(u32),
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// The connection ends, and the API server never hears of the request.
    Unsent,
    /// The API server does what it is asked, and the connection ends before it answers.
    Unanswered,
}

/// One thing that a proxy does. What comes by chance is decided by the seed and the number of the request alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The operator is killed around this write, once.
    Kill(Moment, Point),
    /// This write is answered with a fault, once.
    Answer(Point, Fault),
    /// One in so many requests, other than watches, gets one of these faults.
    Answers {
        /// Seed of the chance.
        seed: u64,
        /// One in how many.
        one_in: u32,
        /// Which faults.
        faults: Vec<Fault>,
    },
    /// One in so many events of a watch is followed by its end: 410, resource version too old.
    EndWatches {
        /// Seed of the chance.
        seed: u64,
        /// One in how many.
        one_in: u32,
    },
    /// One event is not delivered, once.
    HideEvent {
        /// Kind and masked name of the object, as [`super::ApiProxy::events`] lists them.
        object: String,
        /// Its how-manieth event, from 1.
        change: usize,
    },
    /// After the next kill, the first answer to each list that fills a cache (in pages, or of any version) is what was
    /// true before this write; watches, which catch up, start so much later. What is read otherwise is the present.
    Stale {
        /// The write.
        before: Point,
        /// How long watches are held back.
        hold: Duration,
    },
    /// Writes with this method to this path are under way for as long as this is so, at most [`HELD_AT_MOST`]. They
    /// arrive even if the operator has given them up or is gone, as those of a network that was slow.
    Hold {
        /// The method.
        verb: &'static str,
        /// The path, without parameters.
        path: String,
    },
    /// What deletions say of the object that they mean (`preconditions`) is lost: only its name is left. To see that a
    /// test notices.
    WithoutPreconditions,
    /// Items of lists come in another order.
    ShuffleLists {
        /// Seed of the chance.
        seed: u64,
    },
    /// Every request, other than watches, takes up to so much longer.
    Delay {
        /// Seed of the chance.
        seed: u64,
        /// The most that one takes longer.
        up_to: Duration,
    },
}

/// The fault for the request with this number, if chance says so.
pub(crate) fn fault_by_chance(disturbances: &[Disturbance], number: u64, writes: bool) -> Option<Fault> {
    disturbances.iter().find_map(|one| match one {
        Disturbance::Answers { seed, one_in, faults } => {
            let mut chance = Chance::new(*seed, number);
            if !chance.one_in(*one_in) {
                return None;
            }
            let possible: Vec<Fault> =
                faults.iter().copied().filter(|fault| writes || *fault != Fault::Conflict).collect();
            chance.pick(&possible).copied()
        }
        _ => None,
    })
}

/// How much longer the request with this number takes.
pub(crate) fn delay_by_chance(disturbances: &[Disturbance], number: u64) -> Duration {
    disturbances
        .iter()
        .map(|one| match one {
            Disturbance::Delay { seed, up_to } => Chance::new(*seed, number).part_of(*up_to),
            _ => Duration::ZERO,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_gives_every_fault_about_as_often_as_asked_and_always_the_same() {
        let faults = vec![Fault::Conflict, Fault::InternalError, Fault::TooManyRequests(1)];
        let all = [Disturbance::Answers { seed: 3, one_in: 10, faults: faults.clone() }];
        let got: Vec<_> = (0..3000).filter_map(|number| fault_by_chance(&all, number, true)).collect();
        assert!((200..400).contains(&got.len()), "{}", got.len());
        assert!(faults.iter().all(|fault| got.contains(fault)));
        let again: Vec<_> = (0..3000).filter_map(|number| fault_by_chance(&all, number, true)).collect();
        assert_eq!(got, again);
        let reads: Vec<_> = (0..3000).filter_map(|number| fault_by_chance(&all, number, false)).collect();
        assert!(!reads.is_empty() && !reads.contains(&Fault::Conflict));
    }

    #[test]
    fn delays_stay_below_their_limit() {
        let all = [Disturbance::Delay { seed: 3, up_to: Duration::from_millis(50) }];
        let delays: Vec<_> = (0..100).map(|number| delay_by_chance(&all, number)).collect();
        assert!(delays.iter().all(|delay| *delay < Duration::from_millis(50)));
        assert!(delays.iter().any(|delay| *delay > Duration::from_millis(25)));
    }
}
