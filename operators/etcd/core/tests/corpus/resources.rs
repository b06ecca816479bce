//! What etcd may use of its node.

use super::{
    Arrives::Pod,
    Base::{One, Rich},
    Change,
    Refused::{ApiServer, Operator},
    Wrong, change, wrong,
};

const RESOURCES: &str = "/spec/containers/0/resources";
const MEMORY: &str = "/spec/containers/0/resources/limits/memory";

pub const CHANGES: &[Change] = &[
    change(
        "spec.resources.requests.*",
        One,
        "resources: {requests: {cpu: 250m}}",
        Pod(RESOURCES, "{requests: {cpu: 250m}}"),
    ),
    change(
        "spec.resources.requests.*",
        Rich,
        "resources: {requests: {cpu: ~}}",
        Pod("/spec/containers/0/resources/requests/cpu", "~"),
    ),
    change(
        "spec.resources.requests.*",
        Rich,
        "resources: {requests: {cpu: 2}}",
        Pod("/spec/containers/0/resources/requests/cpu", "'2'"),
    ),
    change(
        "spec.resources.requests.*",
        Rich,
        "resources: ~",
        Pod(RESOURCES, "{requests: {cpu: 50m, memory: 128Mi}}"),
    ),
    change(
        "spec.resources.limits.*",
        One,
        "resources: {limits: {memory: 2Gi}, requests: {memory: 1Gi}}",
        Pod(MEMORY, "2Gi"),
    ),
    change("spec.resources.limits.*", Rich, "resources: {limits: {memory: 3Gi}}", Pod(MEMORY, "3Gi")),
    change("spec.resources.limits.*", Rich, "resources: {limits: ~}", Pod(MEMORY, "~")),
];

pub const WRONGS: &[Wrong] = &[
    wrong(
        "spec.resources.requests.*",
        One,
        "resources: {requests: {cpu: lots}}",
        Operator("spec.resources.requests[cpu]"),
    ),
    wrong(
        "spec.resources.requests.*",
        One,
        "resources: {requests: {memory: -1Gi}}",
        Operator("spec.resources.requests[memory]"),
    ),
    wrong(
        "spec.resources.requests.*",
        Rich,
        "resources: {requests: {memory: 2Gi}}",
        Operator("spec.resources.requests[memory]"),
    ),
    wrong(
        "spec.resources.requests.*",
        One,
        "resources: {requests: {disk: 1Gi}}",
        Operator("spec.resources.requests[disk]"),
    ),
    wrong(
        "spec.resources.requests.*",
        One,
        "resources: {requests: {cpu: [1]}}",
        ApiServer("spec.resources.requests"),
    ),
    wrong(
        "spec.resources.limits.*",
        One,
        "resources: {limits: {memory: lots}}",
        Operator("spec.resources.limits[memory]"),
    ),
    wrong(
        "spec.resources.limits.*",
        Rich,
        "resources: {limits: {memory: 128Mi}}",
        Operator("spec.resources.requests[memory]"),
    ),
];
