//! The corpus of the sweep: for every leaf of an `EtcdCluster`'s `spec`, other values that are valid and where they
//! must arrive, and values that are wrong and who must say so.
//!
//! Pure data: `sweep.rs` tries it on what is built, the tests with a control plane on running clusters. A leaf of the
//! schema without an entry fails a test, so that no new field is forgotten.

mod members;
mod network;
mod pod;
mod resources;
mod settings;

use serde_json::Value;

/// A specification that others differ from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// One member and nothing that need not be said.
    One,
    /// One member, and something in every field.
    Rich,
    /// Three members.
    Three,
    /// Three members without volumes.
    Ephemeral,
    /// One member of the oldest minor version.
    Old,
}

impl Base {
    pub fn spec(self) -> Value {
        yaml(match self {
            Self::One => "{replicas: 1, version: 3.6.16, storage: {size: 1Gi, whenDeleted: Delete}}",
            Self::Three => "{replicas: 3, version: 3.6.16, storage: {size: 1Gi, whenDeleted: Delete}}",
            Self::Ephemeral => "{replicas: 3, version: 3.6.16, storage: {ephemeral: {sizeLimit: 1Gi}}}",
            Self::Old => "{replicas: 1, version: 3.5.26, storage: {size: 1Gi, whenDeleted: Delete}}",
            Self::Rich => RICH,
        })
    }
}

const RICH: &str = r#"
replicas: 1
version: 3.6.15
image: registry.example.com/etcd
zones: [a]
storage: {size: 1Gi, storageClassName: testbed, whenDeleted: Delete}
etcd:
  quotaBackendBytes: 2147483648
  autoCompaction: {mode: Periodic, retention: 8h}
  snapshotCount: 20000
  heartbeatInterval: 150ms
  electionTimeout: 1500ms
  logLevel: warn
  extraConfig: {cors: "*", max-txn-ops: "256"}
repair: {restartAfter: 5m, replaceAfter: 15m}
resources: {requests: {cpu: 100m, memory: 256Mi}, limits: {memory: 1Gi}}
disruptionBudget: {enabled: true}
networkPolicy:
  enabled: true
  clientsFrom:
    - podSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d, e]}]}
      namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d, e]}]}
    - ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}
pod:
  template:
    metadata: {labels: {team: a, tier: x}, annotations: {note: a, other: b}}
    spec:
      terminationGracePeriodSeconds: 20
      tolerations: [{key: dedicated, operator: Equal, value: etcd, effect: NoSchedule}]
      hostAliases: [{ip: 192.0.2.1, hostnames: [a.example.com]}]
      containers:
        - {name: etcd, env: [{name: TZ, value: UTC}], volumeMounts: [{name: extra, mountPath: /extra}]}
        - {name: side, image: "side:1", env: [{name: A, value: b}], resources: {limits: {memory: 64Mi}}}
      volumes: [{name: extra, emptyDir: {}}]
"#;

