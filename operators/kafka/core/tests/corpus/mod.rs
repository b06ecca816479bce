//! The corpus of the sweep: for every leaf of a `KafkaCluster`'s `spec`, other values that are valid and where they must arrive, and
//! values that are wrong and who must say so. Pure data, which `sweep.rs` tries on what is built.
//!
//! A new field needs at least one line among the changes and one among the wrong values of the file that it belongs to, or a file of its own.

mod cluster;
mod moving;
mod pods;
mod pools;

use ballast_testkit::sweep::{self, Arrives, Refused, change, forward, wrong, yaml};
use serde_json::Value;

/// Another valid value.
pub type Change = sweep::Change<Base>;
/// A value that is wrong.
pub type Wrong = sweep::Wrong<Base>;

/// A specification that others differ from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// One node and nothing that need not be said.
    One,
    /// One node, and something in every field.
    Rich,
    /// Controllers, and brokers on nodes of their own.
    Two,
}

impl Base {
    pub fn spec(self) -> Value {
        yaml(match self {
            Self::One => {
                "{version: 4.4.0, nodePools: [{name: node, roles: [Controller, Broker], replicas: 1}]}"
            }
            Self::Two => TWO,
            Self::Rich => RICH,
        })
    }
}

const TWO: &str = "
version: 4.4.0
nodePools:
  - {name: controller, roles: [Controller], replicas: 3, nodeIds: {start: 100}}
  - {name: broker, roles: [Broker], replicas: 3, nodeIds: {start: 200}}
";

const RICH: &str = r#"
version: 4.3.1
metadataVersion: "4.1"
image: registry.example.com/kafka
zones: [a]
nodePools:
  - name: node
    roles: [Controller, Broker]
    replicas: 1
    nodeIds: {start: 100, without: [100]}
    storage:
      volumes: [{name: data, size: 10Gi, storageClassName: fast}]
      whenScaled: Delete
      whenDeleted: Delete
    jvm: {heap: 1Gi, options: ["-XX:MaxGCPauseMillis=50"]}
    resources: {requests: {cpu: 500m, memory: 4Gi}, limits: {memory: 4Gi}}
    pod:
      template:
        metadata: {labels: {team: a}, annotations: {note: a}}
        spec:
          terminationGracePeriodSeconds: 60
          tolerations: [{key: dedicated, operator: Equal, value: kafka, effect: NoSchedule}]
          containers: [{name: side, image: "side:1"}]
config: {log.retention.hours: "72", num.partitions: "6"}
rebalance:
  throttle: 100Mi
  concurrency: 3
  onScaleUp: Nothing
  hotPartitions: {mode: Auto, threshold: 150, maxBytes: 1Gi}
rolling: {isrHeadroom: 1}
disruptionBudget: {enabled: false}
paused: true
"#;

/// In this key of Kafka's configuration files.
const fn setting(key: &'static str, wanted: &'static str) -> Arrives {
    Arrives::InFile("server.properties", key, wanted)
}

pub fn changes() -> Vec<&'static Change> {
    [cluster::CHANGES, pools::CHANGES, pods::CHANGES, moving::CHANGES].into_iter().flatten().collect()
}

pub fn wrongs() -> Vec<&'static Wrong> {
    [cluster::WRONGS, pools::WRONGS, pods::WRONGS, moving::WRONGS].into_iter().flatten().collect()
}
