//! Checks partitions one by one and packs them.

use std::collections::BTreeMap;

use super::{Broker, BrokerId, MAX_REPLICAS, NOBODY, Partition, Row, Snapshot, SnapshotError, Topic};

/// Takes partitions before the brokers are known, so that a file may have them in any order.
#[derive(Default)]
pub(super) struct Builder {
    topics: BTreeMap<Topic, u32>,
    /// Files list the partitions of a topic one after another: mostly it is the same topic again.
    latest: Option<(Topic, u32)>,
    rows: Vec<Row>,
    replicas: Vec<BrokerId>,
    sizes: Vec<u64>,
    rates: bool,
}

impl Builder {
    pub(super) fn push(&mut self, partition: &Partition) -> Result<(), SnapshotError> {
        let at = Place { index: self.rows.len(), partition };
        at.check()?;
        let first = u32::try_from(self.replicas.len())
            .map_err(|_| at.error("replicas", "is one too many", "split the cluster's file"))?;
        let topic = self.intern(&partition.topic);
        let is_removing = |broker: &BrokerId| partition.removing.contains(broker);
        let (removing, staying): (Vec<_>, Vec<_>) =
            partition.replicas.iter().copied().enumerate().partition(|(_, broker)| is_removing(broker));
        let targets = small(staying.len());
        let ordered: Vec<(usize, BrokerId)> = staying.into_iter().chain(removing).collect();
        let mask = |members: &[BrokerId]| {
            let bits = ordered.iter().enumerate().filter(|(_, (_, broker))| members.contains(broker));
            bits.fold(0_u32, |mask, (position, _)| mask | 1 << position)
        };
        let leader = partition
            .leader
            .and_then(|leader| ordered.iter().position(|(_, broker)| *broker == leader))
            .map_or(NOBODY, small);
        self.rows.push(Row {
            topic,
            number: partition.partition,
            first,
            replicas: small(ordered.len()),
            targets,
            leader,
            adding: mask(&partition.adding),
            in_sync: partition.isr.as_ref().map_or(u32::MAX, |isr| mask(isr)),
            bytes_in: partition.bytes_in.unwrap_or(0.0),
            bytes_out: partition.bytes_out.unwrap_or(0.0),
        });
        self.rates |= partition.bytes_in.is_some() || partition.bytes_out.is_some();
        let sizes = sizes(partition);
        self.sizes.extend(ordered.iter().map(|(original, _)| sizes[*original]));
        self.replicas.extend(ordered.iter().map(|(_, broker)| *broker));
        Ok(())
    }

    fn intern(&mut self, topic: &Topic) -> u32 {
        if let Some((name, index)) = &self.latest
            && name == topic
        {
            return *index;
        }
        let next = u32::try_from(self.topics.len()).unwrap_or(u32::MAX);
        let name = self.topics.get_key_value(topic).map_or_else(|| topic.clone(), |(name, _)| name.clone());
        let index = *self.topics.entry(name.clone()).or_insert(next);
        self.latest = Some((name, index));
        index
    }

    pub(super) fn finish(self, mut brokers: Vec<Broker>) -> Result<Snapshot, SnapshotError> {
        brokers.sort_by_key(|broker| broker.id);
        check_brokers(&brokers)?;
        let Self { topics, mut rows, replicas, sizes, rates, .. } = self;
        let mut renumbered = vec![0; topics.len()];
        for (new, old) in (0_u32..).zip(topics.values()) {
            renumbered[*old as usize] = new;
        }
        let topics: Vec<Topic> = topics.into_keys().collect();
        for row in &mut rows {
            row.topic = renumbered[row.topic as usize];
        }
        let name = |row: &Row| format!("{}-{}", topics[row.topic as usize], row.number);
        let mut indices = Vec::with_capacity(replicas.len());
        for (position, id) in replicas.iter().enumerate() {
            let index = brokers.binary_search_by_key(id, |broker| broker.id).ok();
            let Some(index) = index.and_then(|index| u16::try_from(index).ok()) else {
                let owner = rows.iter().rposition(|row| row.first as usize <= position).unwrap_or(0);
                return Err(SnapshotError {
                    field: format!("partitions[{owner}].replicas ({})", name(&rows[owner])),
                    problem: format!("names broker {id}, which `brokers` does not have"),
                    fix: "add it to `brokers`, with \"dead\": true if it does not answer".to_owned(),
                });
            };
            indices.push(index);
        }
        rows.sort_by_key(|row| (row.topic, row.number));
        let mut pairs = rows.iter().zip(rows.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(one, other)| name_of(one) == name_of(other)) {
            return Err(SnapshotError {
                field: "partitions".to_owned(),
                problem: format!("{} is there twice", name(twice)),
                fix: "keep one of them".to_owned(),
            });
        }
        rows.shrink_to_fit();
        Ok(Snapshot { brokers, topics, rows, replicas: indices, sizes, rates })
    }
}

fn name_of(row: &Row) -> (u32, i32) {
    (row.topic, row.number)
}

/// Positions and lengths of replica lists, which [`Place::check`] has limited.
fn small(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(NOBODY)
}

