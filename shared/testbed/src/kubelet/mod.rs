//! The fake kubelets, with scheduler and provisioner: one task that follows pods and claims of all namespaces and does
//! what nodes would do.
//!
//! | module | what |
//! |---|---|
//! | `place` | which node takes a pod |
//! | `pod` | one look at one pod |
//! | `start` | the start of its main container |
//! | `volume` | claims and their volumes |
//! | `status` | what is reported |
//! | `state` | what is remembered |
//! | `table` | objects as a watch tells them |
//! | `follow` | the loop |
//!
//! A pod whose main container is not started by the guard just runs, and is ready: nothing of it is simulated.

mod follow;
mod place;
mod pod;
mod start;
mod state;
mod status;
mod table;
mod volume;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use ballast_testkit::Disk;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::Client;

use crate::Application;
use state::State;
use status::Exit;
use table::Table;

pub use place::Place;
pub use volume::CLASS as STORAGE_CLASS;
pub(crate) use {follow::follow, place::places, volume::PROVISIONER};

/// Namespace and name of an object.
type Key = (String, String);

/// When something is looked at again, if nothing happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Wait,
    Again(Duration),
}

/// All kubelets of a testbed.
pub struct Kubelets {
    client: Client,
    application: Arc<dyn Application>,
    places: Vec<Place>,
    state: Mutex<State>,
    /// The objects as they were last seen.
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    pods: Table<Pod>,
    claims: Table<PersistentVolumeClaim>,
}

impl std::fmt::Debug for Kubelets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubelets").field("state", &*self.state()).finish_non_exhaustive()
    }
}

impl Kubelets {
    pub(crate) fn new(client: Client, application: Arc<dyn Application>) -> Result<Self> {
        Ok(Self {
            client,
            application,
            places: places(),
            state: Mutex::new(State::new()?),
            seen: Mutex::default(),
        })
    }

    /// An image of a namespace cannot be pulled from now on, or can again. Containers that run are left alone.
    pub fn break_image(&self, namespace: &str, image: &str, broken: bool) {
        let key = (namespace.to_owned(), image.to_owned());
        let mut state = self.state();
        if broken {
            state.bad_images.insert(key);
        } else {
            state.bad_images.remove(&key);
        }
    }

    /// Everything on a disk is gone: marker and data. What runs on it does not notice.
    pub fn wipe(&self, disk: &str) {
        if let Some(disk) = self.state().disks.get_mut(disk) {
            disk.marker = None;
            disk.data = false;
        }
    }

    /// A disk has no room left, so that no application starts on it, or has some again. What runs does not notice.
    pub fn fill(&self, disk: &str, full: bool) {
        if let Some(disk) = self.state().disks.get_mut(disk) {
            disk.full = full;
        }
    }

    /// The main container of the pod with this uid is killed; it starts again after its back-off.
    pub fn kill_container(&self, pod: &str) {
        self.stop(pod);
        let exit = Exit { code: 137, message: String::new(), at: Timestamp::now() };
        // A pod that is gone has no container to be killed.
        let _ = self.ended(pod, exit);
    }

    /// The disks, by uid of their claim, or of their pod with ephemeral storage.
    pub fn disks(&self) -> BTreeMap<String, Disk> {
        self.state().disks.clone()
    }

    /// uids of the pods of a namespace in which the application runs.
    pub fn processes(&self, namespace: &str) -> Vec<String> {
        let state = self.state();
        let runs = state.pods.iter().filter(|(_, local)| {
            local.namespace == namespace && local.running.is_some_and(|run| run.application)
        });
        runs.map(|(uid, _)| uid.clone()).collect()
    }

    /// What went wrong inside the fake kubelets: empty unless the API server refused something unexpected.
    pub fn complaints(&self) -> Vec<String> {
        self.state().complaints.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main container of a pod does not run any more.
    fn stop(&self, uid: &str) {
        let ran = self.state().pods.get_mut(uid).and_then(|local| local.running.take());
        if ran.is_some_and(|run| run.application) {
            self.application.stop(uid);
        }
    }

    /// A pod is gone, with what only lived in it.
    fn forget(&self, uid: &str) {
        self.stop(uid);
        let mut state = self.state();
        state.pods.remove(uid);
        state.placed.remove(uid);
        if state.disks.remove(uid).is_some() {
            drop(state);
            self.application.disk_removed(uid);
        }
    }
}

/// Somebody else was quicker: the object has changed or is gone, and the watch will tell.
fn unless_changed<T>(outcome: kube::Result<T>) -> Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}
