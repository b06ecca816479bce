//! From what the user wrote to what the operator does: everything resolved once, every error with its field.

use std::time::Duration;

use ballast_core::{
    build::{self, Cluster, container, pod},
    duration, hash,
    invalid::Invalid,
    label::{self, ClusterLabels},
    pod_template::{Overlay, Protected},
    quantity, resource_amounts,
    version::{self, Minor},
};
use k8s_openapi::api::networking::v1::NetworkPolicyPeer;
use semver::Version;
use serde_json::{Value, json};

pub use ballast_core::environment::Environment;

use crate::{
    APPLICATION,
    api::{AutoCompactionMode, EtcdCluster, LogLevel, MAX_NAME, WhenDeleted},
    references, settings, versions,
};

/// Where members keep their data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A claim per member.
    Volume {
        /// Requested size.
        size: String,
        /// StorageClass; `None`: the default one.
        class: Option<String>,
        /// Whether claims are owned by the resource and go with it.
        owned: bool,
    },
    /// The pod's scratch space.
    Ephemeral {
        /// Most space used.
        size_limit: String,
    },
}

/// A resolved specification.
#[derive(Clone, Debug)]
pub struct Desired {
    /// Name, namespace, owner, labels.
    pub cluster: Cluster,
    /// Generation of the resource.
    pub generation: Option<i64>,
    /// Number of members wanted.
    pub replicas: usize,
    /// Version wanted.
    pub version: Version,
    /// Image of etcd, with its tag.
    pub image: String,
    /// Zones to place members in; empty: anywhere.
    pub zones: Vec<String>,
    /// Where data is kept.
    pub storage: Storage,
    /// Typed keys of etcd's configuration file, in order, without what is different for every member.
    pub settings: Vec<(String, Value)>,
    /// CPU and memory.
    pub resources: Value,
    /// The user's pod overlay.
    pub overlay: Option<Overlay>,
    /// Time to stop in, in seconds.
    pub grace_seconds: i64,
    /// Not serving for this long: restart.
    pub restart_after: Duration,
    /// Not serving for this long: replace.
    pub replace_after: Duration,
    /// Whether there is a PodDisruptionBudget.
    pub budget: bool,
    /// Who may reach the client port; `None`: there is no NetworkPolicy, empty: everyone.
    pub clients_from: Option<Vec<NetworkPolicyPeer>>,
    /// Nothing is to be changed.
    pub paused: bool,
    /// `ballast.dev/restart`.
    pub restart_at: Option<String>,
    /// `ballast.dev/replace`.
    pub replace: Option<String>,
    /// `ballast.dev/adopt-volumes`.
    pub adopt: Option<String>,
    /// `ballast.dev/skip-predicate`: names, with the time until which they are skipped.
    pub skip: Vec<(String, jiff::Timestamp)>,
    /// Remarks for people, not errors.
    pub notes: Vec<String>,
    /// How the operator was installed.
    pub environment: Environment,
}

impl Desired {
    /// Name of member `ordinal`, and of its StatefulSet.
    pub fn member(&self, ordinal: u32) -> String {
        format!("{}-{ordinal}", self.cluster.name())
    }

    /// Ordinal of a member's name.
    pub fn ordinal(&self, member: &str) -> Option<u32> {
        let digits = member.strip_prefix(self.cluster.name())?.strip_prefix('-')?;
        let ordinal = digits.parse().ok()?;
        (self.member(ordinal) == member).then_some(ordinal)
    }

    /// etcd's initial cluster token: no two clusters ever share one.
    pub fn token(&self) -> String {
        self.cluster.labels.uid.clone()
    }

    /// Hash of everything that decides etcd's configuration file.
    pub fn settings_hash(&self) -> String {
        hash::json_hash(&self.settings)
    }
}

