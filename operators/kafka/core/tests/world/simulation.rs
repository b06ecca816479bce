//! One KafkaCluster in the simulated world: passes of the operator, one write after the other, and what moves around it.

mod moves;

use std::time::Duration;

use ballast_core::{
    bootstrap::Record,
    build::config_map,
    difference,
    guard::{Ticket, TicketKind},
    object::{Children, Companion, Kind, Object},
    plan::{Intent as _, Plan},
};
use ballast_kafka_core::{
    APPLICATION,
    api::{KafkaCluster, kafka_rebalance::KafkaRebalanceStatus},
    build::{self, Place},
    intent::Intent,
    observed::{Node, Observed, observe},
    plan::plan,
    progress::Progress,
    status,
    validate::{Desired, Environment, Pool, validate},
};
use ballast_testkit::{World, samples};
use jiff::Timestamp;
use serde_json::Value;

use crate::model::Kafka;

pub const NAME: &str = "my";

/// The operator died before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Died;

#[derive(Clone, Debug)]
pub struct Simulation {
    pub world: World,
    pub kafka: Kafka,
    pub resource: KafkaCluster,
    /// What people ask for.
    pub asked: Vec<Companion>,
    pub crash_after: Option<u32>,
    /// The next intent is refused: nothing of it is done, and the status is written all the same.
    pub refuse: bool,
    pub writes: u32,
    pub intents: Vec<String>,
    pub blocked: Vec<String>,
    pub trace: Vec<String>,
    /// What the operator remembers of copies, until it dies.
    progress: Progress,
}

pub fn environment() -> Environment {
    samples::environment("ballast/kafka-operator:test")
}

pub fn resource(spec: &Value) -> KafkaCluster {
    samples::resource(NAME, "11111111-2222-4333-8444-555555555555", spec).unwrap()
}