/// Where a change must be seen. Values are YAML; `~` is: not there.
#[derive(Clone, Copy, Debug)]
pub enum Arrives {
    /// In this key of etcd's configuration file.
    Setting(&'static str, &'static str),
    /// At this JSON pointer of the first object of this kind.
    At(&'static str, &'static str, &'static str),
    /// At this JSON pointer below the template of every StatefulSet, and so in every pod.
    Pod(&'static str, &'static str),
    /// In how many objects of this kind there are.
    Count(&'static str, usize),
    /// In no object: it matters only in what the operator plans.
    Plan,
    /// Nowhere: it is another way to say the same.
    Nowhere,
}

/// Another valid value.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub leaf: &'static str,
    pub base: Base,
    /// JSON merge patch of the base, in YAML.
    pub patch: &'static str,
    pub arrives: Arrives,
    /// Who refuses the way back, if there is none.
    pub back: Option<Refused>,
}

/// Who says that something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The API server, by the schema or a rule of it, with this in the message: nothing is stored.
    ApiServer(&'static str),
    /// The operator, which names this field: nothing is changed.
    Operator(&'static str),
    /// The API server refuses an object that the operator would write, with this in the message, which the status repeats.
    Kubernetes(&'static str),
    /// The plan waits for this reason, and nothing is changed.
    Waits(&'static str),
    /// Nobody: a pod that is made of it never serves.
    Nobody,
}

/// A value that is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Wrong {
    pub leaf: &'static str,
    pub base: Base,
    /// JSON merge patch of the base, in YAML.
    pub patch: &'static str,
    pub refused: Refused,
}

const fn change(leaf: &'static str, base: Base, patch: &'static str, arrives: Arrives) -> Change {
    Change { leaf, base, patch, arrives, back: None }
}

const fn forward(
    leaf: &'static str,
    base: Base,
    patch: &'static str,
    arrives: Arrives,
    back: Refused,
) -> Change {
    Change { leaf, base, patch, arrives, back: Some(back) }
}

const fn wrong(leaf: &'static str, base: Base, patch: &'static str, refused: Refused) -> Wrong {
    Wrong { leaf, base, patch, refused }
}

pub fn changes() -> Vec<&'static Change> {
    [members::CHANGES, settings::CHANGES, resources::CHANGES, network::CHANGES, pod::CHANGES]
        .into_iter()
        .flatten()
        .collect()
}

pub fn wrongs() -> Vec<&'static Wrong> {
    [members::WRONGS, settings::WRONGS, resources::WRONGS, network::WRONGS, pod::WRONGS]
        .into_iter()
        .flatten()
        .collect()
}

pub fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The base with the patch.
pub fn patched(base: Base, patch: &str) -> Value {
    let mut spec = base.spec();
    merge(&mut spec, &yaml(patch));
    spec
}

fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = Value::Object(serde_json::Map::new());
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Some(into) = into.as_object_mut() {
                into.remove(key);
            }
        } else {
            merge(&mut into[key], value);
        }
    }
}

/// Whether what must be seen is: `objects` are all that there are, by kind and name.
pub fn arrived(arrives: Arrives, objects: &[(String, Value)]) -> Result<(), String> {
    let of =
        |kind: &'static str| objects.iter().filter(move |(have, _)| have == kind).map(|(_, value)| value);
    let same = |what: String, found: Option<&Value>, wanted: &str| {
        let wanted = Some(yaml(wanted)).filter(|wanted| !wanted.is_null());
        if found == wanted.as_ref() { Ok(()) } else { Err(format!("{what} is {found:?}, not {wanted:?}")) }
    };
    let every = |kind: &'static str, pointer: &str, wanted: &str| {
        let mut seen = of(kind).peekable();
        if seen.peek().is_none() {
            return Err(format!("there is no {kind}"));
        }
        seen.try_for_each(|object| same(format!("{kind}{pointer}"), object.pointer(pointer), wanted))
    };
    match arrives {
        Arrives::Plan | Arrives::Nowhere => Ok(()),
        Arrives::Count(kind, wanted) => match of(kind).count() {
            found if found == wanted => Ok(()),
            found => Err(format!("{found} {kind}, not {wanted}")),
        },
        Arrives::At(kind, pointer, wanted) => match of(kind).next() {
            None => Err(format!("there is no {kind}")),
            Some(object) => same(format!("{kind}{pointer}"), object.pointer(pointer), wanted),
        },
        Arrives::Pod(pointer, wanted) => {
            every("StatefulSet", &format!("/spec/template{pointer}"), wanted)?;
            // What is only built has no pods.
            of("Pod").try_for_each(|pod| same(format!("Pod{pointer}"), pod.pointer(pointer), wanted))
        }
        Arrives::Setting(key, wanted) => {
            // A pod that is about to go may still have its old file: the one that the StatefulSet names counts.
            let volumes =
                of("StatefulSet").filter_map(|set| set.pointer("/spec/template/spec/volumes")?.as_array());
            let named: Vec<&Value> =
                volumes.flatten().filter_map(|volume| volume.pointer("/configMap/name")).collect();
            let file = of("ConfigMap").find(|map| {
                map.pointer("/metadata/name").is_some_and(|name| named.contains(&name))
                    && map.pointer("/data/etcd.yaml").is_some()
            });
            let file = file.ok_or("there is no configuration file that a StatefulSet names")?;
            let file = yaml(file.pointer("/data/etcd.yaml").and_then(Value::as_str).unwrap_or_default());
            same(format!("etcd.yaml's {key}"), file.get(key), wanted)
        }
    }
}
