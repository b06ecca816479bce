//! What a resource has no way to ask for: other namespaces, the node, files and addresses.

use ballast_etcd_core::validate::validate;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    environment,
    places::{BASES, Place, SCHEMA, with},
    resource,
};

/// References lead to the resource's own namespace: no field can name another one.
#[test]
fn no_field_names_a_namespace() {
    fn names<'s>(schema: &'s Value, path: &str, found: &mut Vec<(String, &'s str)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            found.push((format!("{path}.{name}"), name));
            names(field, &format!("{path}.{name}"), found);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(field) = schema.get(inner) {
                names(field, path, found);
            }
        }
    }
    let mut found = vec![];
    names(&SCHEMA, "spec", &mut found);
    assert!(found.len() > 30, "{found:?}");
    // Selecting who may connect reads nothing and writes nothing there.
    let wrong: Vec<_> = found
        .iter()
        .filter(|(_, name)| name.to_lowercase().contains("namespace") && *name != "namespaceSelector")
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[rstest]
#[case::host_path("volumes: [{name: x, hostPath: {path: /}}]")]
#[case::nfs("volumes: [{name: x, nfs: {server: a, path: /}}]")]
#[case::host_network("hostNetwork: true")]
#[case::host_pid("hostPID: true")]
#[case::host_ipc("hostIPC: true")]
#[case::host_users("hostUsers: true")]
#[case::shared_processes("shareProcessNamespace: true")]
#[case::token("automountServiceAccountToken: true")]
#[case::node("nodeName: control-plane")]
#[case::root("securityContext: {runAsUser: 0}")]
#[case::not_non_root("securityContext: {runAsNonRoot: false}")]
#[case::sysctls("securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}")]
#[case::unconfined("securityContext: {seccompProfile: {type: Unconfined}}")]
#[case::privileged("containers: [{name: x, image: x, securityContext: {privileged: true}}]")]
#[case::escalation("containers: [{name: x, image: x, securityContext: {allowPrivilegeEscalation: true}}]")]
#[case::capability("containers: [{name: x, image: x, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]")]
#[case::proc_mount("containers: [{name: x, image: x, securityContext: {procMount: Unmasked}}]")]
#[case::container_root("containers: [{name: x, image: x, securityContext: {runAsUser: 0}}]")]
#[case::host_port("containers: [{name: x, image: x, ports: [{containerPort: 1, hostPort: 1}]}]")]
#[case::init_privileged("initContainers: [{name: x, image: x, securityContext: {privileged: true}}]")]
#[case::own_image("containers: [{name: etcd, image: evil}]")]
#[case::own_command("containers: [{name: etcd, command: [sh]}]")]
#[case::own_environment("containers: [{name: etcd, envFrom: [{secretRef: {name: x}}]}]")]
#[case::own_variable("containers: [{name: etcd, env: [{name: ETCD_FORCE_NEW_CLUSTER, value: 'true'}]}]")]
#[case::over_the_data("containers: [{name: etcd, volumeMounts: [{name: x, mountPath: /data/../data}]}]")]
#[case::the_data_itself("containers: [{name: x, image: x, volumeMounts: [{name: data, mountPath: /d}]}]")]
fn a_pod_template_gains_nothing_on_the_node(#[case] spec: &str) {
    let mut base = BASES[1].clone();
    let spec: Value = serde_yaml::from_str(spec).unwrap();
    base["spec"]["pod"] = json!({"template": {"spec": spec}});
    let errors = validate(&resource(base).unwrap(), &environment()).unwrap_err();
    assert!(errors.iter().all(|error| error.field.starts_with("spec.pod.template.spec.")), "{errors:?}");
}

/// Keys of etcd's configuration that name files, addresses or other clusters, of both minor versions.
#[rstest]
#[case("3.5.33")]
#[case("3.6.16")]
fn no_key_of_the_configuration_leads_out_of_the_pod(
    #[case] version: &str,
    #[values(
        "data-dir",
        "wal-dir",
        "listen-peer-urls",
        "listen-client-urls",
        "listen-client-http-urls",
        "listen-metrics-urls",
        "advertise-client-urls",
        "initial-advertise-peer-urls",
        "initial-cluster",
        "initial-cluster-token",
        "discovery",
        "discovery-srv",
        "discovery-proxy",
        "discovery-config",
        "discovery-token",
        "discovery-endpoints",
        "proxy",
        "force-new-cluster",
        "unsafe-no-fsync",
        "cert-file",
        "key-file",
        "trusted-ca-file",
        "client-transport-security",
        "peer-transport-security",
        "experimental-enable-distributed-tracing",
        "experimental-distributed-tracing-address",
        "distributed-tracing-address",
        "enable-distributed-tracing",
        "log-rotation-config-json",
        "enable-log-rotation",
        "name",
        "socket-reuse-port",
        "tls-min-version"
    )]
    key: &str,
) {
    let mut base = BASES[1].clone();
    base["spec"]["version"] = version.into();
    base["spec"]["etcd"] = json!({"extraConfig": {key: "true"}});
    let errors = validate(&resource(base).unwrap(), &environment()).unwrap_err();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, [format!("spec.etcd.extraConfig[{key}]")]);
}

#[rstest]
#[case("/data/etcd/member/wal/0.wal")]
#[case("stderr,/tmp/x")]
#[case("systemd/journal")]
#[case("")]
fn etcd_logs_to_its_streams_only(#[case] outputs: &str) {
    let place = Place::Value("/spec/etcd/extraConfig/log-outputs".to_owned());
    assert!(validate(&resource(with(&place, outputs)).unwrap(), &environment()).is_err());
}
