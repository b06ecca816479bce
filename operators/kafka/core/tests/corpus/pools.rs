//! The pools of nodes: which ones, and where they keep their data.

use super::{
    Arrives::{At, Count, Nowhere, Plan},
    Base::{One, Rich, Two},
    Change,
    Refused::{ApiServer, Operator},
    Wrong, change, forward, wrong,
};

const SET: &str = "StatefulSet";
const CLAIM: &str = "PersistentVolumeClaim";
const NAME: &str = "/metadata/name";

pub const CHANGES: &[Change] = &[
    change("spec.nodePools[].name", One, "nodePools: {'0': {name: other}}", At(SET, NAME, "my-other-0")),
    // What cannot change comes with another pool.
    change(
        "spec.nodePools[].roles[]",
        Two,
        "nodePools: [{name: x, roles: [Controller, Broker], replicas: 1, nodeIds: {start: 300}}]",
        At(SET, "/metadata/labels/app.kubernetes.io~1component", "node"),
    ),
    change("spec.nodePools[].replicas", One, "nodePools: {'0': {replicas: 3}}", Count(SET, 3)),
    change("spec.nodePools[].replicas", Two, "nodePools: {'1': {replicas: ~}}", Nowhere),
    change("spec.nodePools[].replicas", Two, "nodePools: {'1': {replicas: 7}}", Count(CLAIM, 10)),
    change(
        "spec.nodePools[].nodeIds.start",
        Two,
        "nodePools: [{name: x, roles: [Controller, Broker], replicas: 1, nodeIds: {start: 300}}]",
        At(SET, NAME, "my-x-300"),
    ),
    change("spec.nodePools[].nodeIds.start", One, "nodePools: {'0': {nodeIds: {start: 0}}}", Nowhere),
    change(
        "spec.nodePools[].nodeIds.without[]",
        Rich,
        "nodePools: {'0': {nodeIds: {without: [101, 100]}}}",
        At(SET, NAME, "my-node-102"),
    ),
    change(
        "spec.nodePools[].nodeIds.without[]",
        Rich,
        "nodePools: {'0': {nodeIds: {without: ~}}}",
        At(SET, NAME, "my-node-100"),
    ),
    // It is for people.
    change(
        "spec.nodePools[].storage.volumes[].name",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {name: log}}}}}",
        Nowhere,
    ),
    forward(
        "spec.nodePools[].storage.volumes[].size",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {size: 20Gi}}}}}",
        At(CLAIM, "/spec/resources/requests/storage", "20Gi"),
        ApiServer("can only grow"),
    ),
    change(
        "spec.nodePools[].storage.volumes[].size",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {size: 10240Mi}}}}}",
        Nowhere,
    ),
    change(
        "spec.nodePools[].storage.volumes[].storageClassName",
        Two,
        "nodePools: [{name: x, roles: [Controller, Broker], replicas: 1, nodeIds: {start: 300}, storage: {volumes: [{name: data, size: 1Gi, storageClassName: slow}]}}]",
        At(CLAIM, "/spec/storageClassName", "slow"),
    ),
    change(
        "spec.nodePools[].storage.whenScaled",
        One,
        "nodePools: {'0': {storage: {whenScaled: Delete}}}",
        Plan,
    ),
    change("spec.nodePools[].storage.whenScaled", Rich, "nodePools: {'0': {storage: {whenScaled: ~}}}", Plan),
    change(
        "spec.nodePools[].storage.whenDeleted",
        One,
        "nodePools: {'0': {storage: {whenDeleted: Delete}}}",
        At(CLAIM, "/metadata/ownerReferences/0/kind", "KafkaCluster"),
    ),
    change(
        "spec.nodePools[].storage.whenDeleted",
        Rich,
        "nodePools: {'0': {storage: {whenDeleted: ~}}}",
        At(CLAIM, "/metadata/ownerReferences", "~"),
    ),
];

