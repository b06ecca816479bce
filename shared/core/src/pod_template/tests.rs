#![allow(clippy::unwrap_used, clippy::panic)]

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::build::pod::{MOUNT_PATHS, VOLUMES};

const RULES: Protected<'static> = Protected {
    containers: &["etcd", "prepare"],
    volumes: &VOLUMES,
    env_prefixes: &["ETCD_"],
    mount_paths: &MOUNT_PATHS,
};

fn validate(text: &str) -> Result<Overlay, Vec<Invalid>> {
    Overlay::validate(&serde_yaml::from_str(text).unwrap(), "spec.pod.template", &RULES)
}

#[rstest]
#[case("{}")]
#[case("null")]
#[case(
    "metadata: {labels: {team: a, app.kubernetes.io/part-of: shop}, annotations: {linkerd.io/inject: enabled}}"
)]
#[case(
    "spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: k}}]}}}"
)]
#[case("spec: {tolerations: [{key: a, operator: Exists, tolerationSeconds: 0}], nodeSelector: {disk: ssd}}")]
#[case("spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]}")]
#[case(
    "spec: {serviceAccountName: a, terminationGracePeriodSeconds: 0, priorityClassName: p, schedulerName: s}"
)]
#[case(
    "spec: {imagePullSecrets: [{name: a}], hostAliases: [{ip: 1.1.1.1, hostnames: [h]}], dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1]}, runtimeClassName: r}"
)]
#[case(
    "spec: {securityContext: {runAsUser: 1000, runAsGroup: 0, fsGroup: 1, runAsNonRoot: true, supplementalGroups: [5]}}"
)]
#[case("spec: {volumes: [{name: x, configMap: {name: y}}, {name: e, emptyDir: {sizeLimit: 1000}}]}")]
#[case(
    "spec: {containers: [{name: etcd, resources: {limits: {cpu: 2}}, env: [{name: TZ, value: UTC}], volumeMounts: [{name: x, mountPath: /x}]}], volumes: [{name: x, emptyDir: {}}]}"
)]
#[case(
    "spec: {containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /database}]}], volumes: [{name: x, emptyDir: {}}]}"
)]
#[case(
    "spec: {containers: [{name: log, image: i, command: [a], envFrom: [{configMapRef: {name: c}}], env: [{name: ETCD_X, value: y}]}]}"
)]
#[case(
    "spec: {containers: [{name: log, image: i, volumeMounts: [{name: data, mountPath: /data, readOnly: true}]}]}"
)]
#[case("spec: {initContainers: [{name: mesh, image: i, restartPolicy: Always}]}")]
#[case("spec: {nodeName: null}")]
fn allowed(#[case] text: &str) {
    assert_eq!(validate(text).map(|_| ()), Ok(()));
}

