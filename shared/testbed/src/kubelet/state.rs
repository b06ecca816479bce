//! What the fake kubelet remembers of pods, disks and images.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use anyhow::Result;
use ballast_testkit::Disk;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodStatus;

use super::status::Exit;
use crate::ports::Addresses;

/// A pod on a node.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) address: String,
    /// When it was first seen.
    pub(crate) since: Timestamp,
    /// Whether a ticket was used in it.
    pub(crate) note: bool,
    pub(crate) running: Option<Run>,
    pub(crate) restarts: i32,
    /// How the main container last ended.
    pub(crate) last: Option<Exit>,
    /// Not started again before then.
    pub(crate) not_before: Option<Instant>,
    /// What was last written.
    pub(crate) reported: Option<PodStatus>,
    /// Whether it was ready then.
    pub(crate) reported_ready: bool,
}

/// A main container that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) since: Timestamp,
    /// Whether the application under test runs in it; other programs just run, and are ready.
    pub(crate) application: bool,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct State {
    addresses: Addresses,
    /// By uid of the pod.
    pub(crate) pods: HashMap<String, Local>,
    /// By uid of the claim, or of the pod with ephemeral storage.
    pub(crate) disks: BTreeMap<String, Disk>,
    /// Namespace and node of every pod that was given one, by its uid.
    pub(crate) placed: HashMap<String, (String, String)>,
    /// Namespace and image.
    pub(crate) bad_images: BTreeSet<(String, String)>,
    /// Pods to look at because of something that no watch tells: namespace and name.
    pub(crate) nudged: BTreeSet<(String, String)>,
    pub(crate) complaints: Vec<String>,
}

impl State {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            addresses: Addresses::new()?,
            pods: HashMap::new(),
            disks: BTreeMap::new(),
            placed: HashMap::new(),
            bad_images: BTreeSet::new(),
            nudged: BTreeSet::new(),
            complaints: vec![],
        })
    }

    /// How many pods of a namespace a node has, with those that it is about to get.
    pub(crate) fn crowd(&self, namespace: &str, node: &str) -> usize {
        self.placed.values().filter(|(of, on)| of == namespace && on == node).count()
    }

    /// The pod, noted now if it was not yet.
    pub(crate) fn pod(&mut self, uid: &str, namespace: &str, name: &str) -> Result<&mut Local> {
        if !self.pods.contains_key(uid) {
            let local = Local {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                address: self.addresses.take()?.to_string(),
                since: Timestamp::now(),
                note: false,
                running: None,
                restarts: 0,
                last: None,
                not_before: None,
                reported: None,
                reported_ready: false,
            };
            self.pods.insert(uid.to_owned(), local);
        }
        self.pods.get_mut(uid).ok_or_else(|| anyhow::anyhow!("the pod was just noted"))
    }

    /// Remembers that something went wrong, for whoever looks for the reason of a test that fails.
    pub(crate) fn complain(&mut self, what: String) {
        if self.complaints.len() < 200 {
            self.complaints.push(what);
        }
    }
}