/// Bytes there now, in the order of `replicas`.
fn sizes(partition: &Partition) -> Vec<u64> {
    let adding = |broker: &BrokerId| partition.adding.contains(broker);
    let Some(sizes) = &partition.sizes else {
        // How far the new ones are is not known: they may have nothing yet.
        let size = partition.size.unwrap_or(0);
        return partition.replicas.iter().map(|broker| if adding(broker) { 0 } else { size }).collect();
    };
    let largest = sizes.iter().copied().flatten().max().unwrap_or(0);
    let both = sizes.iter().zip(&partition.replicas);
    both.map(|(size, broker)| size.unwrap_or(if adding(broker) { 0 } else { largest })).collect()
}

fn check_brokers(brokers: &[Broker]) -> Result<(), SnapshotError> {
    let error = |field: String, problem: &str, fix: &str| SnapshotError {
        field,
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    };
    if brokers.is_empty() {
        return Err(error("brokers".to_owned(), "is empty", "list every broker that is registered"));
    }
    if brokers.len() >= usize::from(u16::MAX) {
        return Err(error("brokers".to_owned(), "has more than 65,534 entries", "list only brokers in use"));
    }
    for broker in brokers {
        let field = |name: &str| format!("brokers (id {}).{name}", broker.id);
        if broker.id < 0 {
            return Err(error(field("id"), "is negative", "use the broker's node.id"));
        }
        let capacity = broker.capacity;
        for (name, value) in [
            ("diskBytes", capacity.disk_bytes),
            ("networkIn", capacity.network_in),
            ("networkOut", capacity.network_out),
        ] {
            if value == Some(0) {
                let field = field(&format!("capacity.{name}"));
                return Err(error(field, "is 0", "leave it out if it is not known"));
            }
        }
    }
    if let Some(pair) = brokers.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let field = format!("brokers (id {})", pair[0].id);
        return Err(error(field, "is there twice", "keep one of them"));
    }
    Ok(())
}

/// A partition that is being checked.
struct Place<'a> {
    index: usize,
    partition: &'a Partition,
}

impl Place<'_> {
    fn error(&self, field: &str, problem: &str, fix: &str) -> SnapshotError {
        let Partition { topic, partition, .. } = self.partition;
        SnapshotError {
            field: format!("partitions[{}].{field} ({topic}-{partition})", self.index),
            problem: problem.to_owned(),
            fix: fix.to_owned(),
        }
    }

    fn check(&self) -> Result<(), SnapshotError> {
        let partition = self.partition;
        let replicas = &partition.replicas;
        if partition.topic.as_str().is_empty() {
            return Err(self.error("topic", "is empty", "write the topic's name"));
        }
        if partition.partition < 0 {
            return Err(self.error("partition", "is negative", "partitions are counted from 0"));
        }
        if replicas.is_empty() {
            return Err(self.error("replicas", "is empty", "list the brokers that hold the partition"));
        }
        if replicas.len() > MAX_REPLICAS {
            return Err(self.error("replicas", "has more than 32 entries", "leave this topic out"));
        }
        self.check_list("replicas", replicas)?;
        self.check_list("adding", &partition.adding)?;
        self.check_list("removing", &partition.removing)?;
        self.check_list("isr", partition.isr.as_deref().unwrap_or(&[]))?;
        self.check_list("leader", partition.leader.as_slice())?;
        if let Some(both) = partition.adding.iter().find(|broker| partition.removing.contains(broker)) {
            let problem = format!("names broker {both}, which is in `removing` too");
            return Err(self.error("adding", &problem, "a replica is added or removed, not both"));
        }
        if partition.removing.len() == replicas.len() {
            return Err(self.error("removing", "leaves no replica", "list only replicas that go"));
        }
        if partition.adding.len() == replicas.len() {
            return Err(self.error("adding", "leaves no complete replica", "list only new replicas"));
        }
        if partition.size.is_some() && partition.sizes.is_some() {
            return Err(self.error("size", "is given together with `sizes`", "give one of them"));
        }
        if partition.sizes.as_ref().is_some_and(|sizes| sizes.len() != replicas.len()) {
            return Err(self.error("sizes", "has another length than `replicas`", "give one per replica"));
        }
        for (field, rate) in [("in", partition.bytes_in), ("out", partition.bytes_out)] {
            if rate.is_some_and(|rate| !rate.is_finite() || rate < 0.0) {
                return Err(self.error(field, "is not a rate", "give bytes per second, 0 or more"));
            }
        }
        Ok(())
    }

    /// Every broker once, and only brokers of `replicas`.
    fn check_list(&self, field: &str, list: &[BrokerId]) -> Result<(), SnapshotError> {
        for (position, broker) in list.iter().enumerate() {
            if list[..position].contains(broker) {
                let problem = format!("names broker {broker} twice");
                return Err(self.error(field, &problem, "name each broker once"));
            }
            if !self.partition.replicas.contains(broker) {
                let problem = format!("names broker {broker}, which is not in `replicas`");
                return Err(self.error(field, &problem, "add it to `replicas` or leave it out here"));
            }
        }
        Ok(())
    }
}
