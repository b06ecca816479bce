//! Keys of Kafka's configuration that users may not set, and why.
//!
//! Everything else is left to Kafka: a list of all keys of all versions would be wrong with the next one. What reads
//! files, loads classes or reaches out is refused, since whoever may edit the resource need not be allowed to do that.

/// Keys that the operator sets itself, or that would lose data, with what to do instead.
const RESERVED: &[(&str, &str)] = &[
    ("node.id", "the operator gives each node its id"),
    ("broker.id", "the operator gives each node its id"),
    ("broker.rack", "use spec.zones"),
    ("process.roles", "use spec.nodePools[].roles"),
    ("listeners", "the operator sets the listeners"),
    ("advertised.listeners", "the operator sets the listeners"),
    ("listener.security.protocol.map", "the operator sets the listeners"),
    ("inter.broker.listener.name", "the operator sets the listeners"),
    ("security.inter.broker.protocol", "the operator sets the listeners"),
    ("controller.listener.names", "the operator sets the listeners"),
    ("early.start.listeners", "the operator sets the listeners"),
    ("port", "the operator sets the listeners"),
    ("host.name", "the operator sets the listeners"),
    ("log.dir", "the operator places the data"),
    ("log.dirs", "the operator places the data"),
    ("metadata.log.dir", "the operator places the data"),
    ("cordoned.log.dirs", "the operator sets it while a node is drained"),
    (
        "unclean.leader.election.enable",
        "it loses acknowledged records; set it on a topic, for as long as needed",
    ),
    ("leader.replication.throttled.rate", "the operator sets it while partitions move"),
    ("follower.replication.throttled.rate", "the operator sets it while partitions move"),
    ("broker.id.generation.enable", "the operator gives each node its id"),
    ("reserved.broker.max.id", "the operator gives each node its id"),
];

/// Beginnings of keys that users may not set, and why.
const RESERVED_PREFIXES: &[(&str, &str)] = &[
    ("controller.quorum.", "the operator manages the quorum"),
    ("zookeeper.", "there is no ZooKeeper in Kafka 4"),
    ("listener.name.", "the operator sets the listeners"),
    ("ssl.", "TLS is not offered yet"),
    ("sasl.", "authentication is not offered yet"),
    ("password.", "it would reach secrets"),
    ("config.providers", "it would read files and environment variables"),
    ("remote.log.storage.manager.", "it would load classes; tiered storage is not offered yet"),
    ("remote.log.metadata.manager.", "it would load classes; tiered storage is not offered yet"),
    ("client.quota.callback.", "it would load a class"),
    ("principal.builder.", "it would load a class"),
    ("super.users", "authorization is not offered yet"),
    ("authorizer.", "authorization is not offered yet"),
    ("delegation.token.", "authentication is not offered yet"),
];

/// Whatever their beginning: keys that name classes or files.
const RESERVED_PARTS: &[(&str, &str)] = &[
    (".class", "it would load a class"),
    ("metric.reporters", "it would load a class"),
    ("reporters", "it would load a class"),
    ("interceptor", "it would load a class"),
    (".location", "it would read a file"),
    (".file", "it would read a file"),
    (".path", "it would read a file"),
    (".url", "it would reach out"),
];

/// Longest value, in bytes.
const LONGEST: usize = 4096;

/// What the init container fills in: may not come from a user.
const PLACEHOLDER: &str = "${";

/// Whether a user may set `key` to `value`; the error says why not.
pub fn check(key: &str, value: &str) -> Result<(), String> {
    let name =
        key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    if key.is_empty() || key.len() > 128 || !name {
        return Err("a key has small letters, digits and dots only, at most 128".to_owned());
    }
    let exact = RESERVED.iter().find(|(reserved, _)| *reserved == key);
    let prefix = RESERVED_PREFIXES.iter().find(|(prefix, _)| key.starts_with(prefix));
    let part = RESERVED_PARTS.iter().find(|(part, _)| key.contains(part));
    if let Some((_, instead)) = exact.or(prefix).or(part) {
        return Err(format!("{key} is reserved: {instead}"));
    }
    if value.len() > LONGEST {
        return Err(format!("the value may have at most {LONGEST} bytes, has {}", value.len()));
    }
    if value.chars().any(char::is_control) {
        return Err("the value has a control character (a line break?)".to_owned());
    }
    if value.contains(PLACEHOLDER) {
        return Err(format!("{PLACEHOLDER} begins a variable, which could read files: write something else"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("log.retention.hours", "72")]
    #[case("min.insync.replicas", "2")]
    #[case("num.network.threads", "3")]
    #[case("log.cleaner.dedupe.buffer.size", "16777216")]
    #[case("group.coordinator.rebalance.protocols", "classic,consumer")]
    fn accepts(#[case] key: &str, #[case] value: &str) {
        check(key, value).unwrap();
    }

    #[rstest]
    #[case("node.id", "7", "its id")]
    #[case("log.dirs", "/etc", "places the data")]
    #[case("controller.quorum.auto.join.enable", "true", "quorum")]
    #[case("unclean.leader.election.enable", "true", "acknowledged")]
    #[case("metric.reporters", "a.B", "class")]
    #[case("authorizer.class.name", "a.B", "authorization")]
    #[case("ssl.keystore.location", "/etc/shadow", "TLS")]
    #[case("config.providers", "file", "files")]
    #[case("sasl.oauthbearer.jwks.endpoint.url", "http://x", "authentication")]
    #[case("create.topic.policy.class.name", "a.B", "class")]
    #[case("a key", "1", "small letters")]
    #[case("num.io.threads", "8\nnode.id=7", "line break")]
    #[case("num.io.threads", "${file:/etc/passwd:x}", "read files")]
    #[case("num.io.threads", "${BALLAST_HOST}", "variable")]
    fn refuses(#[case] key: &str, #[case] value: &str, #[case] part: &str) {
        let message = check(key, value).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}
