//! Network namespaces: entering one, and doing work inside one.

use std::fs::File;
use std::future::Future;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

use crate::wait::{Seen, until_blocking};

/// Moves the calling thread into a named network namespace.
fn enter_thread(name: &str) -> Result<()> {
    let path = format!("/run/netns/{name}");
    let file = File::open(&path)
        .with_context(|| format!("no network namespace {name}: is the lab up? Run `lab up`"))?;
    setns(file, CloneFlags::CLONE_NEWNET)
        .with_context(|| format!("cannot enter network namespace {name}: the lab needs root"))
}

/// Moves the whole process into a named network namespace. Threads do not follow one another, so there may be only one.
pub(crate) fn enter_process(name: &str) -> Result<()> {
    // A thread that was joined may take a moment to leave the process.
    until_blocking(Duration::from_secs(5), "all other threads of the process to end", || {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        Ok(if threads == 1 {
            Seen::Met(())
        } else {
            Seen::NotYet(format!("{threads} threads: enter the lab first in main, before any runtime starts"))
        })
    })?;
    enter_thread(name)
}

/// Does `work` on a thread of its own inside a namespace.
pub(crate) fn within<T: Send>(name: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        scope
            .spawn(|| {
                enter_thread(name)?;
                work()
            })
            .join()
            .map_err(|_| anyhow!("the work inside network namespace {name} panicked"))?
    })
}

/// Runs asynchronous work to its end on a thread of its own inside a namespace. The runtime's helper threads are born there.
pub(crate) fn block_on<T, F>(name: &str, work: impl FnOnce() -> F + Send) -> Result<T>
where
    T: Send,
    F: Future<Output = Result<T>>,
{
    within(name, || tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work()))
}
