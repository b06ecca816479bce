//! Several candidates and one API server, with everything that goes wrong between them.
//!
//! Clocks run at different speeds, requests and answers are lost or late, processes freeze, are killed, and are told to
//! stop. At no instant of true time may two gates be open; and when the faults have ended, somebody must lead.

mod properties;
mod script;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use proptest::prelude::*;

use self::script::{FAULTS_END, Fate, Loss, QUICK, Script, Time, Trouble};
use super::{
    elector::{Answer, Ask, Elector, Outcome, Step},
    timing::Timing,
};
use crate::{clock::Moment, writer::REQUEST_TIMEOUT};

/// A supervisor starts an ended process again after this.
const RESTART: Time = 1_000;
/// More events than any script makes.
const ENDLESS: u64 = 100_000;

fn timing() -> Timing {
    Timing::new(Duration::from_secs(15), Duration::from_secs(10), Duration::from_secs(2)).unwrap()
}

#[derive(Clone, Debug)]
enum Event {
    Start(usize),
    Trouble(usize, Trouble),
    Edit,
    /// For the life of a process with this number: its timer fires, or a request's outcome is there.
    Wake(usize, u64),
    Arrive(usize, u64, u64, Ask, Fate),
    Answered(usize, u64, u64, Box<Answer>),
}

struct Process {
    speed: u64,
    /// Clocks begin anywhere.
    offset: Duration,
    life: u64,
    elector: Elector,
    alive: bool,
    /// The gate, as `crate::gate::Gate` holds it.
    until: Option<Moment>,
    closed: bool,
    frozen_until: Time,
    /// The request that is waited for, if any.
    waits_for: Option<u64>,
}

impl Process {
    fn clock(&self, now: Time) -> Moment {
        Moment::at(self.offset + Duration::from_micros(now * self.speed))
    }

    /// The first millisecond at which this process' clock shows `moment`.
    fn true_time(&self, moment: Moment) -> Time {
        let micros = Moment::at(self.offset).until(moment).as_micros();
        Time::try_from(micros.div_ceil(u128::from(self.speed))).unwrap()
    }

    fn open(&self, now: Time) -> bool {
        self.alive && !self.closed && self.until.is_some_and(|until| self.clock(now) < until)
    }
}

struct World {
    script: Script,
    now: Time,
    queue: BTreeMap<(Time, u64), Event>,
    number: u64,
    next_fate: usize,
    lease: Option<Lease>,
    version: u64,
    processes: Vec<Process>,
    /// Until when writes of each process that has acted may still be on their way.
    stragglers: Vec<Time>,
    /// How many times somebody began to lead, and how many lost the lease.
    reigns: usize,
    lost: usize,
}

impl World {
    fn new(script: Script) -> Self {
        let mut world = Self {
            now: 0,
            queue: BTreeMap::new(),
            number: 0,
            next_fate: 0,
            lease: None,
            version: 0,
            processes: vec![],
            stragglers: vec![0; script.speeds.len()],
            reigns: 0,
            lost: 0,
            script,
        };
        for (index, speed) in world.script.speeds.clone().into_iter().enumerate() {
            let offset = Duration::from_secs(1000 * u64::try_from(index).unwrap());
            world.processes.push(Process {
                speed,
                offset,
                life: 0,
                elector: Elector::new(String::new(), timing(), Moment::at(offset)),
                alive: false,
                until: None,
                closed: false,
                frozen_until: 0,
                waits_for: None,
            });
            world.at(0, Event::Start(index));
        }
        for (time, index, trouble) in world.script.troubles.clone() {
            world.at(time, Event::Trouble(index % world.processes.len(), trouble));
        }
        for time in world.script.edits.clone() {
            world.at(time, Event::Edit);
        }
        world
    }

    fn at(&mut self, time: Time, event: Event) {
        self.number += 1;
        self.queue.insert((time.max(self.now), self.number), event);
    }

    fn open(&self) -> Vec<usize> {
        (0..self.processes.len()).filter(|index| self.processes[*index].open(self.now)).collect()
    }

