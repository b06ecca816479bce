//! Whom a request is sent to, and whom next.
//!
//! In Kafka 4 a broker passes on to the active controller what is for it, so any broker will do; the "controller" that brokers
//! name is just one of them (KIP-590, KIP-631). Controllers pass nothing on: the active one must be asked, and those that are not it
//! answer `NOT_CONTROLLER` or `NOT_LEADER_OR_FOLLOWER` and have done nothing. Any of them tells who it is, in `DescribeCluster` (KIP-919).

use std::{
    sync::atomic::{AtomicI32, AtomicUsize, Ordering},
    time::Duration,
};

use kafka_protocol::messages::{DescribeClusterRequest, DescribeClusterResponse};

use super::{
    address::Listener,
    call::{Call, call},
    error::{Cause, Error, Refusal, Unknown, code},
    pool::{Deadline, Pool},
};

/// Time between two tries while the controllers elect one of them.
const PAUSE: Duration = Duration::from_millis(100);
/// No node.
const NOBODY: i32 = -1;
/// The kind of nodes that is asked about (`DescribeClusterRequest.EndpointType`).
pub(super) const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

call!(DescribeClusterRequest => DescribeClusterResponse, DescribeCluster, reads, 2, |answer| vec![answer.error_code]);

/// Whom to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Any broker. What is for the active controller is passed on by it.
    Brokers,
    /// The active controller at its own listener: also when no broker works.
    Controllers,
    /// This node and no other, at its listener for clients.
    Broker(i32),
    /// This node and no other, at its listener for controllers, active or not.
    Controller(i32),
}

/// Who answered last.
#[derive(Debug)]
pub(super) struct Memory {
    /// The active controller.
    controller: AtomicI32,
    /// Where in the list of brokers to begin.
    broker: AtomicUsize,
}

impl Default for Memory {
    fn default() -> Self {
        Self { controller: AtomicI32::new(NOBODY), broker: AtomicUsize::new(0) }
    }
}

fn no_address() -> Error {
    Unknown { cause: Cause::NoAddress, may_have_been_applied: false }.into()
}

/// What is left when the active controller was not found in time.
fn no_controller() -> Error {
    Error::Waiting(Refusal { code: code::NOT_CONTROLLER, message: "no controller is active".to_owned() })
}

impl Pool {
    /// Asks whom the route names.
    pub async fn call<C: Call>(
        &self,
        memory: &Memory,
        route: Route,
        request: &C,
        deadline: Deadline,
    ) -> Result<C::Answer, Error> {
        match route {
            Route::Broker(node) => self.ask((node, Listener::Broker), request, deadline).await,
            Route::Controller(node) => self.ask((node, Listener::Controller), request, deadline).await,
            Route::Brokers => self.ask_brokers(memory, request, deadline).await,
            Route::Controllers => self.ask_controllers(memory, request, deadline).await,
        }
    }

    /// One broker after the other until one answers. Not another one where the request may have been applied.
    async fn ask_brokers<C: Call>(
        &self,
        memory: &Memory,
        request: &C,
        deadline: Deadline,
    ) -> Result<C::Answer, Error> {
        loop {
            let nodes = self.directory.nodes(Listener::Broker);
            let begin = memory.broker.load(Ordering::Relaxed);
            let mut last = no_address();
            for step in 0..nodes.len() {
                let turn = begin.wrapping_add(step) % nodes.len();
                // Who swallows the request must not take the time of the others.
                let time = if C::MUTATES || step + 1 == nodes.len() { deadline } else { deadline.half() };
                match self.ask((nodes[turn], Listener::Broker), request, time).await {
                    Ok(answer) if C::is_elsewhere(&answer) => last = no_controller(),
                    Ok(answer) => {
                        memory.broker.store(turn, Ordering::Relaxed);
                        return Ok(answer);
                    }
                    Err(Error::Unknown(unknown)) if !unknown.may_have_been_applied => last = unknown.into(),
                    Err(error) => return Err(error),
                }
            }
            // Brokers that do not answer are told at once; an election is waited for.
            if !matches!(last, Error::Waiting(_)) || deadline.left() < PAUSE {
                return Err(last);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The active controller, which is looked for until it is found.
    async fn ask_controllers<C: Call>(
        &self,
        memory: &Memory,
        request: &C,
        deadline: Deadline,
    ) -> Result<C::Answer, Error> {
        for round in 0.. {
            let node = match memory.controller.load(Ordering::Relaxed) {
                NOBODY => self.discover(round, deadline).await?,
                known => Some(known),
            };
            let mut last = no_controller();
            if let Some(node) = node {
                match self.ask((node, Listener::Controller), request, deadline).await {
                    Ok(answer) if C::is_elsewhere(&answer) => {}
                    Ok(answer) => {
                        memory.controller.store(node, Ordering::Relaxed);
                        return Ok(answer);
                    }
                    Err(Error::Unknown(unknown)) if !unknown.may_have_been_applied => last = unknown.into(),
                    Err(error) => return Err(error),
                }
            }
            memory.controller.store(NOBODY, Ordering::Relaxed);
            if deadline.left() < PAUSE {
                return Err(last);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(no_controller())
    }

    /// Asks the controllers who is active, each round beginning with another one. An error only if none of them answers.
    async fn discover(&self, round: usize, deadline: Deadline) -> Result<Option<i32>, Error> {
        let request = DescribeClusterRequest::default().with_endpoint_type(CONTROLLERS);
        let nodes = self.directory.nodes(Listener::Controller);
        let mut outcome = Err(no_address());
        for step in 0..nodes.len() {
            let node = nodes[(round + step) % nodes.len()];
            match self.ask((node, Listener::Controller), &request, deadline.half()).await {
                Ok(answer) if answer.error_code == 0 && answer.controller_id.0 != NOBODY => {
                    return Ok(Some(answer.controller_id.0));
                }
                Ok(_) => outcome = Ok(None),
                Err(error) => outcome = outcome.or(Err(error)),
            }
        }
        outcome
    }
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
