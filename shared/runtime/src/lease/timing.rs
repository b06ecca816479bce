//! How long a lease lasts, and how often it is renewed.

use std::time::Duration;

use crate::writer::REQUEST_TIMEOUT;

/// Durations of an election; the names and defaults are those of Kubernetes' components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// How long others leave a lease alone after they have seen its last renewal.
    pub(crate) lease: Duration,
    /// How long after it *sent* the last successful renewal a leader may still act.
    pub(crate) renew_deadline: Duration,
    /// From the beginning of one attempt to the beginning of the next.
    pub(crate) retry: Duration,
}

/// Durations that would not be safe, or would not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimingError {
    #[error("--leader-elect-lease-duration ({0:?}) must be a whole number of seconds, from 1s to 3600s")]
    Lease(Duration),
    #[error(
        "--leader-elect-lease-duration ({lease:?}) must be at least {REQUEST_TIMEOUT:?} more than \
         --leader-elect-renew-deadline ({renew_deadline:?}): a request that is sent in the last moment may be under way \
         that long, and must have ended before another replica leads"
    )]
    Margin { lease: Duration, renew_deadline: Duration },
    #[error(
        "--leader-elect-renew-deadline ({renew_deadline:?}) must be at least twice --leader-elect-retry-period ({retry:?}): \
         one lost request would end the leader"
    )]
    Retry { renew_deadline: Duration, retry: Duration },
    #[error(
        "--leader-elect-retry-period ({0:?}) must be at least 100ms: each attempt is a request to the API server"
    )]
    Hasty(Duration),
}

impl Timing {
    /// Durations that are safe together.
    pub(crate) fn new(
        lease: Duration,
        renew_deadline: Duration,
        retry: Duration,
    ) -> Result<Self, TimingError> {
        if lease.subsec_nanos() != 0 || !(1..=3600).contains(&lease.as_secs()) {
            return Err(TimingError::Lease(lease));
        }
        if lease.saturating_sub(renew_deadline) < REQUEST_TIMEOUT {
            return Err(TimingError::Margin { lease, renew_deadline });
        }
        if retry < Duration::from_millis(100) {
            return Err(TimingError::Hasty(retry));
        }
        if renew_deadline < retry * 2 {
            return Err(TimingError::Retry { renew_deadline, retry });
        }
        Ok(Self { lease, renew_deadline, retry })
    }

    /// How long one request for the lease may take: a leader must be able to ask a second time.
    pub(crate) fn request(&self) -> Duration {
        (self.renew_deadline / 2).min(REQUEST_TIMEOUT)
    }

    /// `leaseDurationSeconds`.
    pub(crate) fn lease_seconds(&self) -> i32 {
        i32::try_from(self.lease.as_secs()).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::usual(15.0, 10.0, 2.0, None)]
    #[case::least_margin(20.0, 15.0, 7.5, None)]
    #[case::short(6.0, 1.0, 0.5, None)]
    #[case::too_close(
        15.0,
        10.001,
        2.0,
        Some("must be at least 5s more than --leader-elect-renew-deadline (10.001s)")
    )]
    #[case::reversed(10.0, 15.0, 2.0, Some("--leader-elect-lease-duration (10s) must be at least 5s more"))]
    #[case::fraction(15.5, 10.0, 2.0, Some("--leader-elect-lease-duration (15.5s) must be a whole number"))]
    #[case::zero(0.0, 0.0, 0.0, Some("from 1s to 3600s"))]
    #[case::one_chance(
        15.0,
        3.0,
        2.0,
        Some("--leader-elect-renew-deadline (3s) must be at least twice --leader-elect-retry-period (2s)")
    )]
    #[case::storm(15.0, 10.0, 0.01, Some("--leader-elect-retry-period (10ms) must be at least 100ms"))]
    fn unsafe_durations_are_refused_by_the_names_of_their_flags(
        #[case] lease: f64,
        #[case] renew: f64,
        #[case] retry: f64,
        #[case] wrong: Option<&str>,
    ) {
        let seconds = Duration::from_secs_f64;
        let timing = Timing::new(seconds(lease), seconds(renew), seconds(retry));
        match (timing, wrong) {
            (Ok(timing), None) => {
                assert!(timing.lease >= timing.renew_deadline + REQUEST_TIMEOUT);
                assert!(timing.request() * 2 <= timing.renew_deadline);
            }
            (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
            (timing, wrong) => panic!("{timing:?} {wrong:?}"),
        }
    }
}
