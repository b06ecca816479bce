//! Asks every running node, all at once, and then one of them for what only the cluster knows; a failure is data.

pub(crate) mod moving;
pub mod rates;
pub mod watch;

use std::collections::BTreeMap;

use ballast_core::object::Children;
use ballast_kafka_core::{
    api::{KafkaClusterStatus, kafka_rebalance::Asked},
    moving::worth_asking,
    observed::{Answers, Partition, Quorum, Registered, Replica, addresses, wants_restarts},
    relocation::needs_rates,
    validate::{Desired, Pool},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures::future::join_all;

use crate::{
    client::{self, Admin, Client, METADATA_VERSION, Route},
    nodes::Dialer,
    observe::rates::Sampler,
};

/// The setting of a topic that says how many replicas must be in sync.
const MIN_ISR: &str = "min.insync.replicas";

/// What Kafka says now.
pub async fn ask(
    desired: &Desired,
    previous: Option<&KafkaClusterStatus>,
    children: &Children,
    kafka: &Dialer,
    sampler: &Sampler,
) -> Answers {
    let running = addresses(desired, children);
    let client = kafka.client(desired, &running);
    let features = join_all(running.iter().map(|(id, _)| features(desired, &client, *id))).await;
    let answering = |role: fn(&Pool) -> bool| {
        features.iter().any(|(id, answer)| answer.is_ok() && desired.pool_of(*id).is_some_and(role))
    };
    let (brokers, controllers) = (answering(|pool| pool.broker), answering(|pool| pool.controller));
    // Who is behind tells an old level.
    let newest =
        features.iter().filter_map(|(_, answer)| answer.as_ref().ok()).max_by_key(|answer| answer.epoch);
    let mut answers = Answers {
        metadata_level: newest.and_then(|answer| answer.level(METADATA_VERSION)),
        ..Answers::default()
    };
    for (id, answer) in features {
        answers.probes.insert(id, answer.map(drop).map_err(|error| error.to_string()));
    }
    if brokers {
        ask_brokers(desired, children, &client.at(Route::Brokers), &mut answers).await;
    }
    if answers.quorum.is_none() && controllers {
        answers.quorum = client.at(Route::Controllers).describe_quorum().await.ok().as_ref().map(quorum);
    }
    let rebalance = previous.and_then(|status| status.rebalance.as_ref());
    if worth_asking(desired, rebalance, children, &answers) {
        answers.moving = moving::ask(&client, &answers).await;
    }
    let asked: Vec<Asked> = children.companions.iter().filter_map(Asked::read).collect();
    if needs_rates(desired, &asked) && answers.moving.is_some() {
        answers.rates = sampler.rates(&client, &desired.cluster.labels.uid, &answers).await;
    }
    answers
}

/// What a node says of itself.
async fn features(
    desired: &Desired,
    client: &Client,
    id: i32,
) -> (i32, Result<client::Features, client::Error>) {
    let broker = desired.pool_of(id).is_some_and(|pool| pool.broker);
    let route = if broker { Route::Broker(id) } else { Route::Controller(id) };
    (id, client.at(route).features().await)
}

async fn ask_brokers(desired: &Desired, children: &Children, brokers: &Admin, answers: &mut Answers) {
    let (cluster, described, topics) =
        tokio::join!(brokers.describe_cluster(), brokers.describe_quorum(), brokers.topics(None));
    if let Ok(cluster) = cluster {
        answers.cluster_id = Some(cluster.id.clone());
        answers.brokers = Some(registered(cluster));
    }
    answers.quorum = described.ok().as_ref().map(quorum);
    let Ok(topics) = topics else { return };
    // Topics that are there and cannot be described may have any replicas.
    if topics.missing.is_empty() {
        let needed = if wants_restarts(desired, children) {
            min_isr(brokers, &topics.found).await
        } else {
            BTreeMap::new()
        };
        answers.partitions = Some(partitions(topics.found, &needed));
    }
}

/// How many replicas of each topic must be in sync, as far as it is known.
async fn min_isr(brokers: &Admin, topics: &[client::Topic]) -> BTreeMap<String, usize> {
    let resources: Vec<client::Resource> =
        topics.iter().map(|topic| client::Resource::Topic(topic.name.clone())).collect();
    let Ok(configs) = brokers.describe_configs(&resources, Some(&[MIN_ISR])).await else {
        return BTreeMap::new();
    };
    configs
        .into_iter()
        .filter_map(|(resource, entries)| {
            let client::Resource::Topic(name) = resource else { return None };
            let entry = entries.ok()?.into_iter().find(|entry| entry.name == MIN_ISR)?;
            Some((name, entry.value?.parse().ok()?))
        })
        .collect()
}

pub(crate) fn registered(cluster: client::Cluster) -> Vec<Registered> {
    let broker =
        |broker: client::Broker| Registered { id: broker.id, fenced: broker.fenced, rack: broker.rack };
    cluster.brokers.into_iter().map(broker).collect()
}

pub(crate) fn partitions(topics: Vec<client::Topic>, needed: &BTreeMap<String, usize>) -> Vec<Partition> {
    let of_topic = |topic: client::Topic| {
        let min_isr = needed.get(&topic.name).copied();
        let name = topic.name;
        topic.partitions.into_iter().map(move |partition| Partition {
            topic: name.clone(),
            index: partition.index,
            replicas: partition.replicas,
            isr: partition.isr,
            leader: partition.leader,
            min_isr,
        })
    };
    topics.into_iter().flat_map(of_topic).collect()
}

fn quorum(quorum: &client::Quorum) -> Quorum {
    let replica = |voter: &client::Voter| Replica {
        id: voter.id,
        directory: URL_SAFE_NO_PAD.encode(voter.directory.as_bytes()),
        end_offset: voter.log_end.unwrap_or(-1),
        caught_up: voter.last_caught_up.unwrap_or(-1),
    };
    Quorum {
        leader: quorum.leader,
        voters: quorum.voters.iter().map(replica).collect(),
        observers: quorum.observers.iter().map(replica).collect(),
    }
}
