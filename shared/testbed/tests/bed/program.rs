//! An application that remembers how it was started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use ballast_testbed::{Application, Process, Start};

#[derive(Default)]
struct State {
    running: BTreeMap<String, (Process, Start)>,
    unready: BTreeSet<String>,
    ended: Vec<String>,
    removed: Vec<String>,
}

/// Ready as long as it runs, unless a test says otherwise.
#[derive(Default)]
pub struct Echo(Mutex<State>);

impl Echo {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// How the application in a pod was started.
    pub fn started(&self, pod: &str) -> Option<(Process, Start)> {
        self.state().running.get(pod).cloned()
    }

    /// It stops to be ready.
    pub fn unready(&self, pod: &str) {
        self.state().unready.insert(pod.to_owned());
    }

    /// It ends by itself.
    pub fn end(&self, pod: &str) {
        let mut state = self.state();
        state.running.remove(pod);
        state.ended.push(pod.to_owned());
    }

    /// Whether this disk was told to be gone.
    pub fn removed(&self, disk: &str) -> bool {
        self.state().removed.iter().any(|removed| removed == disk)
    }
}

impl Application for Echo {
    fn start(&self, process: &Process, how: &Start) -> Result<(), String> {
        if process.command.iter().any(|word| word == "--fail") {
            return Err("told to fail".to_owned());
        }
        self.state().running.insert(process.pod.clone(), (process.clone(), how.clone()));
        Ok(())
    }

    fn stop(&self, pod: &str) {
        self.state().running.remove(pod);
    }

    fn ready(&self, pod: &str) -> bool {
        let state = self.state();
        state.running.contains_key(pod) && !state.unready.contains(pod)
    }

    fn ended(&self) -> Vec<String> {
        std::mem::take(&mut self.state().ended)
    }

    fn disk_removed(&self, disk: &str) {
        self.state().removed.push(disk.to_owned());
    }
}
