//! From what the user wrote to what the operator does: everything resolved once, every error with its field.

mod pools;

use std::time::Duration;

use ballast_core::{
    build::{self, Cluster},
    duration,
    invalid::Invalid,
    label::{self, ClusterLabels},
    name, quantity, version, zone,
};
use semver::Version;

use crate::{
    APPLICATION,
    api::{
        Canary, CanaryMode, HotMode, HotPartitions, KafkaCluster, MAX_ISR_HEADROOM, MAX_NAMES, NodePool,
        OnScaleUp, Rebalance, Rolling,
    },
    settings, versions,
};
pub use ballast_core::environment::Environment;
pub use pools::Pool;

/// A resolved specification.
#[derive(Clone, Debug)]
pub struct Desired {
    /// Name, namespace, owner, labels.
    pub cluster: Cluster,
    /// Generation of the resource.
    pub generation: Option<i64>,
    /// Version wanted.
    pub version: Version,
    /// Level of `metadata.version` that it is to have; `None`: the version is not known.
    pub metadata_level: Option<i16>,
    /// Image of Kafka, with its tag.
    pub image: String,
    /// Zones to place nodes in; empty: anywhere.
    pub zones: Vec<String>,
    /// The pools, as they are written.
    pub pools: Vec<Pool>,
    /// The user's settings of Kafka, in order.
    pub settings: Vec<(String, String)>,
    /// What each broker may send, and receive, for replicas that are moved, in bytes per second.
    pub throttle: u64,
    /// How many replicas each broker may send, and receive, at the same time.
    pub concurrency: usize,
    /// Whether brokers that have nothing get their share.
    pub spread: bool,
    /// What is done about brokers that have too much traffic.
    pub hot: Hot,
    /// How many replicas more than `min.insync.replicas` must stay in sync while a node is restarted.
    pub isr_headroom: usize,
    /// How long after one record of the canary the next one is written; `None`: there is no canary.
    pub canary: Option<Duration>,
    /// Whether there is a PodDisruptionBudget.
    pub budget: bool,
    /// Nothing is to be changed.
    pub paused: bool,
    /// `ballast.dev/restart`.
    pub restart_at: Option<String>,
    /// `ballast.dev/replace`: id of a node that may start empty although it had the only copy of something.
    pub replace: Option<String>,
    /// Remarks for people, not errors.
    pub notes: Vec<String>,
    /// How the operator was installed.
    pub environment: Environment,
}

/// What is done about brokers that have too much traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Whether they are looked for, and relieved.
    pub mode: HotMode,
    /// From which multiple of its fair share on a broker is too hot.
    pub threshold: f64,
    /// What copies more than this is not begun.
    pub max_bytes: Option<u64>,
}

/// A node, by its id and what its pool is.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Its node id.
    pub id: i32,
    /// Its pool.
    pub pool: &'a Pool,
}

impl Desired {
    /// Name of a node and of its StatefulSet.
    pub fn member(&self, pool: &Pool, id: i32) -> String {
        format!("{}-{}-{id}", self.cluster.name(), pool.name)
    }

    /// The pool of this name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == name)
    }

    /// The pool that has this node id.
    pub fn pool_of(&self, id: i32) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.owns(id))
    }

    /// The node of this name, if it is one of a pool of ours.
    pub fn node(&self, member: &str) -> Option<Node<'_>> {
        let rest = member.strip_prefix(self.cluster.name())?.strip_prefix('-')?;
        let (pool, id) = rest.rsplit_once('-')?;
        let id: i32 = id.parse().ok()?;
        let pool = self.pool(pool).filter(|pool| pool.owns(id))?;
        (self.member(pool, id) == member).then_some(Node { id, pool })
    }

    /// All nodes that are wanted, by id.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.pools.iter().flat_map(|pool| pool.wanted().map(move |id| Node { id, pool }))
    }

    /// Whether the specification wants a broker with this id.
    pub fn wants_broker(&self, id: i32) -> bool {
        self.pool_of(id).is_some_and(|pool| pool.broker && pool.wants(id))
    }

    /// Number of controllers that are wanted.
    pub fn controllers(&self) -> usize {
        self.nodes().filter(|node| node.pool.controller).count()
    }

    /// Number of brokers that are wanted.
    pub fn brokers(&self) -> usize {
        self.nodes().filter(|node| node.pool.broker).count()
    }

    /// Kafka's cluster id: the resource's uid, as Kafka writes ids. No two clusters ever share one.
    pub fn cluster_id(&self) -> Option<String> {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let uid = uuid::Uuid::parse_str(&self.cluster.labels.uid).ok()?;
        Some(URL_SAFE_NO_PAD.encode(uid.as_bytes()))
    }
}

