//! The pods of a pool: the JVM, what they may use, and what is laid over them.

use super::{
    Arrives::{Item, Nowhere, Pod},
    Base::{One, Rich, Two},
    Change,
    Refused::Operator,
    Wrong, change, wrong,
};

const COMMAND: &str = "/spec/containers/0/command";
const TEMPLATE: &str = "spec.nodePools[].pod.template";

pub const CHANGES: &[Change] = &[
    change(
        "spec.nodePools[].jvm.heap",
        One,
        "nodePools: {'0': {jvm: {heap: 2Gi}}}",
        Item(COMMAND, "-Xmx2097152k"),
    ),
    change(
        "spec.nodePools[].jvm.heap",
        Rich,
        "nodePools: {'0': {jvm: {heap: ~}}}",
        Item(COMMAND, "-Xms2097152k"),
    ),
    change("spec.nodePools[].jvm.heap", One, "nodePools: {'0': {jvm: {heap: 1024Mi}}}", Nowhere),
    change(
        "spec.nodePools[].jvm.options[]",
        One,
        "nodePools: {'0': {jvm: {options: ['-XX:+UseZGC']}}}",
        Item(COMMAND, "'-XX:+UseZGC'"),
    ),
    change(
        "spec.nodePools[].jvm.options[]",
        Rich,
        "nodePools: {'0': {jvm: {options: ['-Duser.timezone=UTC']}}}",
        Item(COMMAND, "-Duser.timezone=UTC"),
    ),
    change("spec.nodePools[].jvm.options[]", One, "nodePools: {'0': {jvm: {options: []}}}", Nowhere),
    change(
        "spec.nodePools[].resources.requests.*",
        One,
        "nodePools: {'0': {resources: {requests: {cpu: '2'}}}}",
        Pod("/spec/containers/0/resources/requests", "{cpu: '2'}"),
    ),
    change(
        "spec.nodePools[].resources.requests.*",
        Rich,
        "nodePools: {'0': {resources: {requests: {cpu: ~}}}}",
        Pod("/spec/containers/0/resources/requests/cpu", "~"),
    ),
    change(
        "spec.nodePools[].resources.limits.*",
        Rich,
        "nodePools: {'0': {resources: {limits: {memory: 6Gi}}}}",
        Pod("/spec/containers/0/resources/limits/memory", "6Gi"),
    ),
    // Half of it is the heap.
    change(
        "spec.nodePools[].resources.limits.*",
        One,
        "nodePools: {'0': {resources: {limits: {memory: 6Gi}}}}",
        Item(COMMAND, "-Xmx3145728k"),
    ),
    change(
        TEMPLATE,
        One,
        "nodePools: {'0': {pod: {template: {metadata: {labels: {team: b}}}}}}",
        Pod("/metadata/labels/team", "b"),
    ),
    change(
        TEMPLATE,
        Rich,
        "nodePools: {'0': {pod: {template: {metadata: {annotations: {note: ~}}}}}}",
        Pod("/metadata/annotations/note", "~"),
    ),
    change(
        TEMPLATE,
        Rich,
        "nodePools: {'0': {pod: {template: {spec: {terminationGracePeriodSeconds: ~}}}}}",
        Pod("/spec/terminationGracePeriodSeconds", "120"),
    ),
    change(
        TEMPLATE,
        Rich,
        "nodePools: {'0': {pod: {template: {spec: {containers: {'0': {image: 'side:2'}}}}}}}",
        Pod("/spec/containers/1/image", "'side:2'"),
    ),
    change(TEMPLATE, Rich, "nodePools: {'0': {pod: {template: ~}}}", Pod("/spec/containers/1", "~")),
    change(TEMPLATE, One, "nodePools: {'0': {pod: {template: {}}}}", Nowhere),
];

pub const WRONGS: &[Wrong] = &[
    wrong(
        "spec.nodePools[].jvm.heap",
        One,
        "nodePools: {'0': {jvm: {heap: 127Mi}}}",
        Operator("spec.nodePools[0].jvm.heap"),
    ),
    wrong(
        "spec.nodePools[].jvm.heap",
        Rich,
        "nodePools: {'0': {jvm: {heap: 4Gi}}}",
        Operator("spec.nodePools[0].jvm.heap"),
    ),
    wrong(
        "spec.nodePools[].jvm.heap",
        One,
        "nodePools: {'0': {jvm: {heap: lots}}}",
        Operator("spec.nodePools[0].jvm.heap"),
    ),
    wrong(
        "spec.nodePools[].jvm.options[]",
        Rich,
        "nodePools: {'0': {jvm: {options: ['-XX:+UseZGC', '-Xmx4g']}}}",
        Operator("spec.nodePools[0].jvm.options[1]"),
    ),
    wrong(
        "spec.nodePools[].jvm.options[]",
        One,
        "nodePools: {'0': {jvm: {options: ['-XX:+UseZGC', '-XX:+UseG1GC']}}}",
        Operator("spec.nodePools[0].jvm.options"),
    ),
    wrong(
        "spec.nodePools[].resources.requests.*",
        One,
        "nodePools: {'0': {resources: {requests: {cpu: lots}}}}",
        Operator("spec.nodePools[0].resources.requests[cpu]"),
    ),
    wrong(
        "spec.nodePools[].resources.limits.*",
        Rich,
        "nodePools: {'0': {resources: {limits: {cpu: 100m}}}}",
        Operator("spec.nodePools[0].resources.requests[cpu]"),
    ),
    wrong(
        "spec.nodePools[].resources.limits.*",
        One,
        "nodePools: {'0': {resources: {limits: {memory: lots}}}}",
        Operator("spec.nodePools[0].resources.limits[memory]"),
    ),
    wrong(
        TEMPLATE,
        One,
        "nodePools: {'0': {pod: {template: {spek: {}}}}}",
        Operator("spec.nodePools[0].pod.template.spek"),
    ),
    wrong(
        TEMPLATE,
        Two,
        "nodePools: {'1': {pod: {template: {spec: {hostNetwork: true}}}}}",
        Operator("spec.nodePools[1].pod.template.spec.hostNetwork"),
    ),
];
