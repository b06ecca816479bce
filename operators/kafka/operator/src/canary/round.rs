//! One round: see who leads what, mend the topic or write to it, read back.

use std::{collections::BTreeMap, time::Duration};

use ballast_kafka_core::{
    canary::{self, Outcome, Step, TOPIC},
    observed::Partition,
};
use tracing::{info, warn};

use super::{Probe, Wanted};
use crate::{
    client::{Error, Layout, NewTopic, Route},
    observe,
};

/// How long a round may take, in all.
pub(super) const LONGEST: Duration = Duration::from_secs(20);

/// What was found of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What became of its record.
    pub outcome: Outcome,
    /// How long it took, if it was read back.
    pub took: Option<Duration>,
}

/// What is kept from round to round.
#[derive(Default)]
pub struct Round {
    probe: Option<Probe>,
    /// Where records went last: whoever does not answer cannot tell.
    last: BTreeMap<i32, i32>,
}

impl Round {
    /// Runs a round; every wanted broker is in what it returns.
    pub async fn run(&mut self, wanted: &Wanted) -> BTreeMap<i32, Found> {
        let mut found = BTreeMap::new();
        match self.look(wanted).await {
            Ok(Step::Try { partitions, others }) => {
                found.extend(others.into_iter().map(|(id, outcome)| (id, Found { outcome, took: None })));
                self.last.clone_from(&partitions);
            }
            Ok(Step::Create(layout)) => self.tell(create(wanted, layout).await, "made"),
            Ok(Step::Remake) => self.tell(remake(wanted).await, "deleted, to be made anew"),
            // Kafka does not tell: who had a partition may have it yet.
            Err(error) => {
                let others = wanted.brokers.iter().filter(|id| !self.last.contains_key(id));
                let why = format!("Kafka does not tell who leads what: {error}");
                let other = |id: &i32| (*id, Found { outcome: Outcome::Untested(why.clone()), took: None });
                found.extend(others.map(other));
            }
        }
        let mut partitions = self.last.clone();
        partitions.retain(|id, _| wanted.brokers.contains(id));
        found.extend(self.exchange(wanted, &partitions).await);
        for id in &wanted.brokers {
            found.entry(*id).or_insert_with(|| Found {
                outcome: Outcome::Untested(format!("the topic {TOPIC} is being made")),
                took: None,
            });
        }
        found
    }

    async fn look(&self, wanted: &Wanted) -> Result<Step, Error> {
        let brokers = wanted.client.at(Route::Brokers);
        let (cluster, topics) = tokio::try_join!(brokers.describe_cluster(), brokers.topics(None))?;
        let partitions: Vec<Partition> = observe::partitions(topics.found, &BTreeMap::new());
        let registered = observe::registered(cluster);
        let step = canary::step(&wanted.brokers, &registered, &partitions);
        if !wanted.settled && !matches!(step, Step::Try { .. }) {
            return Ok(Step::Try { partitions: self.last.clone(), others: BTreeMap::new() });
        }
        Ok(step)
    }

    fn tell(&mut self, outcome: Result<(), String>, what: &str) {
        self.last.clear();
        match outcome {
            Ok(()) => info!(topic = TOPIC, "the topic of the canary is {what}"),
            Err(error) => warn!(topic = TOPIC, "the topic of the canary could not be {what}: {error}"),
        }
    }

    async fn exchange(&mut self, wanted: &Wanted, partitions: &BTreeMap<i32, i32>) -> BTreeMap<i32, Found> {
        let untested = |why: String| {
            let found = Found { outcome: Outcome::Untested(why), took: None };
            partitions.keys().map(|id| (*id, found.clone())).collect::<BTreeMap<_, _>>()
        };
        if partitions.is_empty() {
            return BTreeMap::new();
        }
        if self.probe.as_ref().is_some_and(|probe| probe.bootstrap() != wanted.bootstrap) {
            self.end().await;
        }
        let probe = match &mut self.probe {
            Some(probe) => probe,
            none => match Probe::new(&wanted.bootstrap) {
                Ok(probe) => none.insert(probe),
                Err(error) => return untested(format!("no client could be made: {error}")),
            },
        };
        let written = match wanted.writer.guarded(probe.write(partitions)).await {
            Ok(written) => written,
            Err(error) => return untested(error.to_string()),
        };
        let mut found = BTreeMap::new();
        let mut records = BTreeMap::new();
        for (broker, outcome) in written {
            match outcome {
                Ok(record) => {
                    records.insert(broker, record);
                }
                Err(why) => {
                    found.insert(broker, Found { outcome: Outcome::Failed(why), took: None });
                }
            }
        }
        found.extend(probe.read(records).await.into_iter().map(|(broker, read)| match read {
            Ok(took) => (broker, Found { outcome: Outcome::Passed, took: Some(took) }),
            Err(why) => (broker, Found { outcome: Outcome::Failed(why), took: None }),
        }));
        found
    }

    /// Ends all threads.
    pub async fn end(&mut self) {
        if let Some(probe) = self.probe.take() {
            probe.end().await;
        }
    }
}

async fn create(wanted: &Wanted, layout: Vec<Vec<i32>>) -> Result<(), String> {
    // One replica in sync is enough, so that no restart waits for it; records go after an hour.
    let config = [
        ("min.insync.replicas", "1"),
        ("cleanup.policy", "delete"),
        ("retention.ms", "3600000"),
        ("retention.bytes", "1048576"),
        ("segment.bytes", "1048576"),
        ("segment.ms", "3600000"),
    ];
    let topic = NewTopic {
        name: TOPIC.to_owned(),
        layout: Layout::Assigned(layout),
        config: config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    };
    let brokers = wanted.client.at(Route::Brokers);
    let made = wanted.writer.guarded(brokers.create_topic(&topic, false)).await;
    match made.map_err(|error| error.to_string())? {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Deletes exactly the topic that is there now.
async fn remake(wanted: &Wanted) -> Result<(), String> {
    let brokers = wanted.client.at(Route::Brokers);
    let topics = brokers.topics(Some(&[TOPIC.to_owned()])).await.map_err(|error| error.to_string())?;
    let Some(topic) = topics.found.first() else { return Ok(()) };
    let gone = wanted.writer.guarded(brokers.delete_topic(topic.id)).await;
    gone.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