#[rstest]
#[case("[]", "", "must be an object")]
#[case("template: {}", ".template", "unknown field")]
#[case("metadata: {name: x}", ".metadata.name", "unknown field")]
#[case(
    "metadata: {labels: {app.kubernetes.io/name: x}}",
    ".metadata.labels[app.kubernetes.io/name]",
    "set by the operator"
)]
#[case(
    "metadata: {labels: {app.kubernetes.io/managed-by: x}}",
    ".metadata.labels[app.kubernetes.io/managed-by]",
    "set by the operator"
)]
#[case(
    "metadata: {labels: {ballast.dev/member: x}}",
    ".metadata.labels[ballast.dev/member]",
    "set by the operator"
)]
#[case(
    "metadata: {annotations: {ballast.dev/template-hash: x}}",
    ".metadata.annotations[ballast.dev/template-hash]",
    "set by the operator"
)]
#[case("metadata: {labels: {a: 1}}", ".metadata.labels", "not what Kubernetes expects")]
#[case("spec: {restartPolicy: Never}", ".spec.restartPolicy", "always Always")]
#[case("spec: {hostNetwork: true}", ".spec.hostNetwork", "namespaces")]
#[case("spec: {hostPID: true}", ".spec.hostPID", "namespaces")]
#[case("spec: {hostIPC: true}", ".spec.hostIPC", "namespaces")]
#[case("spec: {hostname: x}", ".spec.hostname", "identity")]
#[case("spec: {subdomain: x}", ".spec.subdomain", "identity")]
#[case("spec: {nodeName: x}", ".spec.nodeName", "nodeSelector")]
#[case("spec: {shareProcessNamespace: true}", ".spec.shareProcessNamespace", "first process")]
#[case(
    "spec: {automountServiceAccountToken: true}",
    ".spec.automountServiceAccountToken",
    "projected volume"
)]
#[case("metadata: {labels: {'a b': c}}", ".metadata.labels[a b]", "no key of a label")]
#[case("metadata: {labels: {a: 'b c'}}", ".metadata.labels[a]", "no value of a label")]
#[case("metadata: {annotations: {'a b': c}}", ".metadata.annotations[a b]", "no key of a label")]
#[case("spec: {nodeSelector: {a: 'b c'}}", ".spec.nodeSelector[a]", "no value of a label")]
#[case("spec: {containers: [{name: 'A b', image: c}]}", ".spec.containers[A b]", "lower-case letters")]
#[case("spec: {volumes: [{name: A, emptyDir: {}}]}", ".spec.volumes[A]", "lower-case letters")]
#[case("spec: {nodeSelectors: {a: b}}", ".spec.nodeSelectors", "unknown field")]
#[case("spec: {tolerations: {a: b}}", ".spec.tolerations", "not what Kubernetes expects")]
#[case("spec: {tolerations: [{key: a}, {kee: a}]}", ".spec.tolerations[1].kee", "unknown field")]
#[case("spec: {affinity: {nodeAffinty: {x: y}}}", ".spec.affinity.nodeAffinty.x", "unknown field")]
#[case(
    "spec: {terminationGracePeriodSeconds: soon}",
    ".spec.terminationGracePeriodSeconds",
    "not what Kubernetes expects"
)]
#[case(
    "spec: {securityContext: {runAsNonRoot: false}}",
    ".spec.securityContext.runAsNonRoot",
    "never run as root"
)]
#[case("spec: {securityContext: {runAsUser: 0}}", ".spec.securityContext.runAsUser", "never run as root")]
#[case(
    "spec: {securityContext: {seccompProfile: {type: Unconfined}}}",
    ".spec.securityContext.seccompProfile.type",
    "RuntimeDefault"
)]
#[case(
    "spec: {securityContext: {sysctls: [{name: a, value: b}]}}",
    ".spec.securityContext.sysctls",
    "cannot be set"
)]
#[case("spec: {volumes: [{name: data, emptyDir: {}}]}", ".spec.volumes[data]", "another name")]
#[case("spec: {volumes: [{name: x, hostPath: {path: /}}]}", ".spec.volumes[x].hostPath", "not allowed")]
#[case("spec: {volumes: [{emptyDir: {}}]}", ".spec.volumes[0]", "no name")]
#[case("spec: {volumes: [{name: x, secret: {}}, {name: x, secret: {}}]}", ".spec.volumes[x]", "twice")]
#[case("spec: {containers: {}}", ".spec.containers", "must be a list")]
#[case("spec: {containers: [{image: x}]}", ".spec.containers[0]", "no name")]
#[case("spec: {containers: [{name: prepare, image: x}]}", ".spec.containers[prepare]", "another name")]
#[case("spec: {initContainers: [{name: etcd, image: x}]}", ".spec.initContainers[etcd]", "another name")]
#[case(
    "spec: {initContainers: [{name: prepare, image: x}]}",
    ".spec.initContainers[prepare]",
    "another name"
)]
#[case(
    "spec: {containers: [{name: a, image: x}], initContainers: [{name: a, image: x}]}",
    ".spec.initContainers[a]",
    "twice"
)]
#[case("spec: {containers: [{name: log}]}", ".spec.containers[log].image", "needs an image")]
#[case(
    "spec: {containers: [{name: log, image: x, ports: [{containerPort: 1, hostPort: 1}]}]}",
    ".spec.containers[log].ports",
    "hostPort"
)]
#[case(
    "spec: {containers: [{name: log, image: x, securityContext: {privileged: true}}]}",
    ".spec.containers[log].securityContext.privileged",
    "not allowed"
)]
#[case(
    "spec: {containers: [{name: log, image: x, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}",
    ".spec.containers[log].securityContext.capabilities.add",
    "NET_BIND_SERVICE"
)]
#[case(
    "spec: {containers: [{name: log, image: x, volumeMounts: [{name: data, mountPath: /d}]}]}",
    ".spec.containers[log].volumeMounts[/d]",
    "readOnly"
)]
#[case(
    "spec: {containers: [{name: log, image: x, imagePullPolicies: Always}]}",
    ".spec.containers[log].imagePullPolicies",
    "unknown field"
)]
#[case(
    "spec: {containers: [{name: etcd, env: [{name: ETCD_NAME, value: x}]}]}",
    ".spec.containers[etcd].env[ETCD_NAME]",
    "configuration"
)]
#[case(
    "spec: {containers: [{name: etcd, envFrom: [{configMapRef: {name: c}}]}]}",
    ".spec.containers[etcd].envFrom",
    "one by one"
)]
#[case(
    "spec: {containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /data/etcd}]}], volumes: [{name: x, emptyDir: {}}]}",
    ".spec.containers[etcd].volumeMounts[/data/etcd]",
    "elsewhere"
)]
#[case(
    "spec: {containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /}]}], volumes: [{name: x, emptyDir: {}}]}",
    ".spec.containers[etcd].volumeMounts[/]",
    "elsewhere"
)]
#[case(
    "spec: {containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /x/../data}]}], volumes: [{name: x, emptyDir: {}}]}",
    ".spec.containers[etcd].volumeMounts[/x/../data]",
    "elsewhere"
)]
#[case(
    "spec: {containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /x}]}]}",
    ".spec.containers[etcd].volumeMounts[/x]",
    "no volume"
)]
#[case(
    "spec: {initContainers: [{name: a, image: b, volumeMounts: [{name: x, mountPath: /x}]}]}",
    ".spec.initContainers[a].volumeMounts[/x]",
    "no volume"
)]
#[case("spec: {terminationGracePeriodSeconds: -1}", ".spec.terminationGracePeriodSeconds", "negative")]
#[case("spec: {serviceAccountName: 'a b'}", ".spec.serviceAccountName", "is no name")]
#[case("spec: {priorityClassName: A}", ".spec.priorityClassName", "is no name")]
#[case("spec: {runtimeClassName: a_b}", ".spec.runtimeClassName", "is no name")]
#[case(
    "spec: {containers: [{name: etcd, resources: {limits: {memory: lots}}}]}",
    ".spec.containers[etcd].resources.limits[memory]",
    "not a quantity"
)]
#[case(
    "spec: {initContainers: [{name: a, image: b, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}",
    ".spec.initContainers[a].resources.requests[cpu]",
    "more than the limit"
)]
fn refused(#[case] text: &str, #[case] field: &str, #[case] message: &str) {
    let invalid = validate(text).unwrap_err();
    let [only] = invalid.as_slice() else { panic!("{invalid:?}") };
    assert_eq!(only.field, format!("spec.pod.template{field}"));
    assert!(only.message.contains(message), "{only}");
}