/// Resolves `resource`. All errors are returned, not only the first.
pub fn validate(resource: &EtcdCluster, environment: &Environment) -> Result<Desired, Vec<Invalid>> {
    let mut invalid = vec![];
    let spec = &resource.spec;
    let own_name = resource.metadata.name.clone().unwrap_or_default();
    let uid = resource.metadata.uid.clone().unwrap_or_default();
    if own_name.len() > MAX_NAME {
        invalid.push(Invalid::new(
            "metadata.name",
            format!("may have at most {MAX_NAME} characters, has {}", own_name.len()),
        ));
    }
    if !(1..=9).contains(&spec.replicas) {
        invalid.push(Invalid::new("spec.replicas", format!("must be 1 to 9, is {}", spec.replicas)));
    }
    let version = resolve_version(&spec.version, &mut invalid);
    let storage = resolve_storage(&spec.storage, &mut invalid);
    let settings = resolve_settings(spec, settings_minor(version.as_ref()), &mut invalid);
    let restart_after =
        resolve_duration("spec.repair.restartAfter", spec.repair.restart_after.as_deref(), 300, &mut invalid);
    let replace_after =
        resolve_duration("spec.repair.replaceAfter", spec.repair.replace_after.as_deref(), 900, &mut invalid);
    let overlay = resolve_overlay(spec.pod.template.as_ref(), &mut invalid);
    references::check(spec, &mut invalid);
    let resources =
        serde_json::to_value(spec.resources.clone().unwrap_or_default()).unwrap_or_else(|_| json!({}));
    invalid.extend(resource_amounts::faults(&resources, "spec.resources"));
    let annotations = resource.metadata.annotations.clone().unwrap_or_default();
    let skip = resolve_skips(annotations.get(label::SKIP_PREDICATE), &mut invalid);
    let grace_seconds = spec
        .pod
        .template
        .as_ref()
        .and_then(|template| template.pointer("/spec/terminationGracePeriodSeconds"))
        .and_then(Value::as_i64)
        .unwrap_or(30);
    let (Some(version), true) = (version, invalid.is_empty()) else {
        return Err(invalid);
    };
    let repository = spec.image.clone().unwrap_or_else(|| "gcr.io/etcd-development/etcd".to_owned());
    let mut notes = vec![];
    if spec.replicas % 2 == 0 {
        notes.push(format!("{} members tolerate no more failures than {}", spec.replicas, spec.replicas - 1));
    }
    if let Some(fault) = versions::known_bad(&version) {
        notes.push(format!("etcd {version} has a known fault: {fault}"));
    }
    if matches!(storage, Storage::Ephemeral { .. }) {
        notes.push("storage is ephemeral: when all pods stop, everything is lost".to_owned());
    }
    let clients_from = spec.network_policy.enabled.then(|| spec.network_policy.clients_from.clone());
    if clients_from.as_ref().is_some_and(|from| !from.is_empty()) && environment.operator_namespace.is_none()
    {
        notes.push(
            "networkPolicy.clientsFrom: the operator does not know its own namespace, so it has to be among them"
                .to_owned(),
        );
    }
    Ok(Desired {
        cluster: Cluster {
            labels: ClusterLabels { application: APPLICATION, instance: own_name.clone(), uid: uid.clone() },
            namespace: resource.metadata.namespace.clone().unwrap_or_default(),
            owner: build::owner::<EtcdCluster>(&own_name, &uid),
            domain: environment.cluster_domain.clone(),
        },
        generation: resource.metadata.generation,
        replicas: usize::try_from(spec.replicas).unwrap_or(1),
        image: format!("{repository}:v{version}"),
        version,
        zones: spec.zones.clone(),
        storage,
        settings,
        resources,
        overlay,
        grace_seconds,
        restart_after,
        replace_after,
        budget: spec.disruption_budget.enabled,
        clients_from,
        paused: spec.paused || annotations.get(label::PAUSED).is_some_and(|value| value == "true"),
        restart_at: annotations.get(label::RESTART).cloned(),
        replace: annotations.get(label::REPLACE).cloned(),
        adopt: annotations.get(label::ADOPT_VOLUMES).cloned(),
        skip,
        notes,
        environment: environment.clone(),
    })
}

fn resolve_version(text: &str, invalid: &mut Vec<Invalid>) -> Option<Version> {
    match version::parse(text) {
        Ok(version) => Some(version),
        Err(error) => {
            invalid.push(Invalid::new("spec.version", error.to_string()));
            None
        }
    }
}

fn resolve_storage(storage: &crate::api::Storage, invalid: &mut Vec<Invalid>) -> Storage {
    let mut quantity_of = |field: &str, text: &str| match quantity::parse(text) {
        Err(error) => invalid.push(Invalid::new(field, error.to_string())),
        Ok(amount) if amount.bytes() < 64 << 20 => {
            invalid.push(Invalid::new(field, format!("{text} is too small for etcd: give at least 64Mi")));
        }
        Ok(_) => {}
    };
    if let Some(ephemeral) = &storage.ephemeral {
        let size_limit = ephemeral.size_limit.clone().unwrap_or_else(|| "2Gi".to_owned());
        quantity_of("spec.storage.ephemeral.sizeLimit", &size_limit);
        return Storage::Ephemeral { size_limit };
    }
    let size = storage.size.clone().unwrap_or_else(|| "8Gi".to_owned());
    quantity_of("spec.storage.size", &size);
    Storage::Volume {
        size,
        class: storage.storage_class_name.clone(),
        owned: storage.when_deleted == WhenDeleted::Delete,
    }
}

fn resolve_duration(
    field: &str,
    text: Option<&str>,
    default_seconds: u64,
    invalid: &mut Vec<Invalid>,
) -> Duration {
    let default = Duration::from_secs(default_seconds);
    let Some(text) = text else { return default };
    match duration::parse(text) {
        Ok(duration) if duration.is_zero() => {
            invalid.push(Invalid::new(field, "must be longer than zero"));
            default
        }
        Ok(duration) => duration,
        Err(error) => {
            invalid.push(Invalid::new(field, error.to_string()));
            default
        }
    }
}