pub const WRONGS: &[Wrong] = &[
    wrong("spec.nodePools[].name", One, "nodePools: {'0': {name: 'A b'}}", ApiServer("DNS label")),
    wrong(
        "spec.nodePools[].name",
        Two,
        "nodePools: {'1': {name: controller}}",
        Operator("spec.nodePools[1].name"),
    ),
    wrong(
        "spec.nodePools[].roles[]",
        One,
        "nodePools: {'0': {roles: [Voter]}}",
        ApiServer("spec.nodePools[0].roles[0]"),
    ),
    wrong(
        "spec.nodePools[].roles[]",
        Two,
        "nodePools: {'1': {roles: [Broker, Broker]}}",
        Operator("spec.nodePools[1].roles"),
    ),
    wrong(
        "spec.nodePools[].roles[]",
        Two,
        "nodePools: {'0': {roles: [Broker]}}",
        Operator("spec.nodePools[].replicas"),
    ),
    wrong(
        "spec.nodePools[].replicas",
        One,
        "nodePools: {'0': {replicas: 2}}",
        Operator("spec.nodePools[].replicas"),
    ),
    wrong(
        "spec.nodePools[].replicas",
        Two,
        "nodePools: {'1': {replicas: 101}}",
        Operator("spec.nodePools[1].replicas"),
    ),
    wrong(
        "spec.nodePools[].replicas",
        Two,
        "nodePools: {'1': {replicas: 0}}",
        Operator("spec.nodePools[].replicas"),
    ),
    wrong(
        "spec.nodePools[].nodeIds.start",
        One,
        "nodePools: {'0': {nodeIds: {start: 50}}}",
        Operator("spec.nodePools[0].nodeIds.start"),
    ),
    wrong(
        "spec.nodePools[].nodeIds.start",
        Two,
        "nodePools: {'1': {nodeIds: {start: 100}}}",
        Operator("spec.nodePools[1].nodeIds.start"),
    ),
    wrong(
        "spec.nodePools[].nodeIds.start",
        Two,
        "nodePools: {'1': {nodeIds: ~}}",
        Operator("spec.nodePools[1].nodeIds.start"),
    ),
    wrong(
        "spec.nodePools[].nodeIds.without[]",
        Rich,
        "nodePools: {'0': {nodeIds: {without: [200]}}}",
        Operator("spec.nodePools[0].nodeIds.without"),
    ),
    wrong(
        "spec.nodePools[].nodeIds.without[]",
        Two,
        "nodePools: {'1': {nodeIds: {without: [201, 201]}}}",
        Operator("spec.nodePools[1].nodeIds.without"),
    ),
    wrong(
        "spec.nodePools[].storage.volumes[].name",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {name: 'A b'}}}}}",
        ApiServer("DNS label"),
    ),
    wrong(
        "spec.nodePools[].storage.volumes[].size",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {size: 255Mi}}}}}",
        Operator("spec.nodePools[0].storage.volumes[data].size"),
    ),
    wrong(
        "spec.nodePools[].storage.volumes[].size",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {size: big}}}}}",
        Operator("spec.nodePools[0].storage.volumes[data].size"),
    ),
    wrong(
        "spec.nodePools[].storage.volumes[].storageClassName",
        Rich,
        "nodePools: {'0': {storage: {volumes: {'0': {storageClassName: 'a b'}}}}}",
        Operator("spec.nodePools[0].storage.volumes[data].storageClassName"),
    ),
    wrong(
        "spec.nodePools[].storage.whenScaled",
        One,
        "nodePools: {'0': {storage: {whenScaled: Never}}}",
        ApiServer("spec.nodePools[0].storage.whenScaled"),
    ),
    wrong(
        "spec.nodePools[].storage.whenDeleted",
        One,
        "nodePools: {'0': {storage: {whenDeleted: Never}}}",
        ApiServer("spec.nodePools[0].storage.whenDeleted"),
    ),
];
