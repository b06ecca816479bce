//! Certificates and kubeconfigs of a Kubernetes that lives no longer than a test, in memory.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

/// Whom a certificate stands for, as Kubernetes reads it, and the names it is served under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Name of the user: the common name.
    pub user: String,
    /// Group of the user: the organization.
    pub group: Option<String>,
    /// DNS names and addresses of a server.
    pub names: Vec<String>,
}

/// A certificate and its key, both as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// An authority that signs the certificates of one cluster.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new authority with a key of its own.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    /// Its own certificate and key.
    pub fn issued(&self) -> Issued {
        Issued { certificate: self.0.pem(), key: self.0.key().serialize_pem() }
    }

    /// A certificate for a server or a client.
    pub fn issue(&self, subject: &Subject) -> Result<Issued> {
        let key = KeyPair::generate()?;
        let certificate = parameters(subject)?.signed_by(&key, &self.0)?;
        Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A key (ES256) that signs the tokens of service accounts: the private and the public one, as PEM.
pub fn service_account_key() -> Result<(String, String)> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn parameters(subject: &Subject) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(subject.names.clone())?;
    params.distinguished_name.push(DnType::CommonName, subject.user.clone());
    if let Some(group) = &subject.group {
        params.distinguished_name.push(DnType::OrganizationName, group.clone());
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

/// The text of a kubeconfig with one cluster and one user; `cluster` and `user` are their entries.
pub fn kubeconfig(
    name: &str,
    user_name: &str,
    cluster: &serde_json::Value,
    user: &serde_json::Value,
) -> Result<String> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user_name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user_name}}],
        "current-context": name,
    });
    Ok(serde_yaml::to_string(&config)?)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use rcgen::SanType;

    use super::*;

    #[test]
    fn addresses_and_names_are_told_apart() -> Result<()> {
        let names = vec!["127.0.0.1".to_owned(), "kubernetes.default.svc".to_owned()];
        let subject = Subject { user: "kube-apiserver".into(), group: None, names };
        let names = parameters(&subject)?.subject_alt_names;
        assert!(names.contains(&SanType::IpAddress("127.0.0.1".parse()?)), "{names:?}");
        assert!(names.contains(&SanType::DnsName("kubernetes.default.svc".try_into()?)), "{names:?}");
        Ok(())
    }

    #[test]
    fn a_certificate_is_signed_by_the_authority() -> Result<()> {
        let issued = Authority::new("test")?.issue(&Subject { user: "x".into(), ..Subject::default() })?;
        assert!(issued.certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(issued.key.contains("PRIVATE KEY"));
        Ok(())
    }

    #[test]
    fn a_kubeconfig_names_its_one_context() -> Result<()> {
        let text = kubeconfig("c", "u", &json!({"server": "https://x"}), &json!({}))?;
        let read: serde_json::Value = serde_yaml::from_str(&text)?;
        assert_eq!(read["contexts"][0]["context"], json!({"cluster": "c", "user": "u"}));
        assert_eq!(read["current-context"].as_str().context("a name")?, "c");
        Ok(())
    }
}
