//! Time for deadlines, and waiting that keeps to it. Never what a clock on the wall shows.

use std::{
    fmt,
    future::{Future, poll_fn},
    ops::Add,
    pin::pin,
    task::Poll,
    time::Duration,
};

use nix::time::{ClockId, clock_gettime};

/// Timers do not count while the machine is suspended, so that a long wait is made of short ones.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// `CLOCK_BOOTTIME` is `CLOCK_MONOTONIC` (which `std` and tokio use) plus the time that the machine was suspended.
///
/// Both go on while a process is stopped (SIGSTOP, a frozen cgroup) and neither can be set. After a suspended laptop or
/// virtual machine wakes up, only `CLOCK_BOOTTIME` knows that a lease has run out meanwhile. What no clock inside of a
/// virtual machine shows is that its hypervisor paused it; preconditions of requests are what is left there.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
/// Elsewhere (for development only) this is as near as it gets.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// A moment of a [`Clock`]; means nothing in another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// The moment `since` after the clock's beginning.
    #[cfg(test)]
    pub(crate) const fn at(since: Duration) -> Self {
        Self(since)
    }

    /// How long it is until `later`; nothing if that has passed.
    pub(crate) fn until(self, later: Self) -> Duration {
        later.0.saturating_sub(self.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(delay))
    }
}

/// A clock that only goes forward, also while this process or the machine sleeps.
#[derive(Clone, Copy)]
pub struct Clock(fn() -> Moment);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// The clock of this machine.
    pub fn boot() -> Self {
        // A clock that cannot be read (no kernel does that) is taken for the end of time: all deadlines have passed.
        Self(|| Moment(clock_gettime(CLOCK).map_or(Duration::MAX, Duration::from)))
    }

    /// tokio's clock, which tests can stop and advance.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        use std::{sync::OnceLock, time::Instant};
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        Self(|| {
            let now = tokio::time::Instant::now().into_std();
            let hour = Duration::from_hours(1);
            Moment(now - *ORIGIN.get_or_init(|| now.checked_sub(hour).unwrap_or(now)))
        })
    }

    /// Now.
    pub fn now(self) -> Moment {
        (self.0)()
    }

    /// Waits until `moment`.
    pub(crate) async fn sleep_until(self, moment: Moment) {
        loop {
            let left = self.now().until(moment);
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_NAP)).await;
        }
    }

    /// The outcome of `request`, unless `deadline` comes first.
    ///
    /// The clock is asked before each step of `request`, not only when a timer fires: a process that was frozen before
    /// it had sent everything, and wakes up after the deadline, sends nothing more.
    pub(crate) async fn before<T>(self, deadline: Moment, request: impl Future<Output = T>) -> Option<T> {
        let mut request = pin!(request);
        let in_time = poll_fn(|context| {
            if self.now() >= deadline {
                return Poll::Ready(None);
            }
            request.as_mut().poll(context).map(Some)
        });
        tokio::select! {
            biased;
            outcome = in_time => outcome,
            () = self.sleep_until(deadline) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn the_clock_of_the_machine_goes_forward() {
        let clock = Clock::boot();
        let (first, then) = (clock.now(), clock.now());
        assert!(first <= then);
        assert!(first < Moment(Duration::MAX), "the clock can be read");
        assert_eq!(
            then.until(first + Duration::from_mins(1)).as_secs() / 10,
            5,
            "less than ten seconds have passed"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_done_by_its_deadline_is_dropped() {
        let clock = Clock::of_tests();
        let deadline = clock.now() + Duration::from_secs(5);
        assert_eq!(clock.before(deadline, async { 7 }).await, Some(7));
        assert_eq!(clock.before(deadline, std::future::pending::<()>()).await, None);
        assert!(clock.now() >= deadline);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_more_is_sent_by_who_wakes_up_after_the_deadline() {
        let clock = Clock::of_tests();
        let sent = AtomicBool::new(false);
        let request = async {
            // Everything is ready at once when the process wakes up: the connection, and the timer.
            tokio::time::sleep(Duration::from_secs(1)).await;
            sent.store(true, Ordering::SeqCst);
        };
        let frozen = async {
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_mins(1)).await;
        };
        let (outcome, ()) = tokio::join!(clock.before(clock.now() + Duration::from_secs(5), request), frozen);
        assert_eq!(outcome, None);
        assert!(!sent.load(Ordering::SeqCst));
    }
}
