//! The open connections of one cluster: at most one per node and listener, opened when it is needed.
//!
//! A request takes the connection out and puts it back when its answer is read. Whatever ends in between, also a future that is
//! dropped, closes the connection. There is no task in the background.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout_at};

use super::{
    Settings,
    address::{Directory, Listener},
    call::Call,
    connection::{Connection, Failure, Progress},
    error::{Cause, Error, Refusal, Unknown, code},
};

/// A listener of a node.
pub(super) type Place = (i32, Listener);

/// Locked while a request is under way: the next one waits for its turn, within its own time.
type Slot = Arc<tokio::sync::Mutex<Option<Connection>>>;

pub(super) struct Pool {
    pub directory: Arc<dyn Directory>,
    pub settings: Settings,
    slots: Mutex<HashMap<Place, Slot>>,
}

/// When a request must be done, and how long that was from the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub at: Instant,
    pub total: Duration,
}

impl Deadline {
    pub fn after(total: Duration) -> Self {
        Self { at: Instant::now() + total, total }
    }

    /// What is left.
    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// A part of what is left, so that somebody else can still be asked.
    pub fn half(&self) -> Self {
        let total = self.left() / 2;
        Self { at: Instant::now() + total, total }
    }
}

impl Pool {
    pub fn new(directory: Arc<dyn Directory>, settings: Settings) -> Self {
        Self { directory, settings, slots: Mutex::default() }
    }

    /// Closes the connections that are not in use just now.
    pub fn close(&self) {
        self.slots().clear();
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<Place, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks one node. A connection that turns out to have ended since its last use is replaced once, if the request only reads.
    pub async fn ask<C: Call>(
        &self,
        place: Place,
        request: &C,
        deadline: Deadline,
    ) -> Result<C::Answer, Error> {
        let mut progress = Progress::default();
        let failure = match timeout_at(deadline.at, self.attempt(place, request, &mut progress)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => failure,
            Err(_) => Cause::Deadline(deadline.total).into(),
        };
        Err(match failure {
            Failure::Unsupported(message) => {
                Error::Refused(Refusal { code: code::UNSUPPORTED_VERSION, message })
            }
            Failure::Broken(cause) => {
                let may_have_been_applied = C::MUTATES && progress.sent;
                Unknown { cause, may_have_been_applied }.into()
            }
        })
    }

    async fn attempt<C: Call>(
        &self,
        place: Place,
        request: &C,
        progress: &mut Progress,
    ) -> Result<C::Answer, Failure> {
        let address = self.directory.address(place.0, place.1).ok_or(Cause::NoAddress)?;
        let slot = self.slot(place);
        let mut slot = slot.lock().await;
        if let Some(mut connection) = slot.take()
            && connection.is_usable(&address)
        {
            match connection.exchange(request, &self.settings, progress).await {
                Err(Failure::Broken(Cause::Disconnected(_))) if !C::MUTATES => {}
                Err(broken @ Failure::Broken(_)) => return Err(broken),
                outcome => {
                    *slot = Some(connection);
                    return outcome;
                }
            }
        }
        let mut connection = Connection::open(&address, &self.settings).await?;
        let outcome = connection.exchange(request, &self.settings, progress).await;
        if !matches!(outcome, Err(Failure::Broken(_))) {
            *slot = Some(connection);
        }
        outcome
    }

    /// The connection to a node, if there is one. Others that nobody has used for long are closed by the way.
    fn slot(&self, place: Place) -> Slot {
        let mut slots = self.slots();
        slots.retain(|_, slot| {
            let idle = slot.try_lock().is_ok_and(|slot| !slot.as_ref().is_some_and(Connection::is_fresh));
            // Somebody else has it who is about to use it.
            !idle || Arc::strong_count(slot) > 1
        });
        Arc::clone(slots.entry(place).or_default())
    }
}
