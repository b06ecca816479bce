//! The overlay on the pod, whose schema is open: what is added, changed and removed in its parts; and a pause.

use super::{
    Arrives::{Nowhere, Pod},
    Base::{Ephemeral, One, Rich, Three},
    Change,
    Refused::{ApiServer, Kubernetes, Nobody, Operator},
    Wrong, change, wrong,
};

const LEAF: &str = "spec.pod.template";

pub const CHANGES: &[Change] = &[
    change("spec.paused", One, "paused: false", Nowhere),
    change(LEAF, One, "pod: {template: {metadata: {labels: {team: b}}}}", Pod("/metadata/labels/team", "b")),
    change(
        LEAF,
        Three,
        "pod: {template: {metadata: {annotations: {note: b}}}}",
        Pod("/metadata/annotations/note", "b"),
    ),
    change(
        LEAF,
        Ephemeral,
        "pod: {template: {metadata: {annotations: {note: b}}}}",
        Pod("/metadata/annotations/note", "b"),
    ),
    change(LEAF, One, "pod: {template: {}}", Nowhere),
    change(
        LEAF,
        One,
        "pod: {template: {metadata: {labels: {}}, spec: {containers: [], tolerations: []}}}",
        Nowhere,
    ),
    change(LEAF, Rich, "pod: {template: {metadata: {labels: {team: c}}}}", Pod("/metadata/labels/team", "c")),
    change(LEAF, Rich, "pod: {template: {metadata: {labels: {team: ~}}}}", Pod("/metadata/labels/team", "~")),
    change(LEAF, Rich, "pod: {template: {metadata: {labels: ~}}}", Pod("/metadata/labels/tier", "~")),
    change(
        LEAF,
        Rich,
        "pod: {template: {metadata: {annotations: {note: ''}}}}",
        Pod("/metadata/annotations/note", "''"),
    ),
    change(
        LEAF,
        Rich,
        "pod: {template: {metadata: {annotations: {note: ~}}}}",
        Pod("/metadata/annotations/note", "~"),
    ),
    change(LEAF, Rich, "pod: {template: ~}", Pod("/spec/hostAliases", "~")),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {terminationGracePeriodSeconds: 10}}}",
        Pod("/spec/terminationGracePeriodSeconds", "10"),
    ),
    change(
        LEAF,
        Rich,
        "pod: {template: {spec: {terminationGracePeriodSeconds: ~}}}",
        Pod("/spec/terminationGracePeriodSeconds", "30"),
    ),
    change(
        LEAF,
        Rich,
        "pod: {template: {spec: {tolerations: [{key: other, operator: Exists, effect: NoSchedule}]}}}",
        Pod("/spec/tolerations/0/key", "other"),
    ),
    change(
        LEAF,
        Rich,
        "pod: {template: {spec: {hostAliases: [{ip: 192.0.2.1, hostnames: [b.example.com]}]}}}",
        Pod("/spec/hostAliases/0/hostnames", "[b.example.com]"),
    ),
    change(LEAF, Rich, "pod: {template: {spec: {hostAliases: ~}}}", Pod("/spec/hostAliases", "~")),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {nodeSelector: {kubernetes.io/os: linux}}}}",
        Pod("/spec/nodeSelector", "{kubernetes.io/os: linux}"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {topologySpreadConstraints: []}}}",
        Pod("/spec/topologySpreadConstraints/0", "~"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {schedulerName: second-scheduler}}}",
        Pod("/spec/schedulerName", "second-scheduler"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {imagePullSecrets: [{name: pull}]}}}",
        Pod("/spec/imagePullSecrets", "[{name: pull}]"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {dnsPolicy: None, dnsConfig: {nameservers: [192.0.2.53]}}}}",
        Pod("/spec/dnsConfig/nameservers", "[192.0.2.53]"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {serviceAccountName: app}}}",
        Pod("/spec/serviceAccountName", "app"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {securityContext: {fsGroup: 2000}}}}",
        Pod("/spec/securityContext/fsGroup", "2000"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname}}]}}}}}",
        Pod("/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight", "1"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {containers: [{name: side, image: 'side:1'}]}}}",
        Pod("/spec/containers/1/image", "'side:1'"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {initContainers: [{name: first, image: 'first:1'}]}}}",
        Pod("/spec/initContainers/1/image", "'first:1'"),
    ),
    change(
        LEAF,
        One,
        "pod: {template: {spec: {containers: [{name: etcd, resources: {limits: {cpu: 1500m}}}]}}}",
        Pod("/spec/containers/0/resources/limits/cpu", "1500m"),
    ),
    change(
        LEAF,
        Rich,
        "pod: {template: {spec: {containers: [{name: etcd, env: [{name: TZ, value: CET}], volumeMounts: [{name: extra, mountPath: /extra}]}]}}}",
        Pod("/spec/containers/1", "~"),
    ),
    change(
        LEAF,
        Rich,
        "pod: {template: {spec: {containers: [{name: side, image: 'side:2'}], volumes: ~}}}",
        Pod("/spec/containers/1/image", "'side:2'"),
    ),
];