impl Simulation {
    pub fn new(spec: &Value) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let nodes = [("n1", "a"), ("n2", "b"), ("n3", "c"), ("n4", "a"), ("n5", "b"), ("n6", "c")];
        Self {
            world: World::new(&nodes, now),
            kafka: Kafka::new(),
            resource: resource(spec),
            asked: vec![],
            crash_after: None,
            refuse: false,
            writes: 0,
            intents: vec![],
            blocked: vec![],
            trace: vec![],
            progress: Progress::default(),
        }
    }

    /// A converged cluster whose topic lies on the first three brokers.
    pub fn converged(spec: &Value) -> Self {
        let mut sim = Self::new(spec);
        sim.converge();
        let brokers: Vec<i32> = sim.kafka.registered.keys().copied().take(3).collect();
        sim.kafka.only(&brokers);
        sim
    }

    pub fn desired(&self) -> Desired {
        validate(&self.resource, &environment()).unwrap()
    }

    /// Pools that are gone from the specification and known from what they left.
    pub fn departing(&self) -> Vec<String> {
        let all = self.desired().with_departing(&self.children()).into_owned();
        all.pools.into_iter().filter(|pool| pool.departing).map(|pool| pool.name).collect()
    }

    fn children(&self) -> Children {
        Children { companions: self.asked.clone(), ..self.world.children(APPLICATION, NAME) }
    }

    /// Somebody asks for a rebalance.
    pub fn ask(&mut self, name: &str, spec: Value) {
        self.asked.push(Companion {
            kind: "KafkaRebalance".to_owned(),
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            generation: Some(1),
            spec,
            ..Companion::default()
        });
    }

    /// What is told of a rebalance.
    pub fn told_of(&self, name: &str) -> KafkaRebalanceStatus {
        let asked = self.asked.iter().find(|asked| asked.name == name).unwrap();
        serde_json::from_value(asked.status.clone()).unwrap_or_default()
    }

    /// What it remembered is gone.
    pub fn restart_operator(&mut self) {
        self.progress = Progress::default();
    }

    pub fn tick(&mut self) {
        self.time_passes(3);
    }

    /// So many seconds pass, in which copies get on by one step.
    pub fn time_passes(&mut self, seconds: i64) {
        self.world.advance(seconds);
        self.kafka.copy();
        self.settle();
    }

    fn settle(&mut self) {
        self.world.step(&mut self.kafka);
        self.world.step(&mut self.kafka);
        assert!(
            self.kafka.begun.len() <= 1,
            "a second quorum was begun: {:?}\n{}",
            self.kafka.begun,
            self.told()
        );
    }

    pub fn told(&self) -> String {
        self.trace[self.trace.len().saturating_sub(40)..].join("\n  ")
    }

    /// One pass; whether it wrote nothing.
    pub fn pass(&mut self) -> Result<bool, Died> {
        let live = self.children();
        let desired = self.desired().with_departing(&live).into_owned();
        let mut answers = self.kafka.ask(&desired, &live);
        let time = u64::try_from(self.world.now().as_second()).unwrap();
        answers.still = self.progress.look(Duration::from_secs(time), &answers);
        let observed = observe(&desired, self.resource.status.as_ref(), live.clone(), answers);
        let mut plan = plan(&desired, &observed, self.world.now());
        plan.apply.retain(|object| changes(object, &live, &self.world));
        self.blocked = plan.blocked.iter().map(|blocked| blocked.reason.to_owned()).collect();
        let before = self.writes;
        self.execute(&desired, &observed, &plan)?;
        let now = self.world.now();
        self.resource.status = Some(status::planned(&self.resource, &desired, &observed, &plan, None, now));
        for (told, status) in status::asked::statuses(&desired, &observed, &plan, now) {
            if let Some(asked) = self.asked.iter_mut().find(|asked| asked.uid == told.uid) {
                asked.status = status;
            }
        }
        if self.trace.last().is_some_and(|what| what.starts_with("stop ") || what.starts_with("park ")) {
            self.glance();
        }
        Ok(self.writes == before)
    }

    /// A look right after a stop, while what was stopped still answers: nobody is told that all is well.
    fn glance(&mut self) {
        let live = self.children();
        let desired = self.desired().with_departing(&live).into_owned();
        let answers = self.kafka.ask(&desired, &live);
        let observed = observe(&desired, self.resource.status.as_ref(), live, answers);
        let plan = plan(&desired, &observed, self.world.now());
        let stops = |node: &Node| node.pod.as_ref().is_some_and(|pod| pod.deletion_due.is_some());
        let stopping = observed.nodes.iter().any(|node| node.wanted && stops(node));
        assert!(!stopping || !plan.blocked.is_empty(), "it is said to be well\n{}", self.told());
        assert_eq!(plan.intent, None, "something is done while a pod stops\n{}", self.told());
    }

    fn execute(&mut self, desired: &Desired, observed: &Observed, plan: &Plan<Intent>) -> Result<(), Died> {
        for object in &plan.apply {
            self.apply(object)?;
        }
        for object in &plan.prune {
            self.write(format!("delete {}", object.name), |sim| drop(sim.world.delete(object)))?;
        }
        if let Some(intent) = &plan.intent {
            self.intents.push(intent.reason().to_owned());
            if std::mem::take(&mut self.refuse) {
                self.trace.push(format!("(refused: {})", intent.message()));
                return Ok(());
            }
            self.trace.push(format!("-- {}", intent.message()));
            return self.act(desired, observed, intent);
        }
        Ok(())
    }

    /// The model of the operator's `act`, one to one.
    fn act(&mut self, desired: &Desired, observed: &Observed, intent: &Intent) -> Result<(), Died> {
        let pool = |name: &str| desired.pool(name).unwrap();
        match intent {
            Intent::Bootstrap { pool: name, place } => {
                let member = desired.member(pool(name), place.id);
                let found = observed.record.as_ref().unwrap().as_ref();
                if found.is_none() {
                    let record = Record::Preparing { member: member.clone(), claim: place.claim.clone() };
                    self.create(&config_map::bootstrap(&desired.cluster, &record).into())?;
                }
                let claim_uid = self.claim(desired, observed, pool(name), place)?;
                if !found.is_some_and(|found| matches!(found.record, Record::Granted { .. })) {
                    let record =
                        Record::Granted { member, claim: place.claim.clone(), claim_uid: claim_uid.clone() };
                    self.record(desired, &record)?;
                }
                self.start(desired, observed, pool(name), place, TicketKind::Bootstrap, claim_uid)
            }
            Intent::ConfirmStarted { cluster_id } => {
                for ticket in observed.nodes.iter().filter_map(|node| node.ticket.as_ref()) {
                    self.write("revoke".to_owned(), |sim| drop(sim.world.delete(&ticket.reference)))?;
                }
                self.record(desired, &Record::Started { cluster_id: cluster_id.clone() })
            }
            Intent::RevokeTicket { ticket, .. } => {
                self.write("revoke".to_owned(), |sim| drop(sim.world.delete(ticket)))
            }
            Intent::AddNodes { places, .. } => {
                for (name, place) in places {
                    let claim_uid = self.claim(desired, observed, pool(name), place)?;
                    self.start(desired, observed, pool(name), place, TicketKind::Join, claim_uid)?;
                }
                Ok(())
            }
            Intent::AddVoter { id, directory, node } => {
                let ticket = self.world.live(Kind::ConfigMap, &build::ticket_name(node));
                assert!(ticket.is_none(), "{node} votes and has a ticket\n{}", self.told());
                self.write(format!("add voter {id}"), |sim| sim.kafka.add_voter(*id, directory).unwrap())
            }
            Intent::Update { node, pool: name, place, pod, .. } => {
                self.apply(&build::stateful_set(desired, pool(name), place).into())?;
                match pod {
                    Some(uid) => self.stop(node, uid),
                    None => Ok(()),
                }
            }
            Intent::ReplaceVolume { node, pool: name, place, lost, pod } => {
                self.replace(desired, observed, pool(name), place, lost.as_ref())?;
                match pod {
                    Some(uid) => self.stop(node, uid),
                    None => Ok(()),
                }
            }
            Intent::Restart { node, pod, .. } => self.stop(node, pod),
            _ => self.drain(desired, observed, intent),
        }
    }

    fn claim(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        pool: &Pool,
        place: &Place,
    ) -> Result<String, Died> {
        let mut claims = observed.nodes.iter().flat_map(|node| &node.claims);
        match claims.find(|claim| claim.reference.name == place.claim) {
            Some(claim) => Ok(claim.reference.uid.clone()),
            None => self.create(&build::claim(desired, pool, place).into()),
        }
    }

    fn start(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        pool: &Pool,
        place: &Place,
        kind: TicketKind,
        claim_uid: String,
    ) -> Result<(), Died> {
        if observed.node(place.id).is_none_or(|node| node.ticket.is_none()) {
            let ticket = Ticket {
                kind,
                cluster_uid: desired.cluster.labels.uid.clone(),
                member: desired.member(pool, place.id),
                claim: place.claim.clone(),
                claim_uid,
                append: std::collections::BTreeMap::new(),
            };
            self.create(&config_map::ticket(&desired.cluster, &ticket.member, &ticket).into())?;
        }
        self.apply(&build::stateful_set(desired, pool, place).into())
    }

    fn record(&mut self, desired: &Desired, record: &Record) -> Result<(), Died> {
        let mut map = config_map::bootstrap(&desired.cluster, record);
        let children = self.world.children(APPLICATION, NAME);
        let found = ballast_core::bootstrap::find(&children, &desired.cluster.labels.uid, NAME).unwrap();
        map.metadata.resource_version = found.map(|found| found.resource_version);
        self.write("record".to_owned(), |sim| sim.world.replace(&map.into()).map(drop).unwrap())
    }

    fn stop(&mut self, node: &str, uid: &str) -> Result<(), Died> {
        for placed in self.kafka.partitions.values() {
            let replicas = &placed.replicas;
            let left = replicas.iter().filter(|id| self.kafka.process(**id).is_some());
            let left = left.filter(|id| **id != crate::model::id(node)).count();
            let touched = replicas.contains(&crate::model::id(node));
            assert!(
                !touched || replicas.len() <= 2 || left >= 2,
                "stopping {node} leaves {left} in sync\n{}",
                self.told()
            );
        }
        self.send(format!("stop {node}"), |sim| drop(sim.world.delete_pod(&format!("{node}-0"), uid, None)))
    }

    fn apply(&mut self, object: &Object) -> Result<(), Died> {
        self.write(format!("apply {}", object.name()), |sim| sim.world.apply(object).unwrap())
    }

    fn create(&mut self, object: &Object) -> Result<String, Died> {
        self.write(format!("create {}", object.name()), |sim| sim.world.create(object).unwrap().uid)
    }

    fn write<T>(&mut self, what: String, send: impl FnOnce(&mut Self) -> T) -> Result<T, Died> {
        let answer = self.send(what, send)?;
        self.settle();
        Ok(answer)
    }

    /// A write whose effect takes a while: what it stops still answers when the operator looks again.
    fn send<T>(&mut self, what: String, send: impl FnOnce(&mut Self) -> T) -> Result<T, Died> {
        match &mut self.crash_after {
            Some(0) => {
                self.trace.push(format!("(died before: {what})"));
                self.crash_after = None;
                self.progress = Progress::default();
                return Err(Died);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.writes += 1;
        let answer = send(self);
        self.trace.push(what);
        Ok(answer)
    }

    /// Everything is as it should be, as far as a user can see.
    pub fn is_ready(&self) -> bool {
        let conditions = self.resource.status.iter().flat_map(|status| &status.conditions);
        let ready =
            conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        ready && self.blocked.is_empty()
    }

    /// Passes until nothing is left to do and everything is as it should be.
    pub fn converge(&mut self) {
        let mut quiet = 0;
        for _ in 0..300 {
            let silent = self.pass() == Ok(true);
            self.tick();
            quiet = if silent && self.is_ready() { quiet + 1 } else { 0 };
            if quiet == 4 {
                return;
            }
        }
        panic!(
            "not converged; blocked: {:?}; status: {:#?}\n  {}",
            self.blocked,
            self.resource.status,
            self.told()
        );
    }

    /// Passes until the plan is held back by this reason, and twenty more in which it stays so and nothing is written.
    pub fn run_until_blocked(&mut self, reason: &str) {
        let mut held = 0;
        for _ in 0..200 {
            let silent = self.pass() == Ok(true);
            self.tick();
            held = if silent && self.blocked.iter().any(|have| have == reason) { held + 1 } else { 0 };
            if held == 20 {
                return;
            }
        }
        panic!("never held back by {reason}, only by {:?}\n  {}", self.blocked, self.told());
    }
}

/// Whether applying would change something.
fn changes(object: &Object, children: &Children, world: &World) -> bool {
    let live = match object.kind() {
        Kind::Secret => world.live(object.kind(), object.name()).cloned(),
        kind => children.live(kind, object.name()),
    };
    live.is_none_or(|live| difference::first(&object.to_json(), &live).is_some())
}
