//! Objects of one imaginary cluster, for the tests of the builders.

#![allow(clippy::unwrap_used, clippy::panic)]

use k8s_openapi::{api::apps::v1::StatefulSet, apimachinery::pkg::apis::meta::v1::OwnerReference};
use serde_json::json;

use super::{
    Cluster,
    member::{Application, Guard, Member, Probe, Storage, stateful_set},
    pod::{MOUNT_PATHS, VOLUMES},
    service::Port,
};
use crate::{
    label::ClusterLabels,
    pod_template::{Overlay, Protected},
};

pub(super) const PORTS: [Port; 2] = [Port { name: "client", port: 2379 }, Port { name: "peer", port: 2380 }];

pub(super) fn cluster() -> Cluster {
    let uid = "0a1b2c3d-1111-2222-3333-444455556666".to_owned();
    Cluster {
        labels: ClusterLabels { application: "etcd", instance: "my".to_owned(), uid: uid.clone() },
        namespace: "shop".to_owned(),
        owner: OwnerReference {
            api_version: "etcd.ballast.dev/v1alpha1".to_owned(),
            kind: "EtcdCluster".to_owned(),
            name: "my".to_owned(),
            uid,
            controller: Some(true),
            block_owner_deletion: None,
        },
        domain: "cluster.local".to_owned(),
    }
}

fn probe(path: &str, period_seconds: i32, failure_threshold: i32) -> Probe {
    Probe { path: Some(path.to_owned()), port: 2379, period_seconds, timeout_seconds: 5, failure_threshold }
}

pub(super) fn member() -> Member {
    Member {
        name: "my-0".to_owned(),
        component: "member",
        labels: vec![],
        zone: None,
        spread: true,
        application: Application {
            container: "etcd",
            image: "quay.io/coreos/etcd:v3.6.1".to_owned(),
            pull_policy: None,
            command: vec!["/usr/local/bin/etcd".to_owned(), "--config-file=/ballast/etcd.yaml".to_owned()],
            ports: PORTS.to_vec(),
            resources: json!({"requests": {"cpu": 1, "memory": "128Mi"}}),
            env: vec![("GOMAXPROCS".to_owned(), "2".to_owned())],
            startup: probe("/livez", 2, 300),
            liveness: probe("/livez", 10, 6),
            readiness: probe("/readyz", 2, 2),
            user_id: 65532,
            grace_seconds: 30,
        },
        guard: Guard {
            data_dir: "etcd".to_owned(),
            evidence: vec!["member/wal/*.wal".to_owned(), "member/snap/db".to_owned()],
            drop_env_prefixes: vec!["ETCD_".to_owned()],
            accept_cluster_uids: vec!["old".to_owned()],
            config_files: vec!["etcd.yaml".to_owned()],
            resolve_seconds: 60,
        },
        setup: None,
        storage: Storage::Claim { name: "data-my-0-0a1b2c3d-0".to_owned() },
        config_map: "my-config-0123456789abcdef".to_owned(),
        overlay: None,
        operator_image: "ballast/etcd-operator:0.1.0".to_owned(),
        operator_pull_policy: Some("IfNotPresent".to_owned()),
        restart_at: None,
        replicas: 1,
    }
}

pub(super) fn ephemeral() -> Member {
    Member { storage: Storage::Ephemeral { size_limit: "2Gi".to_owned() }, ..member() }
}

/// In a zone, with an overlay that uses what an overlay can do.
pub(super) fn customised() -> Member {
    let text = "
metadata:
  labels: {team: a}
  annotations: {linkerd.io/inject: enabled}
spec:
  serviceAccountName: app
  terminationGracePeriodSeconds: 60
  tolerations: [{key: dedicated, operator: Exists}]
  imagePullSecrets: [{name: registry}]
  securityContext: {runAsUser: 1001, fsGroup: 1001}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: disk, operator: In, values: [ssd]}]
        - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
  containers:
  - name: etcd
    resources: {limits: {memory: 1Gi}}
    env: [{name: TZ, value: UTC}]
    volumeMounts: [{name: extra, mountPath: /extra}]
  - name: log
    image: log:1
    volumeMounts: [{name: data, mountPath: /data, readOnly: true}]
  - name: bind
    image: bind:1
    securityContext: {capabilities: {add: [NET_BIND_SERVICE]}, readOnlyRootFilesystem: true}
  initContainers:
  - name: wait
    image: wait:1
  volumes:
  - name: extra
    configMap: {name: extra}
";
    let rules = Protected {
        containers: &["etcd", "prepare"],
        volumes: &VOLUMES,
        env_prefixes: &["ETCD_"],
        mount_paths: &MOUNT_PATHS,
    };
    let overlay = Overlay::validate(&serde_yaml::from_str(text).unwrap(), "template", &rules).unwrap();
    let restart_at = Some("2026-11-30T04:00:00Z".to_owned());
    Member { zone: Some("zone-b".to_owned()), overlay: Some(overlay), restart_at, replicas: 0, ..member() }
}

pub(super) fn stateful_sets() -> Vec<StatefulSet> {
    [member(), ephemeral(), customised()].iter().map(|member| stateful_set(&cluster(), member)).collect()
}
