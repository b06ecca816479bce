//! Waiting for a condition: always bounded, never silent for long, and readable when it fails.

use std::future::Future;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use kube::Client;

use crate::diagnose::diagnose;
use crate::progress::PATIENCE;

/// How often a condition is looked at. Short against the API server's own latencies, long against its load.
const INTERVAL: Duration = Duration::from_millis(200);
const REPEAT: Duration = Duration::from_secs(10);

/// What one look at a condition gave.
#[derive(Debug)]
pub enum Seen<T> {
    /// It holds, with what was found.
    Met(T),
    /// It does not hold yet; the text says what was seen instead.
    NotYet(String),
}

/// What a look may return: [`Seen`], or an `Option` when there is nothing to tell.
pub trait Look {
    /// What is found when the condition holds.
    type Found;
    /// As [`Seen`].
    fn seen(self) -> Seen<Self::Found>;
}

impl<T> Look for Seen<T> {
    type Found = T;
    fn seen(self) -> Self {
        self
    }
}

impl<T> Look for Option<T> {
    type Found = T;
    fn seen(self) -> Seen<T> {
        self.map_or_else(|| Seen::NotYet("not yet".into()), Seen::Met)
    }
}

/// Looks until the condition holds or the deadline has passed. An error is a look that failed: the API server may be
/// away for a moment, so it is remembered and told at the end, not returned at once.
pub async fn until<L, Fut>(deadline: Duration, what: &str, mut look: impl FnMut() -> Fut) -> Result<L::Found>
where
    L: Look,
    Fut: Future<Output = Result<L>>,
{
    let begun = Instant::now();
    let mut next_word = PATIENCE;
    let mut last = String::from("never looked");
    loop {
        let left = deadline.saturating_sub(begun.elapsed());
        match tokio::time::timeout(left, look()).await {
            Ok(Ok(result)) => match result.seen() {
                Seen::Met(found) => return Ok(found),
                Seen::NotYet(state) => last = state,
            },
            Ok(Err(error)) => last = format!("{error:#}"),
            Err(_) => {}
        }
        if begun.elapsed() >= deadline {
            return Err(anyhow!(
                "gave up waiting for {what} after {} s; last seen: {last}",
                deadline.as_secs()
            ));
        }
        if begun.elapsed() >= next_word {
            say(what, begun, deadline, &last);
            next_word += REPEAT;
        }
        tokio::time::sleep(INTERVAL.min(deadline.saturating_sub(begun.elapsed()))).await;
    }
}

fn say(what: &str, begun: Instant, deadline: Duration, last: &str) {
    let (now, all) = (begun.elapsed().as_secs(), deadline.as_secs());
    // One line; the whole of it is told if the wait fails.
    let short: String = last.lines().next().unwrap_or_default().chars().take(160).collect();
    eprintln!("… waiting for {what} ({now} s of {all} s): {short}");
}

/// As [`until`]; a failure also tells the states, events and logs of the namespace concerned.
pub async fn until_in<L, Fut>(
    client: &Client,
    namespace: &str,
    deadline: Duration,
    what: &str,
    look: impl FnMut() -> Fut,
) -> Result<L::Found>
where
    L: Look,
    Fut: Future<Output = Result<L>>,
{
    match until(deadline, what, look).await {
        Ok(found) => Ok(found),
        Err(error) => {
            let state = diagnose(client, namespace).await;
            Err(anyhow!("{error:#}\nnamespace {namespace}:\n{state}"))
        }
    }
}

/// Waits without a runtime, for what has no asynchronous face.
pub(crate) fn until_blocking(
    deadline: Duration,
    what: &str,
    mut look: impl FnMut() -> Result<Seen<()>>,
) -> Result<()> {
    let begun = Instant::now();
    let mut next_word = PATIENCE;
    loop {
        let last = match look() {
            Ok(Seen::Met(())) => return Ok(()),
            Ok(Seen::NotYet(state)) => state,
            Err(error) => format!("{error:#}"),
        };
        if begun.elapsed() >= deadline {
            return Err(anyhow!(
                "gave up waiting for {what} after {} s; last seen: {last}",
                deadline.as_secs()
            ));
        }
        if begun.elapsed() >= next_word {
            say(what, begun, deadline, &last);
            next_word += REPEAT;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_found_is_returned() -> Result<()> {
        let mut looks = 0;
        let found = until(Duration::from_secs(5), "the third look", || {
            looks += 1;
            let now = looks;
            async move { Ok((now == 3).then_some(now)) }
        })
        .await?;
        assert_eq!(found, 3);
        Ok(())
    }

    #[tokio::test]
    async fn a_failure_says_what_was_awaited_and_last_seen() {
        let look = || async { Ok::<_, anyhow::Error>(Seen::<()>::NotYet("two of three pods".into())) };
        let error =
            until(Duration::from_millis(10), "three pods", look).await.expect_err("never met").to_string();
        assert!(error.contains("three pods") && error.contains("two of three pods"), "{error}");
    }

    #[tokio::test]
    async fn a_look_that_hangs_is_bounded_too() {
        let look = || async {
            std::future::pending::<()>().await;
            Ok::<_, anyhow::Error>(Some(()))
        };
        assert!(until(Duration::from_millis(20), "nothing", look).await.is_err());
    }
}
