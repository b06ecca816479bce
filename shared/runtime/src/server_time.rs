//! What time it is for the API server.
//!
//! Deadlines are counted from times that the API server wrote (when a pod was made, when it is due to be gone) and from
//! times in the status, which another replica may have written. All of them must come from one clock, or an operator
//! whose own is an hour ahead takes what has just begun for long overdue. Every answer of the API server carries its
//! time (`Date`, RFC 9110 §6.6.1).

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
};

use http::HeaderMap;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use tracing::{info, warn};

use crate::metrics::Metrics;

/// `Date` has whole seconds, and an answer is under way for a moment: less than this is no difference.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(2);
/// A difference that changes by less than this is not told again.
const NEWS: SignedDuration = SignedDuration::from_secs(10);

/// How far the API server's clock is ahead of this machine's, as far as it is known.
#[derive(Default)]
pub struct ServerTime {
    /// In seconds.
    ahead: AtomicI64,
    /// What was told last.
    told: AtomicI64,
}

impl fmt::Debug for ServerTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTime").field("ahead", &self.ahead()).finish()
    }
}

impl ServerTime {
    /// The time. This machine's own until the API server has said otherwise.
    pub fn now(&self) -> Timestamp {
        let own = Timestamp::now();
        own.checked_add(self.ahead()).unwrap_or(own)
    }

    /// An answer of the API server arrived just now.
    pub(crate) fn hear(&self, headers: &HeaderMap, metrics: &Metrics) {
        self.hear_at(headers, Timestamp::now());
        metrics.set_clock_ahead(-self.ahead().as_secs());
    }

    fn hear_at(&self, headers: &HeaderMap, own: Timestamp) {
        let Some(theirs) = headers.get(http::header::DATE).and_then(|date| date.to_str().ok()) else {
            return;
        };
        let Ok(theirs) = rfc2822::DateTimeParser::new().parse_timestamp(theirs) else { return };
        let difference = theirs.duration_since(own);
        let ahead = if difference.abs() <= TOLERANCE { SignedDuration::ZERO } else { difference };
        self.ahead.store(ahead.as_secs(), Ordering::Relaxed);
        self.tell(ahead);
    }

    fn ahead(&self) -> SignedDuration {
        SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed))
    }

    fn tell(&self, ahead: SignedDuration) {
        let told = SignedDuration::from_secs(self.told.load(Ordering::Relaxed));
        if (ahead - told).abs() < NEWS && (ahead.is_zero() == told.is_zero()) {
            return;
        }
        self.told.store(ahead.as_secs(), Ordering::Relaxed);
        if ahead.is_zero() {
            info!("the clock of this machine agrees with that of the API server again");
        } else {
            warn!(
                seconds = -ahead.as_secs(),
                "the clock of this machine is ahead of that of the API server (behind, if negative); the latter counts"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header::DATE};

    use super::*;

    fn date(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(DATE, HeaderValue::from_static(text))])
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_time_is_what_the_api_server_says() {
        let time = ServerTime::default();
        time.hear_at(&date("Sun, 06 Nov 1994 08:49:37 GMT"), at("1994-11-06T09:49:37Z"));
        assert_eq!(time.ahead(), SignedDuration::from_hours(-1));
        let behind = Timestamp::now().duration_since(time.now());
        assert!((behind - SignedDuration::from_hours(1)).abs() < SignedDuration::from_secs(1), "{behind}");
        // The clock is set right meanwhile.
        time.hear_at(&date("Sun, 06 Nov 1994 08:49:37 GMT"), at("1994-11-06T08:49:38.9Z"));
        assert_eq!(time.ahead(), SignedDuration::ZERO);
    }

    #[test]
    fn what_is_no_date_changes_nothing() {
        let time = ServerTime::default();
        time.hear_at(&date("Sun, 06 Nov 1994 08:49:37 GMT"), at("1994-11-06T08:00:00Z"));
        for headers in [date("yesterday"), HeaderMap::new()] {
            time.hear_at(&headers, at("1994-11-06T08:49:37Z"));
            assert_eq!(time.ahead(), SignedDuration::from_secs(49 * 60 + 37));
        }
    }
}