pub const WRONGS: &[Wrong] = &[
    wrong(LEAF, One, "pod: {template: [a]}", ApiServer("spec.pod.template")),
    wrong(LEAF, One, "pod: {template: {spek: {}}}", Operator("spec.pod.template.spek")),
    wrong(
        LEAF,
        One,
        "pod: {template: {metadata: {labels: {app.kubernetes.io/name: x}}}}",
        Operator("spec.pod.template.metadata.labels[app.kubernetes.io/name]"),
    ),
    wrong(
        LEAF,
        Rich,
        "pod: {template: {metadata: {labels: {team: 'a b'}}}}",
        Operator("spec.pod.template.metadata.labels[team]"),
    ),
    wrong(
        LEAF,
        Rich,
        "pod: {template: {spec: {hostNetwork: true}}}",
        Operator("spec.pod.template.spec.hostNetwork"),
    ),
    wrong(
        LEAF,
        Three,
        "pod: {template: {spec: {tolerations: {a: b}}}}",
        Operator("spec.pod.template.spec.tolerations"),
    ),
    wrong(
        LEAF,
        Rich,
        "pod: {template: {spec: {terminationGracePeriodSeconds: -1}}}",
        Operator("spec.pod.template.spec.terminationGracePeriodSeconds"),
    ),
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {containers: [{name: etcd, resources: {limits: {memory: lots}}}]}}}",
        Operator("spec.pod.template.spec.containers[etcd].resources.limits[memory]"),
    ),
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {containers: [{name: side, image: x, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}}",
        Operator("spec.pod.template.spec.containers[side].resources.requests[cpu]"),
    ),
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {serviceAccountName: 'a b'}}}",
        Operator("spec.pod.template.spec.serviceAccountName"),
    ),
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {containers: [{name: etcd, volumeMounts: [{name: nowhere, mountPath: /x}]}]}}}",
        Operator("spec.pod.template.spec.containers[etcd].volumeMounts[/x]"),
    ),
    // What only Kubernetes knows: the status repeats what it says.
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {tolerations: [{key: a, operator: Perhaps}]}}}",
        Kubernetes("tolerations[0].operator"),
    ),
    wrong(LEAF, Three, "pod: {template: {spec: {dnsPolicy: Sometimes}}}", Kubernetes("dnsPolicy")),
    wrong(
        LEAF,
        Rich,
        "pod: {template: {spec: {hostAliases: [{ip: nowhere, hostnames: [a]}]}}}",
        Kubernetes("hostAliases[0].ip"),
    ),
    // Pods that are refused, or have no place.
    wrong(LEAF, One, "pod: {template: {spec: {serviceAccountName: nobody}}}", Nobody),
    wrong(LEAF, Three, "pod: {template: {spec: {serviceAccountName: nobody}}}", Nobody),
    wrong(LEAF, Rich, "pod: {template: {spec: {priorityClassName: unheard-of}}}", Nobody),
    wrong(LEAF, One, "pod: {template: {spec: {schedulerName: nobody}}}", Nobody),
    wrong(LEAF, Three, "pod: {template: {spec: {schedulerName: nobody}}}", Nobody),
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [moon]}]}]}}}}}}",
        Nobody,
    ),
    wrong(
        LEAF,
        Three,
        "pod: {template: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [moon]}]}]}}}}}}",
        Nobody,
    ),
    wrong(
        LEAF,
        One,
        "pod: {template: {spec: {containers: [{name: side, image: 'broken.example.com/side:1'}]}}}",
        Nobody,
    ),
];