    /// Runs until `end`, looking at the gates after every event: they open only then, and close by themselves.
    fn run(
        &mut self,
        end: Time,
        mut look: impl FnMut(&Self) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((time, _), event) = entry.remove_entry();
            self.now = time;
            prop_assert!(self.number < ENDLESS, "it never stops asking, at {} ms", self.now);
            let before = self.open();
            self.handle(event);
            let after = self.open();
            self.reigns += after.iter().filter(|index| !before.contains(index)).count();
            look(self)?;
        }
        self.now = end;
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start(index) => self.start(index),
            Event::Trouble(index, trouble) => self.trouble(index, trouble),
            Event::Edit => {
                if let Some(lease) = self.lease.clone() {
                    self.store(lease);
                }
            }
            Event::Wake(index, life) => {
                if self.thaw(index, life, &event) && self.processes[index].waits_for.is_none() {
                    self.turn(index);
                }
            }
            Event::Arrive(index, life, request, ask, fate) => {
                let answer = self.serve(ask);
                if fate.loss == Loss::Nothing {
                    self.at(self.now + fate.back, Event::Answered(index, life, request, Box::new(answer)));
                }
            }
            Event::Answered(index, life, request, ref answer) => {
                if self.thaw(index, life, &event) && self.processes[index].waits_for == Some(request) {
                    let answer = answer.as_ref().clone();
                    let (now, process) = (self.now, &mut self.processes[index]);
                    process.waits_for = None;
                    process.elector.answered(process.clock(now), answer);
                    self.extend(index);
                    self.turn(index);
                }
            }
        }
    }

    /// Whether this life of the process goes on and it is not frozen; what meets a frozen one waits for it.
    fn thaw(&mut self, index: usize, life: u64, event: &Event) -> bool {
        let process = &self.processes[index];
        if !process.alive || process.life != life {
            return false;
        }
        if process.frozen_until > self.now {
            self.at(process.frozen_until, event.clone());
            return false;
        }
        true
    }

    fn start(&mut self, index: usize) {
        let now = self.now;
        let process = &mut self.processes[index];
        if process.alive {
            return;
        }
        process.life += 1;
        let identity = format!("process-{index}_{}", process.life);
        process.elector = Elector::new(identity, timing(), process.clock(now));
        (process.alive, process.until, process.closed, process.waits_for) = (true, None, false, None);
        self.turn(index);
    }

    fn trouble(&mut self, index: usize, trouble: Trouble) {
        let now = self.now;
        let process = &mut self.processes[index];
        if !process.alive {
            return;
        }
        match trouble {
            Trouble::Freeze(length) => process.frozen_until = (now + length).min(FAULTS_END),
            Trouble::Kill => self.end(index),
            Trouble::Stop if process.frozen_until <= now => {
                // The controller has stopped, with nothing left behind; then the lease is given up.
                process.closed = true;
                self.stragglers[index] = now;
                process.elector.release(process.clock(now));
                if process.waits_for.is_none() {
                    self.turn(index);
                }
            }
            Trouble::Stop => {}
        }
    }

    fn end(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if process.open(self.now) {
            let left = self.now + Time::try_from(REQUEST_TIMEOUT.as_millis()).unwrap();
            self.stragglers[index] = self.stragglers[index].min(left);
        }
        (process.alive, process.frozen_until) = (false, 0);
        self.at(self.now + RESTART, Event::Start(index));
    }

    /// What the shell does after an answer.
    fn extend(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if let Some(until) = process.elector.leads_until() {
            process.until = Some(until);
            if !process.closed {
                self.stragglers[index] = process.true_time(until + REQUEST_TIMEOUT);
            }
        }
    }

    fn turn(&mut self, index: usize) {
        let fate = self.script.fates[self.next_fate % self.script.fates.len()];
        let wall = Timestamp::from_second(1_700_000_000 + fate.wall).unwrap();
        let (now, process) = (self.now, &mut self.processes[index]);
        let life = process.life;
        match process.elector.next(process.clock(now), wall) {
            Step::Over(outcome) => {
                self.lost += usize::from(!matches!(outcome, Outcome::Released | Outcome::NotReleased));
                self.end(index);
            }
            Step::Wait(until) => {
                let wake = process.true_time(until);
                self.at(wake, Event::Wake(index, life));
            }
            Step::Ask { ask, deadline } => {
                self.number += 1;
                let request = self.number;
                process.waits_for = Some(request);
                let deadline = process.true_time(deadline);
                self.next_fate += 1;
                let fate = if now < FAULTS_END { fate } else { QUICK };
                if fate.loss != Loss::Request {
                    // Late or not, nothing of the time of faults arrives after it.
                    let arrival =
                        if now < FAULTS_END { (now + fate.to).min(FAULTS_END) } else { now + fate.to };
                    self.at(arrival, Event::Arrive(index, life, request, ask, fate));
                }
                self.at(deadline, Event::Answered(index, life, request, Box::new(Answer::Failed)));
            }
        }
    }

    /// The API server: consistent, and it insists on the version.
    fn serve(&mut self, ask: Ask) -> Answer {
        match (ask, &self.lease) {
            (Ask::Read, Some(lease)) => Answer::Found(lease.clone()),
            (Ask::Read, None) => Answer::Absent,
            (Ask::Create(lease), None) => Answer::Written(self.store(*lease)),
            (Ask::Replace(lease), Some(current))
                if lease.metadata.resource_version.is_none()
                    || lease.metadata.resource_version == current.metadata.resource_version =>
            {
                Answer::Written(self.store(*lease))
            }
            (Ask::Create(_) | Ask::Replace(_), _) => Answer::Conflict,
        }
    }

    fn store(&mut self, mut lease: Lease) -> Lease {
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }
}
