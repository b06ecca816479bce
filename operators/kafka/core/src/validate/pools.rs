//! The node pools: ids, roles, storage, memory.

use ballast_core::{
    build::{container, pod},
    invalid::Invalid,
    name,
    pod_template::{Overlay, Protected},
    quantity, resource_amounts,
};
use serde_json::{Value, json};

use crate::{
    APPLICATION, POOL_WIDTH,
    api::{NodePool, Role, WhenDeleted, WhenScaled},
    jvm,
};

/// A resolved pool.
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Whether the specification does not have it any more: of what it was, only ids and roles are known.
    pub departing: bool,
    /// Whether its nodes are controllers.
    pub controller: bool,
    /// Whether its nodes are brokers.
    pub broker: bool,
    /// Number of nodes wanted.
    pub replicas: i32,
    /// First of its node ids.
    pub start: i32,
    /// Ids that it must not have.
    pub without: Vec<i32>,
    /// Requested size of the volume.
    pub size: String,
    /// StorageClass; `None`: the default one.
    pub class: Option<String>,
    /// Whether claims are owned by the resource and go with it.
    pub owned: bool,
    /// Whether the claim of a node that is removed stays.
    pub retain: bool,
    /// Size of the heap in bytes.
    pub heap: u64,
    /// The user's flags of the JVM.
    pub options: Vec<String>,
    /// CPU and memory.
    pub resources: Value,
    /// The user's pod overlay.
    pub overlay: Option<Overlay>,
    /// Time to stop in, in seconds.
    pub grace_seconds: i64,
}

impl Pool {
    /// Ids of the nodes that are wanted: the first ones that it may have.
    pub fn wanted(&self) -> impl Iterator<Item = i32> {
        let ids = (self.start..self.start + POOL_WIDTH).filter(|id| !self.without.contains(id));
        ids.take(usize::try_from(self.replicas).unwrap_or(0))
    }

    /// Whether the node with this id is wanted.
    pub fn wants(&self, id: i32) -> bool {
        self.wanted().any(|wanted| wanted == id)
    }