#[rstest]
fn refused_on_our_container(
    #[values(
        "image",
        "imagePullPolicy",
        "command",
        "args",
        "ports",
        "securityContext",
        "lifecycle",
        "startupProbe",
        "livenessProbe",
        "readinessProbe",
        "workingDir",
        "tty",
        "volumeDevices",
        "resizePolicy",
        "restartPolicy"
    )]
    field: &str,
) {
    let value = json!({"spec": {"containers": [{"name": "etcd", field: {}}]}});
    let invalid = Overlay::validate(&value, "t", &RULES).unwrap_err();
    assert_eq!(invalid[0].field, format!("t.spec.containers[etcd].{field}"));
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let invalid = validate("{x: 1, spec: {hostPID: true, hostname: h, volumes: [{name: tmp}]}}").unwrap_err();
    assert_eq!(invalid.len(), 4, "{invalid:?}");
}

#[test]
fn what_changes_nothing_is_empty() {
    for text in [
        "{}",
        "null",
        "{spec: {}}",
        "{metadata: {}, spec: {nodeName: null}}",
        "{metadata: {labels: {}}, spec: {containers: [], tolerations: [], affinity: {}}}",
    ] {
        assert!(validate(text).unwrap().is_empty(), "{text}");
    }
    assert!(!validate("{spec: {schedulerName: s}}").unwrap().is_empty());
    assert!(!validate("{spec: {topologySpreadConstraints: []}}").unwrap().is_empty());
}

#[test]
fn what_slips_through_the_checks_is_put_back() {
    let template = json!({"metadata": {"labels": {"a": "ours"}}, "spec": {
        "automountServiceAccountToken": false,
        "securityContext": {"runAsNonRoot": true},
        "containers": [{"name": "etcd", "image": "ours", "env": [{"name": "A", "value": "ours"}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "volumes": [{"name": "data", "emptyDir": {}}]}});
    let template: PodTemplateSpec = serde_json::from_value(template).unwrap();
    let overlay = Overlay(json!({"metadata": {"labels": {"a": "theirs"}}, "spec": {
        "automountServiceAccountToken": true, "hostNetwork": true,
        "securityContext": {"runAsNonRoot": false},
        "containers": [{"name": "etcd", "image": "theirs", "env": [{"name": "A", "value": "theirs"}],
            "volumeMounts": [{"name": "other", "mountPath": "/data"}]}],
        "volumes": [{"name": "data", "hostPath": {"path": "/"}}]}}));
    assert_eq!(overlay.apply(template.clone()), template);
}
