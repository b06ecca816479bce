//! One EtcdCluster in the simulated world, with everything around it that moves: controllers, etcd, clients, watchers.

use std::collections::BTreeSet;

use ballast_core::object::Kind;
use ballast_etcd_core::{
    api::EtcdCluster,
    validate::{Desired, Environment, validate},
};
use ballast_testkit::{World, samples};
use jiff::Timestamp;
use serde_json::{Value, json};

use ballast_etcd_simulated::model::{Cluster, Etcd, Running};

pub const NAME: &str = "my";
const STEP_SECONDS: i64 = 3;
const TRACE: usize = 40;

/// Everything.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub world: World,
    pub etcd: Etcd,
    pub resource: EtcdCluster,
    pub environment: Environment,
    /// The operator dies before its next write once this many are done.
    pub crash_after: Option<u32>,
    /// Whether the controllers act between the writes of one pass, or only afterwards.
    pub eager: bool,
    /// How many writes the operator has sent.
    pub writes: u64,
    /// Members that the operator has stopped and that do not serve again yet.
    pub disrupted: BTreeSet<String>,
    /// What the cached look sees instead of what is there.
    pub stale: Option<ballast_core::object::Children>,
    pub trace: Vec<String>,
    /// What held the last plan back: predicate and reason.
    pub blocked: Vec<(String, String)>,
    /// Every intent so far.
    pub intents: Vec<String>,
    /// Why the last pass did not finish.
    pub error: Option<String>,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Quiet,
    Wrote,
    Crashed,
    Invalid,
}

pub fn resource(name: &str, uid: &str, spec: &Value) -> EtcdCluster {
    samples::resource(name, uid, spec).unwrap()
}

/// A specification with short deadlines.
pub fn spec(replicas: i32) -> Value {
    json!({
        "replicas": replicas,
        "version": "3.6.16",
        "storage": {"size": "1Gi"},
        "repair": {"restartAfter": "30s", "replaceAfter": "90s"},
    })
}

impl Simulation {
    /// A world of six nodes in three zones, with this resource.
    pub fn new(spec: &Value) -> Self {
        let nodes = [("n1", "a"), ("n2", "b"), ("n3", "c"), ("n4", "a"), ("n5", "b"), ("n6", "c")];
        Self::on(&nodes, spec)
    }

