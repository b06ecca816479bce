//! The longest time without an acknowledgement. Times are milliseconds on a clock that never goes back.

/// The longest time without an acknowledgement.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Counted from here; `None` before the first acknowledgement and while paused.
    since: Option<u64>,
    longest: u64,
    ended: Option<u64>,
}

impl Gap {
    /// An acknowledgement came.
    pub(crate) fn acknowledged(&mut self, now: u64) {
        *self = self.until(now);
        self.since = Some(now);
    }

    /// With the gap that is still open.
    pub(crate) fn until(mut self, now: u64) -> Self {
        let open = self.since.map_or(0, |since| now.saturating_sub(since));
        if open > self.longest {
            self.longest = open;
            self.ended = Some(now);
        }
        self
    }

    /// Writing stops on purpose: the time until the next acknowledgement is nobody's fault.
    pub(crate) fn pause(&mut self, now: u64) {
        *self = self.until(now);
        self.since = None;
    }

    /// Writing starts again, unless it never stopped.
    pub(crate) fn resume(&mut self, now: u64) {
        self.since.get_or_insert(now);
    }

    /// Forgets the longest gap; counts from now.
    pub(crate) fn reset(&mut self, now: u64) {
        *self = Self { since: self.since.map(|_| now), ..Self::default() };
    }

    /// How long it was, in milliseconds.
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// When it ended, or now if it is still open; `None` if there was none.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }
}
