//! What moves replicas away and removes the nodes that had them. Each request is safe to repeat.

use std::collections::BTreeMap;

use ballast_core::label;
use ballast_kafka_core::{
    intent::{Intent, Throttle},
    observed::Observed,
    rebalance::outcome,
    validate::Desired,
};
use ballast_runtime::{operator::ActError, writer::Writer};
use serde_json::json;

use super::{directory_id, from_kafka};
use crate::{
    client::{ByTopic, Change, Client, Error, Move, Outcomes, Resource, Route, code},
    observe::moving::{CORDONED, FOLLOWER_LIST, FOLLOWER_RATE, LEADER_LIST, LEADER_RATE},
};

type Configs = Vec<(Resource, Vec<(String, Change)>)>;

/// Talks to Kafka through the gate.
pub(super) struct Drain<'a> {
    pub(super) client: Client,
    pub(super) writer: &'a Writer,
    pub(super) desired: &'a Desired,
}

impl Drain<'_> {
    pub(super) async fn act(&self, intent: &Intent) -> Result<(), ActError> {
        match intent {
            Intent::Cordon { brokers } => {
                for id in brokers {
                    // Only the broker itself adds to its list.
                    let cordon = vec![(CORDONED.to_owned(), Change::Set("*".to_owned()))];
                    self.configure(Route::Broker(*id), vec![(Resource::Broker(*id), cordon)]).await?;
                }
                Ok(())
            }
            Intent::Uncordon { brokers } => {
                let lifted = brokers.iter().map(|id| lifted(*id)).collect();
                self.configure(Route::Controllers, lifted).await
            }
            Intent::MoveReplicas { moves, throttle, .. } => {
                self.throttle(throttle).await?;
                self.move_replicas(moves).await
            }
            Intent::Throttle(throttle) => self.throttle(throttle).await,
            Intent::CancelMoves { partitions, .. } => {
                let mut by_topic: ByTopic<Move> = BTreeMap::new();
                for (topic, partition) in partitions {
                    let cancelled = Move { partition: *partition, replicas: None };
                    by_topic.entry(topic.clone()).or_default().push(cancelled);
                }
                self.reassign(&by_topic).await
            }
            Intent::RemoveVoter { id, directory, .. } => {
                let cluster = self.desired.cluster_id().unwrap_or_default();
                let controllers = self.client.at(Route::Controllers);
                let removed = controllers.remove_voter(&cluster, *id, directory_id(directory)?);
                fine(self.writer.guarded(removed).await?, &[code::VOTER_NOT_FOUND])
            }
            Intent::Unregister { id, .. } => {
                // What was set for a broker would be there again for the next one with its id.
                self.configure(Route::Controllers, vec![lifted(*id)]).await?;
                let controllers = self.client.at(Route::Controllers);
                let forgotten = self.writer.guarded(controllers.unregister_broker(*id)).await?;
                fine(forgotten, &[code::BROKER_ID_NOT_REGISTERED])
            }
            _ => Ok(()),
        }
    }

    async fn configure(&self, route: Route, changes: Configs) -> Result<(), ActError> {
        let admin = self.client.at(route);
        let outcomes =
            self.writer.guarded(admin.alter_configs(&changes, false)).await?.map_err(from_kafka)?;
        for (_, outcome) in outcomes {
            // A topic that was deleted meanwhile needs nothing.
            fine(outcome, &[code::UNKNOWN_TOPIC_OR_PARTITION])?;
        }
        Ok(())
    }

    /// First how much, then what: nothing is moved at full speed in between.
    async fn throttle(&self, throttle: &Throttle) -> Result<(), ActError> {
        if let Some(rate) = throttle.rate {
            let change = || rate.map_or(Change::Delete, |rate| Change::Set(rate.to_string()));
            let rates = [LEADER_RATE, FOLLOWER_RATE].map(|name| (name.to_owned(), change())).to_vec();
            self.configure(Route::Controllers, vec![(Resource::Brokers, rates)]).await?;
        }
        if throttle.lists.is_empty() {
            return Ok(());
        }
        let lists = throttle.lists.iter().map(|(topic, lists)| {
            let change = |list: Option<&String>| match list {
                Some(list) if !list.is_empty() => Change::Set(list.clone()),
                _ => Change::Delete,
            };
            let lists = lists.as_ref();
            let changes = vec![
                (LEADER_LIST.to_owned(), change(lists.map(|lists| &lists.leaders))),
                (FOLLOWER_LIST.to_owned(), change(lists.map(|lists| &lists.followers))),
            ];
            (Resource::Topic(topic.clone()), changes)
        });
        self.configure(Route::Controllers, lists.collect()).await
    }

    async fn move_replicas(&self, moves: &[outcome::Move]) -> Result<(), ActError> {
        let mut by_topic: ByTopic<Move> = BTreeMap::new();
        let mut orders: ByTopic<i32> = BTreeMap::new();
        for it in moves {
            let topic = it.topic.to_string();
            if it.transfers.is_empty() && it.changes_leader() {
                orders.entry(topic.clone()).or_default().push(it.partition);
            }
            let wanted = Move { partition: it.partition, replicas: Some(it.to.to_vec()) };
            by_topic.entry(topic).or_default().push(wanted);
        }
        self.reassign(&by_topic).await?;
        if orders.is_empty() {
            return Ok(());
        }
        // A new order is there at once; who comes first now may lead now. If it may not yet, Kafka sees to it later.
        let controllers = self.client.at(Route::Controllers);
        let elected = self.writer.guarded(controllers.elect_preferred_leaders(&orders)).await?;
        elected.map(drop).map_err(from_kafka)
    }

    async fn reassign(&self, moves: &ByTopic<Move>) -> Result<(), ActError> {
        let controllers = self.client.at(Route::Controllers);
        let reassigned = self.writer.guarded(controllers.alter_reassignments(moves, false)).await?;
        each(reassigned.map_err(from_kafka)?)
    }
}