    pub fn on(nodes: &[(&str, &str)], spec: &Value) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        Self {
            world: World::new(nodes, now),
            etcd: Etcd::new(now),
            resource: resource(NAME, "11111111-aaaa", spec),
            environment: environment(),
            crash_after: None,
            eager: true,
            writes: 0,
            disrupted: BTreeSet::new(),
            stale: None,
            trace: vec![],
            blocked: vec![],
            intents: vec![],
            error: None,
        }
    }

    pub fn desired(&self) -> Option<Desired> {
        validate(&self.resource, &self.environment).ok()
    }

    /// The user edits the specification: a JSON merge patch.
    pub fn edit(&mut self, patch: &Value) {
        let mut spec = serde_json::to_value(&self.resource.spec).unwrap();
        merge(&mut spec, patch);
        self.resource.spec = serde_json::from_value(spec).unwrap();
        self.resource.metadata.generation =
            self.resource.metadata.generation.map(|generation| generation + 1);
    }

    /// The user sets or removes an annotation.
    pub fn annotate(&mut self, key: &str, value: Option<&str>) {
        let annotations = self.resource.metadata.annotations.get_or_insert_default();
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
    }

    pub fn note(&mut self, what: String) {
        self.trace.push(what);
    }

    /// Time passes; controllers, kubelets, etcd and clients do what they do.
    pub fn tick(&mut self) {
        self.world.advance(STEP_SECONDS);
        self.settle();
    }

    pub fn advance(&mut self, seconds: i64) {
        for _ in 0..seconds / STEP_SECONDS {
            self.tick();
        }
    }

    pub fn settle(&mut self) {
        self.world.step(&mut self.etcd);
        self.etcd.tick(self.world.now());
        self.world.step(&mut self.etcd);
        if self.world.live(Kind::Service, &format!("{NAME}-client")).is_some()
            && let Some(cluster) = self.cluster().map(|cluster| cluster.id)
        {
            self.etcd.write(cluster);
        }
        let back: Vec<String> = self
            .disrupted
            .iter()
            .filter(|member| {
                self.running(member).is_some_and(|running| self.etcd.serves(running)) || !self.listed(member)
            })
            .cloned()
            .collect();
        for member in back {
            self.disrupted.remove(&member);
        }
        self.check();
    }

    /// The etcd cluster; the watchers make sure that there is only one.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.etcd.clusters.values().next()
    }

    pub fn running(&self, member: &str) -> Option<&Running> {
        self.etcd.running.values().find(|running| running.process.member == member)
    }

    pub fn listed(&self, member: &str) -> bool {
        let host = format!("//{member}-0.");
        self.cluster().is_some_and(|cluster| cluster.members.values().any(|entry| entry.url.contains(&host)))
    }

    /// Passes until nothing is left to do and everything is as it should be.
    ///
    /// # Panics
    /// When that takes too many.
    pub fn converge(&mut self) -> usize {
        self.converge_within(400)
    }

    pub fn converge_within(&mut self, most: usize) -> usize {
        let mut quiet = 0;
        for pass in 0..most {
            let result = self.pass();
            self.tick();
            quiet = if result == Pass::Quiet && self.unfinished().is_none() { quiet + 1 } else { 0 };
            if quiet == 4 {
                return pass;
            }
        }
        self.fail(&format!("not converged after {most} passes: {:?}", self.unfinished()))
    }

    /// A converged cluster of this specification.
    pub fn converged(spec: &Value) -> Self {
        let mut sim = Self::new(spec);
        sim.converge();
        sim
    }

    /// etcd's id of a member.
    pub fn id(&self, member: &str) -> Option<u64> {
        let host = format!("//{member}-0.");
        let members = &self.cluster()?.members;
        members.iter().find(|(_, entry)| entry.url.contains(&host)).map(|(id, _)| *id)
    }

    /// Name of the claim that a member's pod mounts.
    pub fn claim_of(&self, member: &str) -> String {
        let pod = self.world.pod(&format!("{member}-0")).unwrap();
        let volumes = pod.spec.as_ref().unwrap().volumes.as_ref().unwrap();
        volumes
            .iter()
            .find_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.clone()))
            .unwrap()
    }

    /// The disk of a member that runs.
    pub fn disk_of(&self, member: &str) -> String {
        self.running(member).unwrap().process.disk.clone()
    }

    /// The node of a member's pod.
    pub fn node_of(&self, member: &str) -> String {
        let pod = self.world.pod(&format!("{member}-0")).unwrap();
        pod.spec.as_ref().unwrap().node_name.clone().unwrap()
    }

    /// The member that leads.
    pub fn leader(&self) -> String {
        let cluster = self.cluster().unwrap();
        cluster.members[&cluster.leader.unwrap()].name.clone()
    }

    /// How often an intent was carried out since then.
    pub fn count(&self, intent: &str) -> usize {
        self.intents.iter().filter(|have| *have == intent).count()
    }

    /// The status of a condition, and its reason.
    pub fn condition(&self, type_: &str) -> (String, String) {
        let conditions =
            self.resource.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let condition = conditions.iter().find(|condition| condition.type_ == type_).unwrap();
        (condition.status.clone(), condition.reason.clone())
    }

    /// Passes until something is so.
    ///
    /// # Panics
    /// When it never is.
    pub fn until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..200 {
            if done(self) {
                return;
            }
            self.pass();
            self.tick();
        }
        self.fail("what was waited for never came");
    }

    /// Passes, all of them; nothing is expected.
    pub fn run(&mut self, passes: usize) {
        for _ in 0..passes {
            self.pass();
            self.tick();
        }
    }

    /// Passes until the plan is held back by this reason, and another twenty in which it stays so.
    pub fn run_until_blocked(&mut self, reason: &str) {
        let mut held = 0;
        for _ in 0..200 {
            self.pass();
            self.tick();
            held = if self.blocked.iter().any(|(_, have)| have == reason) { held + 1 } else { 0 };
            if held == 20 {
                return;
            }
        }
        self.fail(&format!("never held back by {reason}, only by {:?}", self.blocked));
    }

    /// Ends the test with what is known.
    #[track_caller]
    pub fn fail(&self, why: &str) -> ! {
        let from = self.trace.len().saturating_sub(TRACE);
        let list = self.cluster().map(|cluster| &cluster.members);
        panic!(
            "{why}\nblocked: {:?}\nerror: {:?}\nlist: {list:#x?}\nrunning: {:?}\npods: {:?}\nlast writes:\n  {}",
            self.blocked,
            self.error,
            self.etcd.running.values().map(|running| &running.process.member).collect::<Vec<_>>(),
            self.resource.status.as_ref().map(|status| {
                status
                    .members
                    .iter()
                    .map(|m| format!("{} {} {} {:?}", m.name, m.role, m.health, m.doing))
                    .collect::<Vec<_>>()
            }),
            self.trace[from..].join("\n  ")
        )
    }
}

/// Brings `sim` to its end; on the way, at every write, another one dies before it and must come to the same end.
pub fn crash_everywhere(mut sim: Simulation) -> Simulation {
    let mut quiet = 0;
    for _ in 0..400 {
        let fork = sim.clone();
        let before = sim.writes;
        let pass = sim.pass();
        for write in 0..sim.writes - before {
            let mut fork = fork.clone();
            fork.crash_after = u32::try_from(write).ok();
            assert_eq!(fork.pass(), Pass::Crashed);
            fork.tick();
            fork.converge();
        }
        sim.tick();
        quiet = if pass == Pass::Quiet && sim.unfinished().is_none() { quiet + 1 } else { 0 };
        if quiet == 4 {
            return sim;
        }
    }
    sim.fail("not converged")
}

pub fn environment() -> Environment {
    samples::environment("ballast/etcd-operator:test")
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                if value.is_null() {
                    target.remove(key);
                } else {
                    merge(target.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
