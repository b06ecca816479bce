//! The cluster's certificates and kubeconfigs, all made anew by every `lab up`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

use crate::layout::{self, CONTROL_PLANE_ADDRESS};
use crate::node::Node;

/// What a certificate is for: its file name, user, group and the names it is served under.
struct Leaf {
    name: String,
    user: String,
    group: Option<&'static str>,
    names: Vec<String>,
}

impl Leaf {
    fn client(name: &str, user: &str, group: Option<&'static str>) -> Self {
        Self { name: name.into(), user: user.into(), group, names: Vec::new() }
    }
}

/// A file of the lab's keys and certificates.
pub(crate) fn file(name: &str) -> PathBuf {
    layout::state(format!("pki/{name}"))
}

/// The kubeconfig of a user of the control plane or of a node.
pub(crate) fn kubeconfig(name: &str) -> PathBuf {
    layout::state(format!("kubeconfig/{name}.yaml"))
}

fn leaves(nodes: &[Node]) -> Vec<Leaf> {
    // Whatever a client may call the API server, in the lab and in a pod.
    let api =
        ["127.0.0.1", CONTROL_PLANE_ADDRESS, "10.96.0.1", "localhost", "kubernetes", "kubernetes.default"]
            .into_iter()
            .chain(["kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]);
    let mut all = vec![
        Leaf {
            name: "apiserver".into(),
            user: "kube-apiserver".into(),
            group: None,
            names: api.map(Into::into).collect(),
        },
        Leaf::client("apiserver-kubelet", "apiserver-kubelet", Some("system:masters")),
        Leaf::client("admin", "lab-admin", Some("system:masters")),
        // Told apart from the administrator in the audit log.
        Leaf::client("provisioner", "lab-provisioner", Some("system:masters")),
        Leaf::client("controller-manager", "system:kube-controller-manager", None),
        Leaf::client("scheduler", "system:kube-scheduler", None),
        Leaf::client("proxy", "system:kube-proxy", None),
    ];
    all.extend(nodes.iter().map(|node| Leaf {
        name: node.name.clone(),
        user: format!("system:node:{}", node.name),
        group: Some("system:nodes"),
        names: vec![node.address(), node.name.clone()],
    }));
    all
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "ballast-lab");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn parameters(leaf: &Leaf) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(leaf.names.clone())?;
    params.distinguished_name.push(DnType::CommonName, leaf.user.clone());
    if let Some(group) = leaf.group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

/// Writes all certificates, keys and kubeconfigs.
pub(crate) fn create(nodes: &[Node]) -> Result<()> {
    let ca = authority()?;
    write("ca.crt", &ca.pem())?;
    write("ca.key", &ca.key().serialize_pem())?;
    for leaf in leaves(nodes) {
        let key = KeyPair::generate()?;
        let certificate = parameters(&leaf)?.signed_by(&key, &ca)?;
        write(&format!("{}.crt", leaf.name), &certificate.pem())?;
        write(&format!("{}.key", leaf.name), &key.serialize_pem())?;
        let config = kubeconfig(&leaf.name);
        fs::write(&config, kubeconfig_text(&leaf.name)?)
            .with_context(|| format!("cannot write {}", config.display()))?;
    }
    // Signs service account tokens (ES256).
    let key = KeyPair::generate()?;
    write("service-account.key", &key.serialize_pem())?;
    write("service-account.pub", &key.public_key_pem())
}

fn kubeconfig_text(name: &str) -> Result<String> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "ballast-lab", "cluster": {
            "server": format!("https://{CONTROL_PLANE_ADDRESS}:6443"),
            "certificate-authority": file("ca.crt"),
        }}],
        "users": [{"name": name, "user": {
            "client-certificate": file(&format!("{name}.crt")),
            "client-key": file(&format!("{name}.key")),
        }}],
        "contexts": [{"name": "ballast-lab", "context": {"cluster": "ballast-lab", "user": name}}],
        "current-context": "ballast-lab",
    });
    Ok(serde_yaml::to_string(&config)?)
}

fn write(name: &str, text: &str) -> Result<()> {
    let path = file(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?)
}

#[cfg(test)]
mod tests {
    use rcgen::SanType;

    use super::*;

    #[test]
    fn the_api_server_is_known_by_its_addresses_and_names() -> Result<()> {
        let api = leaves(&[]).into_iter().next().context("the API server comes first")?;
        let names = parameters(&api)?.subject_alt_names;
        for address in ["10.99.0.1", "10.96.0.1", "127.0.0.1"] {
            assert!(
                names.contains(&SanType::IpAddress(address.parse()?)),
                "{address} is missing in {names:?}"
            );
        }
        assert!(names.contains(&SanType::DnsName("kubernetes.default.svc".try_into()?)), "{names:?}");
        Ok(())
    }

    #[test]
    fn a_node_is_in_the_group_of_nodes() {
        let node = Node::new(2, "b");
        let leaf = leaves(&[node]).pop().expect("the node comes last");
        assert_eq!((leaf.user.as_str(), leaf.group), ("system:node:n2", Some("system:nodes")));
        assert_eq!(leaf.names, ["10.99.0.12", "n2"]);
    }

    #[test]
    fn a_leaf_is_signed_by_the_authority() -> Result<()> {
        let ca = authority()?;
        let key = KeyPair::generate()?;
        let certificate = parameters(&Leaf::client("x", "x", None))?.signed_by(&key, &ca)?;
        assert!(certificate.pem().starts_with("-----BEGIN CERTIFICATE-----"));
        Ok(())
    }
}