    /// Whether this id is one of the pool's.
    pub fn owns(&self, id: i32) -> bool {
        (self.start..self.start + POOL_WIDTH).contains(&id)
    }
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// More heap than this takes memory from the page cache, which Kafka lives on.
const LARGEST_DEFAULT_HEAP: u64 = 6 * GIB;

pub(super) fn resolve(pools: &[NodePool], invalid: &mut Vec<Invalid>) -> Vec<Pool> {
    let resolved: Vec<Pool> = pools
        .iter()
        .enumerate()
        .map(|(index, pool)| {
            let field = format!("spec.nodePools[{index}]");
            let start = start(pools, index, &field, invalid);
            one(pool, start, &field, invalid)
        })
        .collect();
    check_together(&resolved, invalid);
    resolved
}

fn start(pools: &[NodePool], index: usize, field: &str, invalid: &mut Vec<Invalid>) -> i32 {
    let field = format!("{field}.nodeIds.start");
    let start = pools[index].node_ids.as_ref().map(|ids| ids.start);
    if start.is_none() && pools.len() > 1 {
        invalid.push(Invalid::new(
            &field,
            "is required where there is more than one pool: give a multiple of 100 that no other pool has",
        ));
    }
    let start = start.unwrap_or(0);
    if start < 0 || start % POOL_WIDTH != 0 {
        invalid.push(Invalid::new(field, format!("must be a multiple of {POOL_WIDTH}, is {start}")));
    }
    start
}

fn without(pool: &NodePool, start: i32, field: &str, invalid: &mut Vec<Invalid>) -> Vec<i32> {
    let field = format!("{field}.nodeIds.without");
    let without = pool.node_ids.as_ref().map(|ids| ids.without.clone()).unwrap_or_default();
    for (index, id) in without.iter().enumerate() {
        if !(start..start + POOL_WIDTH).contains(id) {
            let last = start + POOL_WIDTH - 1;
            invalid.push(Invalid::new(
                &field,
                format!("{id} is none of the pool's ids, which are {start} to {last}"),
            ));
        }
        if without[..index].contains(id) {
            invalid.push(Invalid::new(&field, format!("{id} is listed twice")));
        }
    }
    let left = POOL_WIDTH - i32::try_from(without.len()).unwrap_or(POOL_WIDTH);
    if (0..=POOL_WIDTH).contains(&pool.replicas) && pool.replicas > left {
        invalid.push(Invalid::new(&field, format!("leaves {left} ids to {} replicas", pool.replicas)));
    }
    without
}

fn check_together(pools: &[Pool], invalid: &mut Vec<Invalid>) {
    for (index, pool) in pools.iter().enumerate() {
        if pools[..index].iter().any(|other| other.name == pool.name) {
            invalid.push(Invalid::new(
                format!("spec.nodePools[{index}].name"),
                format!("{} is listed twice", pool.name),
            ));
        }
        if pools.len() > 1 && pools[..index].iter().any(|other| other.start == pool.start) {
            invalid.push(Invalid::new(
                format!("spec.nodePools[{index}].nodeIds.start"),
                format!("another pool has the ids from {} on", pool.start),
            ));
        }
    }
    let sum = |role: fn(&Pool) -> bool| {
        pools.iter().filter(|pool| role(pool)).map(|pool| i64::from(pool.replicas)).sum::<i64>()
    };
    let controllers = sum(|pool| pool.controller);
    if ![1, 3, 5].contains(&controllers) {
        invalid.push(Invalid::new(
            "spec.nodePools[].replicas",
            format!("there must be 1, 3 or 5 controllers over all pools, there are {controllers}"),
        ));
    }
    if sum(|pool| pool.broker) == 0 {
        invalid.push(Invalid::new("spec.nodePools[].replicas", "there must be at least one broker"));
    }
}

fn one(pool: &NodePool, start: i32, field: &str, invalid: &mut Vec<Invalid>) -> Pool {
    if !(0..=POOL_WIDTH).contains(&pool.replicas) {
        invalid.push(Invalid::new(
            format!("{field}.replicas"),
            format!("must be 0 to {POOL_WIDTH}, is {}", pool.replicas),
        ));
    }
    let (controller, broker) = (pool.roles.contains(&Role::Controller), pool.roles.contains(&Role::Broker));
    if pool.roles.len() > 1 && !(controller && broker) {
        invalid.push(Invalid::new(format!("{field}.roles"), "lists a role twice"));
    }
    let without = without(pool, start, field, invalid);
    let resources =
        serde_json::to_value(pool.resources.clone().unwrap_or_default()).unwrap_or_else(|_| json!({}));
    invalid.extend(resource_amounts::faults(&resources, &format!("{field}.resources")));
    let (size, class) = volume(pool, field, invalid);
    Pool {
        name: pool.name.clone(),
        departing: false,
        controller,
        broker,
        replicas: pool.replicas,
        start,
        without,
        size,
        class,
        owned: pool.storage.when_deleted == WhenDeleted::Delete,
        retain: pool.storage.when_scaled == WhenScaled::Retain,
        heap: heap(pool, &resources, field, invalid),
        options: options(pool, field, invalid),
        overlay: overlay(pool, field, invalid),
        grace_seconds: pool
            .pod
            .template
            .as_ref()
            .and_then(|template| template.pointer("/spec/terminationGracePeriodSeconds"))
            .and_then(Value::as_i64)
            // A controlled shutdown hands every leadership over first.
            .unwrap_or(120),
        resources,
    }
}

fn volume(pool: &NodePool, field: &str, invalid: &mut Vec<Invalid>) -> (String, Option<String>) {
    let Some(volume) = pool.storage.volumes.first() else { return ("8Gi".to_owned(), None) };
    let field = format!("{field}.storage.volumes[{}]", volume.name);
    if pool.storage.volumes.len() > 1 {
        invalid.push(Invalid::new(field.clone(), "more than one volume is not offered yet"));
    }
    match quantity::parse(&volume.size) {
        Err(error) => invalid.push(Invalid::new(format!("{field}.size"), error.to_string())),
        Ok(amount) if amount.bytes() < i128::from(256 * MIB) => invalid.push(Invalid::new(
            format!("{field}.size"),
            format!("{} is too small for Kafka: give at least 256Mi", volume.size),
        )),
        Ok(_) => {}
    }
    if let Some(class) = volume.storage_class_name.as_deref().filter(|class| !name::is_subdomain(class)) {
        invalid.push(Invalid::new(
            format!("{field}.storageClassName"),
            format!("{class:?} is no name of a StorageClass: small letters, digits, \"-\" and \".\""),
        ));
    }
    (volume.size.clone(), volume.storage_class_name.clone())
}

/// The heap in bytes: as the user says, else half of the memory, so that the rest is there for the page cache.
fn heap(pool: &NodePool, resources: &Value, field: &str, invalid: &mut Vec<Invalid>) -> u64 {
    let bytes = |text: &str| quantity::parse(text).ok().and_then(|amount| u64::try_from(amount.bytes()).ok());
    let memory = ["/limits/memory", "/requests/memory"].iter().find_map(|pointer| {
        let amount = resources.pointer(pointer)?;
        bytes(amount.as_str().map_or_else(|| amount.to_string(), str::to_owned).as_str())
    });
    let Some(text) = &pool.jvm.heap else {
        return memory.map_or(GIB, |memory| (memory / 2).clamp(128 * MIB, LARGEST_DEFAULT_HEAP));
    };
    let field = format!("{field}.jvm.heap");
    match (bytes(text), memory) {
        (None, _) => invalid.push(Invalid::new(field, format!("{text:?} is no quantity such as 2Gi"))),
        (Some(heap), _) if heap < 128 * MIB => {
            invalid.push(Invalid::new(field, format!("{text} is too small for Kafka: give at least 128Mi")));
        }
        (Some(heap), Some(memory)) if heap > memory / 10 * 9 => invalid.push(Invalid::new(
            field,
            format!("{text} leaves less than a tenth of the memory to the rest of the process: the kernel would end it"),
        )),
        (Some(heap), _) => return heap,
    }
    GIB
}

fn options(pool: &NodePool, field: &str, invalid: &mut Vec<Invalid>) -> Vec<String> {
    let field = format!("{field}.jvm.options");
    let flags = &pool.jvm.options;
    if flags.len() > jvm::MOST {
        invalid
            .push(Invalid::new(&field, format!("may have at most {} flags, has {}", jvm::MOST, flags.len())));
    }
    for (index, flag) in flags.iter().enumerate() {
        if let Err(message) = jvm::check(flag) {
            invalid.push(Invalid::new(format!("{field}[{index}]"), message));
        }
    }
    let collectors: Vec<&str> = jvm::collectors(flags).collect();
    if collectors.len() > 1 {
        invalid.push(Invalid::new(
            field,
            format!("names more than one collector: {}; keep one", collectors.join(", ")),
        ));
    }
    flags.clone()
}

fn overlay(pool: &NodePool, field: &str, invalid: &mut Vec<Invalid>) -> Option<Overlay> {
    let rules = Protected {
        containers: &[APPLICATION, container::PREPARE, crate::build::FORMAT],
        volumes: &pod::VOLUMES,
        // What the JVM and the scripts of the image read.
        env_prefixes: &[
            "KAFKA_",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "_JAVA_OPTIONS",
            "CLASSPATH",
            "LD_",
        ],
        mount_paths: &pod::MOUNT_PATHS,
    };
    match Overlay::validate(pool.pod.template.as_ref()?, &format!("{field}.pod.template"), &rules) {
        Ok(overlay) => Some(overlay),
        Err(errors) => {
            invalid.extend(errors);
            None
        }
    }
}
