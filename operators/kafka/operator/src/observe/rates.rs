//! What producers write: measured by how far the logs of partitions have grown since some time ago.
//!
//! Kafka tells no rates to an admin client. It tells how many records a log has and how many bytes; so a partition's bytes per second are its new
//! records over that time, times what a record of it takes on the disk.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use ballast_kafka_core::{moving::Name, observed::Answers};
use futures::future::try_join_all;

use crate::client::{Client, Position, Route};

/// Passes may come closer together than this.
const EVERY: Duration = Duration::from_secs(15);
/// A rate over less than this says little.
const SHORTEST: Duration = Duration::from_secs(40);
/// A rate over more than this is history.
const LONGEST: Duration = Duration::from_mins(5);
/// A cluster that was not looked at for so long is gone.
const FORGOTTEN: Duration = Duration::from_hours(1);

/// Where the logs of all partitions begin and end, in records.
type Ends = BTreeMap<Name, (i64, i64)>;

/// What was seen of clusters, by the uid of their resource.
#[derive(Debug, Default)]
pub struct Sampler(Mutex<HashMap<String, VecDeque<(Instant, Ends)>>>);

impl Sampler {
    /// Bytes per second that producers write to each partition; `None`: not known, or not for long enough.
    pub(super) async fn rates(
        &self,
        client: &Client,
        cluster: &str,
        answers: &Answers,
    ) -> Option<BTreeMap<Name, f64>> {
        let now = Instant::now();
        if self.is_due(cluster, now) {
            let ends = ends(client, answers).await?;
            self.keep(cluster, now, ends);
        }
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = samples.get(cluster)?;
        let ((then, before), (last, after)) = (samples.front()?, samples.back()?);
        let time = last.duration_since(*then);
        let sizes = sizes(answers);
        (time >= SHORTEST).then(|| rates(before, after, time, &sizes))
    }

    fn is_due(&self, cluster: &str, now: Instant) -> bool {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = samples.get(cluster).and_then(VecDeque::back);
        last.is_none_or(|(last, _)| now.duration_since(*last) >= EVERY)
    }

    fn keep(&self, cluster: &str, now: Instant, ends: Ends) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lives = |samples: &VecDeque<(Instant, Ends)>| {
            samples.back().is_some_and(|(last, _)| now.duration_since(*last) < FORGOTTEN)
        };
        all.retain(|_, samples| lives(samples));
        let samples = all.entry(cluster.to_owned()).or_default();
        samples.push_back((now, ends));
        while samples.front().is_some_and(|(first, _)| now.duration_since(*first) > LONGEST) {
            samples.pop_front();
        }
    }
}

/// Both ends of every log, asked of who leads it; nothing, if one does not tell.
async fn ends(client: &Client, answers: &Answers) -> Option<Ends> {
    let mut by_leader: BTreeMap<i32, BTreeMap<String, Vec<i32>>> = BTreeMap::new();
    for partition in answers.partitions.as_ref()? {
        let topics = by_leader.entry(partition.leader?).or_default();
        topics.entry(partition.topic.clone()).or_default().push(partition.index);
    }
    let of_leader = |(leader, partitions): (i32, BTreeMap<String, Vec<i32>>)| {
        let admin = client.at(Route::Broker(leader));
        async move {
            tokio::try_join!(
                admin.list_offsets(&partitions, Position::Earliest),
                admin.list_offsets(&partitions, Position::Latest)
            )
        }
    };
    let mut ends = Ends::new();
    for (first, last) in try_join_all(by_leader.into_iter().map(of_leader)).await.ok()? {
        for (topic, partitions) in last {
            for (partition, last) in partitions {
                let first = first.get(&topic)?.iter().find(|(index, _)| *index == partition)?;
                let first = *first.1.as_ref().ok()?;
                ends.insert((topic.clone(), partition), (first, last.ok()?));
            }
        }
    }
    Some(ends)
}

/// Bytes of each partition on the disk of who leads it.
fn sizes(answers: &Answers) -> BTreeMap<Name, u64> {
    let size = |partition: &ballast_kafka_core::observed::Partition| {
        let name = (partition.topic.clone(), partition.index);
        let disks = answers.moving.as_ref()?.disks.get(&partition.leader?)?;
        let bytes = *disks.replicas.get(&name)?;
        Some((name, bytes))
    };
    answers.partitions.iter().flatten().filter_map(size).collect()
}

#[expect(clippy::cast_precision_loss, reason = "rates need no more than 53 bits")]
fn rates(before: &Ends, after: &Ends, time: Duration, sizes: &BTreeMap<Name, u64>) -> BTreeMap<Name, f64> {
    let rate = |(name, (first, last)): (&Name, &(i64, i64))| {
        // A topic that was made meanwhile began empty; one that was made again has another log, which is shorter.
        let then = before.get(name).map_or(*first, |(_, last)| *last);
        let (new, all) = ((last - then).max(0) as f64, (last - first).max(1) as f64);
        let bytes = sizes.get(name).copied().unwrap_or(0) as f64;
        (name.clone(), new / time.as_secs_f64() * bytes / all)
    };
    after.iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(partition: i32) -> Name {
        ("t".to_owned(), partition)
    }

    #[test]
    fn a_rate_is_new_records_times_what_a_record_takes() {
        let before = Ends::from([(name(0), (0, 100)), (name(1), (0, 50)), (name(2), (0, 900))]);
        let after =
            Ends::from([(name(0), (0, 300)), (name(1), (0, 50)), (name(2), (0, 10)), (name(3), (5, 25))]);
        let sizes = BTreeMap::from([(name(0), 3000), (name(1), 3000), (name(2), 3000), (name(3), 40)]);
        let found = rates(&before, &after, Duration::from_secs(10), &sizes);
        let expected = [(name(0), 200.0), (name(1), 0.0), (name(2), 0.0), (name(3), 4.0)];
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn samples_are_kept_for_some_minutes() {
        let sampler = Sampler::default();
        let begin = Instant::now();
        assert!(sampler.is_due("a", begin));
        for minute in 0..9 {
            sampler.keep("a", begin + Duration::from_mins(minute), Ends::new());
        }
        let kept = sampler.0.lock().unwrap();
        let (first, last) = (kept["a"].front().unwrap().0, kept["a"].back().unwrap().0);
        assert_eq!(last - first, LONGEST);
        drop(kept);
        assert!(!sampler.is_due("a", begin + Duration::from_mins(8) + EVERY / 2));
        assert!(sampler.is_due("a", begin + Duration::from_mins(8) + EVERY));
        sampler.keep("b", begin + Duration::from_hours(2), Ends::new());
        assert!(!sampler.0.lock().unwrap().contains_key("a"), "it is gone");
    }
}