/// Resolves `resource`. All errors are returned, not only the first.
pub fn validate(resource: &KafkaCluster, environment: &Environment) -> Result<Desired, Vec<Invalid>> {
    let mut invalid = vec![];
    let spec = &resource.spec;
    let own_name = resource.metadata.name.clone().unwrap_or_default();
    let uid = resource.metadata.uid.clone().unwrap_or_default();
    check_names(&own_name, &spec.node_pools, &mut invalid);
    let version = match version::parse(&spec.version) {
        Ok(version) => Some(version),
        Err(error) => {
            invalid.push(Invalid::new("spec.version", error.to_string()));
            None
        }
    };
    if let Some(image) = spec.image.as_deref().filter(|image| !name::is_image_repository(image)) {
        invalid.push(Invalid::new(
            "spec.image",
            format!("{image:?} is no image without a tag, such as registry.example.com:5000/mirror/kafka"),
        ));
    }
    invalid.extend(zone::faults(&spec.zones, "spec.zones"));
    for (key, value) in &spec.config {
        if let Err(message) = settings::check(key, value) {
            invalid.push(Invalid::new(format!("spec.config[{key}]"), message));
        }
    }
    let metadata_level = metadata_level(version.as_ref(), spec.metadata_version.as_deref(), &mut invalid);
    let throttle = throttle(&spec.rebalance, &mut invalid);
    let hot = hot(&spec.rebalance.hot_partitions, &mut invalid);
    let isr_headroom = isr_headroom(&spec.rolling, &mut invalid);
    let canary = canary(&spec.canary, &mut invalid);
    let pools = pools::resolve(&spec.node_pools, &mut invalid);
    let (Some(version), true) = (version, invalid.is_empty()) else {
        return Err(invalid);
    };
    let annotations = resource.metadata.annotations.clone().unwrap_or_default();
    let repository = spec.image.clone().unwrap_or_else(|| "docker.io/apache/kafka".to_owned());
    let desired = Desired {
        cluster: Cluster {
            labels: ClusterLabels { application: APPLICATION, instance: own_name.clone(), uid: uid.clone() },
            namespace: resource.metadata.namespace.clone().unwrap_or_default(),
            owner: build::owner::<KafkaCluster>(&own_name, &uid),
            domain: environment.cluster_domain.clone(),
        },
        generation: resource.metadata.generation,
        image: format!("{repository}:{version}"),
        version,
        metadata_level,
        zones: spec.zones.clone(),
        pools,
        settings: spec.config.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        throttle,
        concurrency: usize::try_from(spec.rebalance.concurrency).unwrap_or(1),
        hot,
        spread: spec.rebalance.on_scale_up == OnScaleUp::Spread,
        isr_headroom,
        canary,
        budget: spec.disruption_budget.enabled,
        paused: spec.paused || annotations.get(label::PAUSED).is_some_and(|value| value == "true"),
        restart_at: annotations.get(label::RESTART).cloned(),
        replace: annotations.get(label::REPLACE).cloned(),
        notes: vec![],
        environment: environment.clone(),
    };
    Ok(Desired { notes: notes(&desired), ..desired })
}

fn metadata_level(
    version: Option<&Version>,
    pinned: Option<&str>,
    invalid: &mut Vec<Invalid>,
) -> Option<i16> {
    let own = versions::supported(version?).ok()?;
    let Some(text) = pinned else { return Some(own.metadata_level) };
    match versions::minor(text) {
        Some(row) if row.minor <= own.minor => Some(row.metadata_level),
        Some(_) => {
            let message = format!("is {text}, and no node of version {} can read that", own.minor);
            invalid.push(Invalid::new("spec.metadataVersion", message));
            None
        }
        None => {
            let known: Vec<String> = versions::SUPPORTED.iter().map(|row| row.minor.to_string()).collect();
            let message =
                format!("{text:?} is none that this operator knows: give one of {}", known.join(", "));
            invalid.push(Invalid::new("spec.metadataVersion", message));
            None
        }
    }
}

