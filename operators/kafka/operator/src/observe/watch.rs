//! Since when copies of replicas have stood still, of each cluster: only in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use ballast_kafka_core::{
    observed::Answers,
    progress::{Progress, Still},
};

/// A cluster that was not looked at for so long is gone.
const FORGOTTEN: Duration = Duration::from_hours(1);

/// What was seen of clusters, by the uid of their resource.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    clusters: Mutex<HashMap<String, (Instant, Progress)>>,
}

impl Watch {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self { begun: Instant::now(), clusters: Mutex::default() }
    }

    /// Takes note of what a cluster said now; how long its copies have stood still.
    pub fn look(&self, cluster: &str, answers: &Answers) -> Still {
        self.look_at(Instant::now(), cluster, answers)
    }

    fn look_at(&self, now: Instant, cluster: &str, answers: &Answers) -> Still {
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        clusters.retain(|_, (last, _)| now.duration_since(*last) < FORGOTTEN);
        let (last, progress) =
            clusters.entry(cluster.to_owned()).or_insert_with(|| (now, Progress::default()));
        *last = now;
        progress.look(now.duration_since(self.begun), answers)
    }
}

#[cfg(test)]
mod tests {
    use ballast_kafka_core::{
        moving::{Disks, Moving, Reassignment},
        observed::{Partition, Registered},
    };

    use super::*;

    #[test]
    fn each_cluster_has_its_own_time_and_is_forgotten_when_it_is_gone() {
        let name = ("t".to_owned(), 0);
        let flight = Reassignment { adding: vec![2], removing: vec![] };
        let answers = Answers {
            brokers: Some(vec![Registered { id: 1, fenced: false, rack: None }]),
            partitions: Some(vec![Partition {
                topic: "t".to_owned(),
                index: 0,
                replicas: vec![1, 2],
                isr: vec![1],
                leader: Some(1),
                min_isr: None,
            }]),
            moving: Some(Moving {
                reassignments: [(name.clone(), flight)].into(),
                disks: [(2, Disks::default())].into(),
                ..Moving::default()
            }),
            ..Answers::default()
        };
        let watch = Watch::new();
        let at = |cluster, seconds| {
            let still = watch.look_at(watch.begun + Duration::from_secs(seconds), cluster, &answers);
            still[&(name.clone(), 2)].as_secs()
        };
        assert_eq!((at("a", 0), at("a", 30), at("b", 40), at("b", 50), at("a", 60)), (0, 30, 0, 10, 60));
        assert_eq!((at("b", 4000), at("b", 4010)), (0, 10));
    }
}
