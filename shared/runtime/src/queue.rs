//! The queue of resources to be looked at: each at most once, each never twice at the same time.
//!
//! A resource that changes while its pass is running is looked at again afterwards. The first change after a while is
//! looked at at once; those that follow a pass closely are gathered for a moment, since they rarely come alone.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::operator::ResourceKey;

/// Changes that follow a pass closely are looked at together.
const GATHER: Duration = Duration::from_millis(50);

/// When which resource is due.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    due: BTreeSet<(Instant, ResourceKey)>,
    waiting: HashMap<ResourceKey, Instant>,
    /// Resources that are being looked at, and when to look again at those that changed meanwhile.
    running: HashMap<ResourceKey, Option<Instant>>,
    /// When the pass ended of resources that were looked at a moment ago.
    ended: HashMap<ResourceKey, Instant>,
}

impl Queue {
    /// Asks for a look at `key` after `delay`, or earlier if that was asked for already.
    pub fn add(&self, key: ResourceKey, delay: Duration) {
        self.state().schedule(key, Instant::now() + delay);
        self.changed.notify_one();
    }

    /// Something happened to `key`.
    pub fn notice(&self, key: ResourceKey) {
        let mut state = self.state();
        let now = Instant::now();
        let busy = state.running.contains_key(&key)
            || state.ended.get(&key).is_some_and(|ended| now.duration_since(*ended) < GATHER);
        state.schedule(key, if busy { now + GATHER } else { now });
        drop(state);
        self.changed.notify_one();
    }

    /// The next resource that is due; it counts as running until [`Queue::done`]. For one caller.
    pub async fn next(&self) -> ResourceKey {
        loop {
            let changed = self.changed.notified();
            let first = {
                let mut state = self.state();
                match state.due.first().map(|(at, _)| *at) {
                    Some(at) if at <= Instant::now() => {
                        if let Some((_, key)) = state.due.pop_first() {
                            state.waiting.remove(&key);
                            state.running.insert(key.clone(), None);
                            return key;
                        }
                        None
                    }
                    first => first,
                }
            };
            match first {
                Some(at) => {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// The pass of `key` begins now: what changed before it will be seen by it.
    pub fn begin(&self, key: &ResourceKey) {
        if let Some(again) = self.state().running.get_mut(key) {
            *again = None;
        }
    }

    /// The pass of `key` is over; look again after `next`, or when something changes.
    pub fn done(&self, key: ResourceKey, next: Option<Duration>) {
        let mut state = self.state();
        let changed = state.running.remove(&key).flatten();
        let now = Instant::now();
        state.ended.retain(|_, ended| now.duration_since(*ended) < GATHER);
        state.ended.insert(key.clone(), now);
        let wanted = next.map(|delay| now + delay);
        if let Some(at) = changed.into_iter().chain(wanted).min() {
            state.schedule(key, at);
        }
        drop(state);
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn schedule(&mut self, key: ResourceKey, at: Instant) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = Some(again.map_or(at, |have| have.min(at)));
            return;
        }
        match self.waiting.get(&key) {
            Some(have) if *have <= at => return,
            Some(have) => {
                self.due.remove(&(*have, key.clone()));
            }
            None => {}
        }
        self.waiting.insert(key.clone(), at);
        self.due.insert((at, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ResourceKey {
        ResourceKey { namespace: "n".into(), name: name.into() }
    }

    async fn idle(queue: &Queue, within: Duration) -> bool {
        tokio::time::timeout(within, queue.next()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_wish_wins_and_is_granted_once() {
        let queue = Queue::default();
        queue.add(key("a"), Duration::from_mins(5));
        queue.add(key("a"), Duration::from_secs(1));
        queue.add(key("a"), Duration::from_mins(1));
        let start = Instant::now();
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(start.elapsed().as_secs(), 1);
        queue.done(key("a"), None);
        assert!(idle(&queue, Duration::from_mins(10)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn never_twice_at_the_same_time_but_again_afterwards() {
        let queue = Queue::default();
        queue.add(key("a"), Duration::ZERO);
        queue.next().await;
        queue.begin(&key("a"));
        queue.add(key("a"), Duration::ZERO);
        assert!(idle(&queue, Duration::from_secs(5)).await);
        queue.done(key("a"), Some(Duration::from_mins(5)));
        assert!(!idle(&queue, Duration::from_secs(1)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn what_changed_before_the_pass_began_is_not_looked_at_twice() {
        let queue = Queue::default();
        queue.add(key("a"), Duration::ZERO);
        queue.next().await;
        queue.add(key("a"), Duration::ZERO);
        queue.begin(&key("a"));
        queue.done(key("a"), None);
        assert!(idle(&queue, Duration::from_mins(1)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_change_is_looked_at_at_once_and_what_follows_is_gathered() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.notice(key("a"));
        queue.next().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        queue.begin(&key("a"));
        queue.done(key("a"), None);
        for _ in 0..3 {
            tokio::time::advance(Duration::from_millis(10)).await;
            queue.notice(key("a"));
        }
        queue.next().await;
        assert_eq!(start.elapsed(), Duration::from_millis(10) + GATHER, "from the first that followed");
        queue.begin(&key("a"));
        queue.notice(key("a"));
        queue.done(key("a"), None);
        let ended = Instant::now();
        queue.next().await;
        assert_eq!(ended.elapsed(), GATHER, "what came during the pass is gathered too");
        queue.done(key("a"), None);
        tokio::time::advance(GATHER).await;
        queue.notice(key("a"));
        assert!(!idle(&queue, Duration::ZERO).await, "it was quiet for a while");
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_caller_sees_an_earlier_wish() {
        let queue = std::sync::Arc::new(Queue::default());
        queue.add(key("late"), Duration::from_mins(1));
        let caller = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        queue.add(key("soon"), Duration::ZERO);
        assert_eq!(caller.await.unwrap(), key("soon"));
    }
}
