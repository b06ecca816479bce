//! The gate: every mutating call passes it first, to Kubernetes or to the application.
//!
//! It compares monotonic time with the moment until which this process may write. Leader election moves that
//! moment; a process that lost its lease, or is shutting down, writes nothing more. The time is that of
//! [`Clock::boot`], which goes on while the process or the machine sleeps.

use std::sync::{Mutex, PoisonError};

use crate::clock::{Clock, Moment};

/// The gate does not let this write pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process may not write any more")]
pub struct GateClosed;

/// Whether this process may write, now.
#[derive(Debug)]
pub struct Gate {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    closed: bool,
    valid_until: Option<Moment>,
}

impl Gate {
    /// A gate that lets everything pass until it is closed.
    pub fn open() -> Self {
        Self::new(Clock::boot(), None)
    }

    /// A gate that lets nothing pass before [`Gate::extend`], by this clock.
    pub fn expired(clock: Clock) -> Self {
        Self::new(clock, Some(clock.now()))
    }

    fn new(clock: Clock, valid_until: Option<Moment>) -> Self {
        Self { clock, state: Mutex::new(State { closed: false, valid_until }) }
    }

    /// The clock that decides.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Lets writes pass until `until`. A closed gate stays closed.
    pub fn extend(&self, until: Moment) {
        self.state().valid_until = Some(until);
    }

    /// Lets nothing pass any more, for ever.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// Whether a write may be sent now.
    pub fn permit(&self) -> Result<(), GateClosed> {
        let state = *self.state();
        let valid = state.valid_until.is_none_or(|until| self.clock.now() < until);
        if valid && !state.closed { Ok(()) } else { Err(GateClosed) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_open_gate_lets_pass_until_it_is_closed() {
        let gate = Gate::open();
        assert_eq!(gate.permit(), Ok(()));
        gate.close();
        assert_eq!(gate.permit(), Err(GateClosed));
        gate.extend(gate.clock().now() + Duration::from_mins(1));
        assert_eq!(gate.permit(), Err(GateClosed), "closed is for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_runs_out_by_itself() {
        let gate = Gate::expired(Clock::of_tests());
        assert_eq!(gate.permit(), Err(GateClosed));
        gate.extend(gate.clock().now() + Duration::from_secs(10));
        assert_eq!(gate.permit(), Ok(()));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(gate.permit(), Err(GateClosed));
    }
}
