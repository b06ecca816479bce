//! The loop: what changed is looked at, each object by one look at a time, many objects at once.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::Api;
use kube::runtime::{WatchStreamExt, watcher};

use super::status::Exit;
use super::table::Change;
use super::{Key, Kubelets, Next, volume};

/// How often readiness is probed, and what is due looked for.
const PROBE: Duration = Duration::from_millis(25);
/// Looks at the same time.
const AT_ONCE: usize = 48;
/// After a look that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Work {
    Pod(Key),
    Claim(Key),
    /// The volume of a claim with this uid is to be removed.
    Volume(String),
}

/// What is to be looked at, and when.
#[derive(Default)]
struct Agenda {
    dirty: BTreeSet<Work>,
    busy: HashSet<Work>,
    due: Vec<(Instant, Work)>,
}

impl Agenda {
    fn take(&mut self) -> Option<Work> {
        let work = self.dirty.iter().find(|work| !self.busy.contains(*work))?.clone();
        self.dirty.remove(&work);
        self.busy.insert(work.clone());
        Some(work)
    }

    fn done(&mut self, work: Work, next: Next) {
        self.busy.remove(&work);
        if let Next::Again(wait) = next {
            self.due.push((Instant::now() + wait, work));
        }
    }

    fn ring(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.due).into_iter().partition(|(then, _)| *then <= now);
        self.due = later;
        let due: Vec<(Instant, Work)> = due;
        self.dirty.extend(due.into_iter().map(|(_, work)| work));
    }
}

/// Runs for ever.
pub(crate) async fn follow(kubelets: Arc<Kubelets>) {
    let pods = Api::<Pod>::all(kubelets.client.clone());
    let claims = Api::<PersistentVolumeClaim>::all(kubelets.client.clone());
    let mut pods = watcher(pods, watcher::Config::default()).default_backoff().boxed();
    let mut claims = watcher(claims, watcher::Config::default()).default_backoff().boxed();
    let mut probes = tokio::time::interval(PROBE);
    probes.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut looks: FuturesUnordered<BoxFuture<'static, (Work, Next)>> = FuturesUnordered::new();
    let mut agenda = Agenda::default();
    loop {
        while looks.len() < AT_ONCE
            && let Some(work) = agenda.take()
        {
            let kubelets = kubelets.clone();
            looks.push(async move { kubelets.look(work).await }.boxed());
        }
        tokio::select! {
            Some(event) = pods.next() => match event {
                Ok(event) => kubelets.pod_event(event, &mut agenda),
                Err(error) => kubelets.state().complain(format!("watching pods: {error}")),
            },
            Some(event) = claims.next() => match event {
                Ok(event) => kubelets.claim_event(event, &mut agenda),
                Err(error) => kubelets.state().complain(format!("watching claims: {error}")),
            },
            Some((work, next)) = looks.next() => agenda.done(work, next),
            _ = probes.tick() => {
                agenda.ring();
                kubelets.probe(&mut agenda);
            }
        }
    }
}

impl Kubelets {
    async fn look(&self, work: Work) -> (Work, Next) {
        let outcome = match &work {
            Work::Pod(key) => {
                let pod = self.seen().pods.get(key).cloned();
                match pod {
                    Some(pod) => self.attend(&pod).await,
                    None => Ok(Next::Wait),
                }
            }
            Work::Claim(key) => {
                let claim = self.seen().claims.get(key).cloned();
                match claim {
                    Some(claim) => volume::grow(&self.client, &claim).await.map(|()| Next::Wait),
                    None => Ok(Next::Wait),
                }
            }
            Work::Volume(uid) => volume::remove(&self.client, uid).await.map(|()| Next::Wait),
        };
        let next = outcome.unwrap_or_else(|error| {
            let expected = error.downcast_ref::<kube::Error>().is_some_and(
                |error| matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409)),
            );
            if !expected {
                self.state().complain(format!("{work:?}: {error:#}"));
            }
            Next::Again(AFTER_FAILURE)
        });
        (work, next)
    }

    fn pod_event(&self, event: watcher::Event<Pod>, agenda: &mut Agenda) {
        // Not in the head of the loop, where the lock would be held for all of it.
        let changes = self.seen().pods.take(event);
        for change in changes {
            match change {
                Change::Now(key) => {
                    agenda.dirty.insert(Work::Pod(key));
                }
                Change::Gone(uid) => self.forget(&uid),
            }
        }
    }

    fn claim_event(&self, event: watcher::Event<PersistentVolumeClaim>, agenda: &mut Agenda) {
        // Not in the head of the loop, where the lock would be held for all of it.
        let changes = self.seen().claims.take(event);
        for change in changes {
            match change {
                Change::Now(key) => {
                    agenda.dirty.insert(Work::Claim(key));
                }
                Change::Gone(uid) => {
                    if self.state().disks.remove(&uid).is_some() {
                        self.application.disk_removed(&uid);
                    }
                    agenda.dirty.insert(Work::Volume(uid));
                }
            }
        }
    }

    /// Asks the application what ended and what is ready now.
    fn probe(&self, agenda: &mut Agenda) {
        for uid in self.application.ended() {
            let ran = self.state().pods.get_mut(&uid).and_then(|local| local.running.take());
            if ran.is_some() {
                let exit = Exit { code: 1, message: String::new(), at: Timestamp::now() };
                // The pod is there: it was just looked up. A later event has its own say.
                let _ = self.ended(&uid, exit);
            }
        }
        let (nudged, pods) = {
            let mut state = self.state();
            let runs =
                state.pods.iter().filter(|(_, local)| local.running.is_some_and(|run| run.application));
            let pods: Vec<(String, Key, bool)> = runs
                .map(|(uid, local)| {
                    (uid.clone(), (local.namespace.clone(), local.name.clone()), local.reported_ready)
                })
                .collect();
            (std::mem::take(&mut state.nudged), pods)
        };
        agenda.dirty.extend(nudged.into_iter().map(Work::Pod));
        let turned = pods.into_iter().filter(|(uid, _, reported)| self.application.ready(uid) != *reported);
        agenda.dirty.extend(turned.map(|(_, key, _)| Work::Pod(key)));
    }
}
