//! The corpus of the sweep: for every leaf of an `EtcdCluster`'s `spec`, other values that are valid and where they
//! must arrive, and values that are wrong and who must say so.
//!
//! Pure data: `sweep.rs` tries it on what is built, the tests with a control plane on running clusters.

mod members;
mod network;
mod pod;
mod resources;
mod settings;

use ballast_testkit::sweep::{self, change, forward, wrong, yaml};
pub use ballast_testkit::sweep::{Arrives, Refused};
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

/// Another valid value.
pub type Change = sweep::Change<Base>;
/// A value that is wrong.
pub type Wrong = sweep::Wrong<Base>;

/// In this key of etcd's configuration file.
const fn setting(key: &'static str, wanted: &'static str) -> Arrives {
    Arrives::InFile("etcd.yaml", key, wanted)
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