/// A broker's own settings that a drain makes, taken back.
fn lifted(id: i32) -> (Resource, Vec<(String, Change)>) {
    (Resource::Broker(id), vec![(CORDONED.to_owned(), Change::Delete)])
}

/// Fails with the first partition that was refused; topics that are gone need nothing, and neither does what has ended.
fn each(outcomes: Outcomes<()>) -> Result<(), ActError> {
    let harmless = [code::UNKNOWN_TOPIC_OR_PARTITION, code::NO_REASSIGNMENT_IN_PROGRESS];
    for (topic, partitions) in outcomes {
        for (partition, outcome) in partitions {
            fine(outcome, &harmless).map_err(|error| match error {
                ActError::Waiting(message) => ActError::Waiting(format!("{topic}-{partition}: {message}")),
                ActError::Application(message) => {
                    ActError::Application(format!("{topic}-{partition}: {message}"))
                }
                write @ ActError::Write(_) => write,
            })?;
        }
    }
    Ok(())
}

/// These codes say that nothing is to be done.
fn fine(outcome: Result<(), Error>, harmless: &[i16]) -> Result<(), ActError> {
    match outcome {
        Err(error) if error.code().is_some_and(|code| harmless.contains(&code)) => Ok(()),
        other => other.map_err(from_kafka),
    }
}

/// What is left of a node in Kubernetes: its StatefulSet and its ticket first, its volume last.
pub(super) async fn forget(
    writer: &Writer,
    observed: &Observed,
    name: &str,
    retain: bool,
) -> Result<(), ActError> {
    let Some(node) = observed.nodes.iter().find(|node| node.name == name) else { return Ok(()) };
    let set = node.stateful_set.iter().map(|set| &set.reference);
    for object in set.chain(node.ticket.iter().map(|ticket| &ticket.reference)) {
        writer.delete(object).await?;
    }
    for claim in node.live_claims() {
        if retain {
            let retired = json!({"labels": {label::RETIRED: "true"}});
            writer.merge_metadata(&claim.reference, &claim.resource_version, retired).await?;
        } else {
            writer.delete(&claim.reference).await?;
        }
    }
    Ok(())
}