/// A time that etcd wants in milliseconds; zero when it is not given.
fn resolve_interval(field: &str, text: Option<&str>, invalid: &mut Vec<Invalid>) -> Duration {
    let duration = resolve_duration(field, text, 0, invalid);
    // Cut off it would be another time than the one that was asked for, or none at all.
    if !duration.subsec_nanos().is_multiple_of(1_000_000) {
        invalid.push(Invalid::new(field, "must be whole milliseconds, for instance 100ms"));
    }
    duration
}

fn resolve_overlay(template: Option<&Value>, invalid: &mut Vec<Invalid>) -> Option<Overlay> {
    let rules = Protected {
        containers: &[APPLICATION, container::PREPARE],
        volumes: &pod::VOLUMES,
        env_prefixes: &["ETCD_", "ETCDCTL_"],
        mount_paths: &pod::MOUNT_PATHS,
    };
    match Overlay::validate(template?, "spec.pod.template", &rules) {
        Ok(overlay) => Some(overlay),
        Err(errors) => {
            invalid.extend(errors);
            None
        }
    }
}

fn resolve_skips(text: Option<&String>, invalid: &mut Vec<Invalid>) -> Vec<(String, jiff::Timestamp)> {
    let Some(text) = text else { return vec![] };
    let mut skips = vec![];
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        match entry.split_once('@').map(|(name, until)| (name, until.parse::<jiff::Timestamp>())) {
            Some((name, Ok(until))) => skips.push((name.to_owned(), until)),
            _ => invalid.push(Invalid::new(
                format!("metadata.annotations[{}]", label::SKIP_PREDICATE),
                format!(
                    "{entry:?} is not <predicate>@<time>, for instance voters-caught-up@2030-01-01T12:00:00Z"
                ),
            )),
        }
    }
    skips
}

/// The minor version whose keys are allowed. A version that is not supported is reported as such, not as unknown keys.
fn settings_minor(version: Option<&Version>) -> Minor {
    let newest = versions::SUPPORTED.last().map_or(Minor { major: 3, minor: 6 }, |row| row.minor);
    version.and_then(versions::row).map_or(newest, |row| row.minor)
}

fn resolve_settings(
    spec: &crate::api::EtcdClusterSpec,
    minor: Minor,
    invalid: &mut Vec<Invalid>,
) -> Vec<(String, Value)> {
    let etcd = &spec.etcd;
    let mut settings: Vec<(String, Value)> = vec![];
    let mut set = |key: &str, value: Value| settings.push((key.to_owned(), value));
    let heartbeat =
        resolve_interval("spec.etcd.heartbeatInterval", etcd.heartbeat_interval.as_deref(), invalid);
    let election = resolve_interval("spec.etcd.electionTimeout", etcd.election_timeout.as_deref(), invalid);
    let (heartbeat, election) = (milliseconds(heartbeat, 100), milliseconds(election, 1000));
    if election < 5 * heartbeat {
        invalid.push(Invalid::new(
            "spec.etcd.electionTimeout",
            format!("{election}ms must be at least five times the heartbeat interval of {heartbeat}ms"),
        ));
    }
    if election > 50_000 {
        invalid.push(Invalid::new("spec.etcd.electionTimeout", "may be at most 50s"));
    }
    set("heartbeat-interval", heartbeat.into());
    set("election-timeout", election.into());
    if let Some(bytes) = etcd.quota_backend_bytes {
        set("quota-backend-bytes", bytes.into());
    }
    if let Some(count) = etcd.snapshot_count {
        set("snapshot-count", count.into());
    }
    if let Some(compaction) = &etcd.auto_compaction {
        let (mode, valid) = match compaction.mode {
            AutoCompactionMode::Periodic => ("periodic", duration::parse(&compaction.retention).is_ok()),
            // etcd reads it with a sign.
            AutoCompactionMode::Revision => {
                ("revision", compaction.retention.parse::<i64>().is_ok_and(|number| number >= 0))
            }
        };
        if !valid {
            invalid.push(Invalid::new(
                "spec.etcd.autoCompaction.retention",
                format!(
                    "{:?} does not fit: give a duration such as 8h for Periodic, a number for Revision",
                    compaction.retention
                ),
            ));
        }
        set("auto-compaction-mode", mode.into());
        set("auto-compaction-retention", compaction.retention.clone().into());
    }
    let level = match etcd.log_level.unwrap_or(LogLevel::Info) {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    set("log-level", level.into());
    set("logger", "zap".into());
    for (key, text) in &etcd.extra_config {
        match settings::parse(key, text, minor) {
            Ok(value) => set(key, value),
            Err(message) => invalid.push(Invalid::new(format!("spec.etcd.extraConfig[{key}]"), message)),
        }
    }
    settings
}

fn milliseconds(duration: Duration, default: u64) -> u64 {
    if duration.is_zero() { default } else { u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) }
}