/// Below this a copy might never end, since what is produced meanwhile has to be copied too.
const LEAST_THROTTLE: u64 = 64 << 10;

fn throttle(rebalance: &Rebalance, invalid: &mut Vec<Invalid>) -> u64 {
    if !(1..=100).contains(&rebalance.concurrency) {
        let message = format!("must be 1 to 100, is {}", rebalance.concurrency);
        invalid.push(Invalid::new("spec.rebalance.concurrency", message));
    }
    let text = &rebalance.throttle;
    let fault = match quantity::parse(text).map(quantity::Amount::bytes) {
        Ok(bytes) if bytes < i128::from(LEAST_THROTTLE) => {
            format!("{text} is too little for a copy to end: give at least 64Ki")
        }
        // Kafka has it as a number of 64 bits with a sign, and refuses a larger one.
        Ok(bytes) if bytes > i128::from(i64::MAX) => {
            format!("{text} is more than Kafka can be told: give less than 8Ei")
        }
        Ok(bytes) => return u64::try_from(bytes).unwrap_or(LEAST_THROTTLE),
        Err(error) => error.to_string(),
    };
    invalid.push(Invalid::new("spec.rebalance.throttle", fault));
    LEAST_THROTTLE
}

fn hot(spec: &HotPartitions, invalid: &mut Vec<Invalid>) -> Hot {
    // Planning stops at a tenth above the fair share: a threshold below that would never be reached.
    if !(111..=1000).contains(&spec.threshold) {
        let message = format!("must be 111 to 1000, in hundredths of a fair share, is {}", spec.threshold);
        invalid.push(Invalid::new("spec.rebalance.hotPartitions.threshold", message));
    }
    let bytes = |text: &String| match quantity::parse(text) {
        Ok(amount) => u64::try_from(amount.bytes()).ok(),
        Err(error) => {
            invalid.push(Invalid::new("spec.rebalance.hotPartitions.maxBytes", error.to_string()));
            None
        }
    };
    let max_bytes = spec.max_bytes.as_ref().and_then(bytes);
    Hot { mode: spec.mode, threshold: f64::from(spec.threshold) / 100.0, max_bytes }
}

fn isr_headroom(rolling: &Rolling, invalid: &mut Vec<Invalid>) -> usize {
    let headroom = rolling.isr_headroom;
    if !(0..=MAX_ISR_HEADROOM).contains(&headroom) {
        let message = format!("must be 0 to {MAX_ISR_HEADROOM}, is {headroom}");
        invalid.push(Invalid::new("spec.rolling.isrHeadroom", message));
    }
    usize::try_from(headroom).unwrap_or(0)
}

/// More often, records of a slow broker would overlap.
const LEAST_INTERVAL: Duration = Duration::from_secs(10);
const MOST_INTERVAL: Duration = Duration::from_hours(1);

fn canary(spec: &Canary, invalid: &mut Vec<Invalid>) -> Option<Duration> {
    let text = &spec.interval;
    let fault = match duration::parse(text) {
        Ok(interval) if (LEAST_INTERVAL..=MOST_INTERVAL).contains(&interval) => {
            return (spec.mode == CanaryMode::Enabled).then_some(interval);
        }
        Ok(_) => format!("must be 10s to 1h, is {text}"),
        Err(error) => error.to_string(),
    };
    invalid.push(Invalid::new("spec.canary.interval", fault));
    None
}

fn notes(desired: &Desired) -> Vec<String> {
    let mut notes = vec![];
    if desired.controllers() == 1 && desired.brokers() > 1 {
        notes.push("one controller: while it is away, no leader is elected and no topic changed".to_owned());
    }
    if desired.brokers() < 3 {
        notes.push(format!("{} brokers hold no topic with three replicas", desired.brokers()));
    }
    notes
}

fn check_names(own_name: &str, pools: &[NodePool], invalid: &mut Vec<Invalid>) {
    let longest = pools.iter().map(|pool| pool.name.len()).max().unwrap_or_default();
    if own_name.len() + longest > MAX_NAMES {
        invalid.push(Invalid::new(
            "metadata.name",
            format!(
                "may have, with the name of the longest pool, at most {MAX_NAMES} characters, has {}",
                own_name.len() + longest
            ),
        ));
    }
}
