//! Tells people what is being done, how far it is and how long it has taken.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long something may stay silent.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How often something long repeats that it is still running.
const REPEAT: Duration = Duration::from_secs(10);

/// The steps of one command, each printed to standard error with the time since the command began.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    started: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Self::start()
    }
}

impl Progress {
    /// Starts the clock.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// Prints one line.
    pub fn say(&self, text: impl AsRef<str>) {
        eprintln!("[{:6.1} s] {}", self.started.elapsed().as_secs_f64(), text.as_ref());
    }

    /// Does `work`, saying `what` after two seconds and then every ten until it is done.
    pub fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        let (done, waiting) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let begun = Instant::now();
                let mut pause = PATIENCE;
                while waiting.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                    self.say(format!("… {what} ({} s)", begun.elapsed().as_secs()));
                    pause = REPEAT;
                }
            });
            let result = work();
            drop(done);
            result
        })
    }
}
