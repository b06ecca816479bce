//! Keys of etcd's configuration file: which a user may set, for which minor version, and of what type.
//!
//! etcd drops unknown keys in silence, so the list is closed. Source: the JSON tags of `embed.Config` in etcd's source,
//! 3.5.33 and 3.6.16. Durations are nanoseconds there, in the file as well.

use ballast_core::{duration, version::Minor};
use serde_json::{Number, Value};

/// How the variables begin that the pod's first init container replaces in the configuration file.
const PLACEHOLDER: &str = "${BALLAST_";

/// Type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Whole and not negative. Some are signed in etcd, so that no more than 2^63 - 1 fits into all of them.
    Unsigned,
    /// The same, of 32 bits.
    Unsigned32,
    Bool,
    Text,
    /// Written as nanoseconds.
    Duration,
    /// Where etcd writes its log: comma-separated in the resource. Only its streams: a file would fill or overwrite a volume.
    Outputs,
}

/// A key that users may set.
struct Key {
    name: &'static str,
    kind: Kind,
    /// First and last minor (of 3.x) that knows it.
    minors: (u64, u64),
}

const fn key(name: &'static str, kind: Kind, minors: (u64, u64)) -> Key {
    Key { name, kind, minors }
}

use Kind::{Bool, Duration, Outputs, Text, Unsigned, Unsigned32};

const ALL: (u64, u64) = (5, 6);
const OLD: (u64, u64) = (5, 5);
const NEW: (u64, u64) = (6, 6);

const ALLOWED: &[Key] = &[
    key("auth-token", Text, ALL),
    key("auth-token-ttl", Unsigned, ALL),
    key("backend-batch-interval", Duration, ALL),
    key("backend-batch-limit", Unsigned, ALL),
    key("backend-bbolt-freelist-type", Text, ALL),
    key("bcrypt-cost", Unsigned, ALL),
    key("bootstrap-defrag-threshold-megabytes", Unsigned, NEW),
    key("compact-hash-check-time", Duration, NEW),
    key("compaction-batch-limit", Unsigned, NEW),
    key("compaction-sleep-interval", Duration, NEW),
    key("corrupt-check-time", Duration, NEW),
    key("cors", Text, ALL),
    key("enable-grpc-gateway", Bool, ALL),
    key("enable-pprof", Bool, ALL),
    key("experimental-bootstrap-defrag-threshold-megabytes", Unsigned, OLD),
    key("experimental-compact-hash-check-enabled", Bool, OLD),
    key("experimental-compact-hash-check-time", Duration, OLD),
    key("experimental-compaction-batch-limit", Unsigned, OLD),
    key("experimental-compaction-sleep-interval", Duration, OLD),
    key("experimental-corrupt-check-time", Duration, OLD),
    key("experimental-initial-corrupt-check", Bool, OLD),
    key("experimental-memory-mlock", Bool, OLD),
    key("experimental-stop-grpc-service-on-defrag", Bool, OLD),
    key("experimental-txn-mode-write-with-shared-buffer", Bool, OLD),
    key("experimental-warning-apply-duration", Duration, OLD),
    key("experimental-watch-progress-notify-interval", Duration, OLD),
    key("feature-gates", Text, NEW),
    key("grpc-keepalive-interval", Duration, ALL),
    key("grpc-keepalive-min-time", Duration, ALL),
    key("grpc-keepalive-timeout", Duration, ALL),
    key("host-whitelist", Text, ALL),
    key("initial-election-tick-advance", Bool, ALL),
    key("log-format", Text, NEW),
    key("log-outputs", Outputs, ALL),
    key("max-concurrent-streams", Unsigned32, ALL),
    key("max-request-bytes", Unsigned, ALL),
    key("max-snapshots", Unsigned, ALL),
    key("max-txn-ops", Unsigned, ALL),
    key("max-wals", Unsigned, ALL),
    key("memory-mlock", Bool, NEW),
    key("metrics", Text, ALL),
    key("pre-vote", Bool, ALL),
    key("snapshot-catchup-entries", Unsigned, NEW),
    key("warning-apply-duration", Duration, NEW),
    key("warning-unary-request-duration", Duration, NEW),
    key("watch-progress-notify-interval", Duration, NEW),
];

/// Keys that the operator sets itself or must not be set at all, and what to do instead.
const RESERVED: &[(&str, &str)] = &[
    ("name", "the operator names the members"),
    ("data-dir", "the operator places the data"),
    ("wal-dir", "the operator places the data"),
    ("listen-peer-urls", "the operator sets the addresses"),
    ("listen-client-urls", "the operator sets the addresses"),
    ("listen-client-http-urls", "the operator sets the addresses"),
    ("listen-metrics-urls", "the operator sets the addresses"),
    ("advertise-client-urls", "the operator sets the addresses"),
    ("initial-advertise-peer-urls", "the operator sets the addresses"),
    ("initial-cluster", "the operator manages membership"),
    ("initial-cluster-state", "the operator manages membership"),
    ("initial-cluster-token", "the operator manages membership"),
    ("discovery", "the operator manages membership"),
    ("discovery-srv", "the operator manages membership"),
    ("discovery-config", "the operator manages membership"),
    ("force-new-cluster", "it throws members away; the operator manages membership"),
    ("strict-reconfig-check", "without it etcd accepts membership changes that lose the quorum"),
    ("max-learners", "the operator adds one learner at a time"),
    ("unsafe-no-fsync", "it loses acknowledged writes"),
    ("quota-backend-bytes", "use spec.etcd.quotaBackendBytes"),
    ("auto-compaction-mode", "use spec.etcd.autoCompaction"),
    ("auto-compaction-retention", "use spec.etcd.autoCompaction"),
    ("snapshot-count", "use spec.etcd.snapshotCount"),
    ("heartbeat-interval", "use spec.etcd.heartbeatInterval"),
    ("election-timeout", "use spec.etcd.electionTimeout"),
    ("log-level", "use spec.etcd.logLevel"),
    ("logger", "the operator sets it"),
    ("client-transport-security", "TLS is not offered yet"),
    ("peer-transport-security", "TLS is not offered yet"),
    ("enable-v2", "the v2 API is gone"),
    ("v2-deprecation", "the operator sets it"),
    ("socket-options", "the operator sets the addresses"),
];

/// Whether a user may set `name` for this minor, and its typed value; the error says why not.
pub fn parse(name: &str, value: &str, minor: Minor) -> Result<Value, String> {
    if let Some((_, instead)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        return Err(format!("{name} is reserved: {instead}"));
    }
    let Some(key) =
        ALLOWED.iter().find(|key| key.name == name && (key.minors.0..=key.minors.1).contains(&minor.minor))
    else {
        let elsewhere = ALLOWED.iter().find(|key| key.name == name);
        return Err(match elsewhere {
            Some(key) => {
                format!("etcd {minor} does not know {name} (it exists in 3.{}): remove it", key.minors.0)
            }
            None => {
                format!("etcd {minor} does not know {name}, or the operator does not allow it: remove it")
            }
        });
    };
    if value.chars().any(char::is_control) {
        return Err("the value has a control character (a line break?)".to_owned());
    }
    if value.contains(PLACEHOLDER) {
        return Err(format!(
            "{PLACEHOLDER} begins a variable that the operator fills in itself: write something else"
        ));
    }
    typed(key.kind, value)
}

fn typed(kind: Kind, value: &str) -> Result<Value, String> {
    match kind {
        Kind::Unsigned => whole(value, i64::MAX.unsigned_abs()),
        Kind::Unsigned32 => whole(value, u32::MAX.into()),
        Kind::Bool => {
            value.parse::<bool>().map(Value::Bool).map_err(|_| format!("{value:?} is neither true nor false"))
        }
        Kind::Text => Ok(Value::String(value.to_owned())),
        Kind::Duration => {
            let parsed = duration::parse(value).map_err(|error| error.to_string())?;
            // Signed in etcd.
            let nanoseconds =
                i64::try_from(parsed.as_nanos()).map_err(|_| format!("{value:?} is too long"))?;
            Ok(Value::Number(Number::from(nanoseconds)))
        }
        Kind::Outputs => {
            let outputs: Vec<&str> = value.split(',').map(str::trim).collect();
            match outputs.iter().find(|output| !["default", "stderr", "stdout"].contains(output)) {
                Some(other) => Err(format!("{other:?} is none of default, stderr and stdout")),
                None => Ok(outputs.into()),
            }
        }
    }
}

fn whole(value: &str, most: u64) -> Result<Value, String> {
    match value.parse::<u64>() {
        Ok(number) if number <= most => Ok(Value::Number(number.into())),
        Ok(_) => Err(format!("{value} is too large for etcd: at most {most}")),
        Err(_) => Err(format!("{value:?} is not a whole number")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const V35: Minor = Minor { major: 3, minor: 5 };
    const V36: Minor = Minor { major: 3, minor: 6 };

    #[rstest]
    #[case("max-txn-ops", "256", V35, json!(256))]
    #[case("pre-vote", "false", V36, json!(false))]
    #[case("corrupt-check-time", "5m", V36, json!(300_000_000_000_u64))]
    #[case("log-outputs", "stderr, stdout", V36, json!(["stderr", "stdout"]))]
    #[case("cors", "*", V36, json!("*"))]
    fn accepts(#[case] name: &str, #[case] value: &str, #[case] minor: Minor, #[case] expected: Value) {
        assert_eq!(parse(name, value, minor).unwrap(), expected);
    }

    #[rstest]
    #[case("initial-cluster", "a=b", V36, "reserved")]
    #[case("unsafe-no-fsync", "true", V36, "acknowledged")]
    #[case("quota-backend-bytes", "1", V36, "spec.etcd.quotaBackendBytes")]
    #[case("corrupt-check-time", "5m", V35, "exists in 3.6")]
    #[case("experimental-corrupt-check-time", "5m", V36, "exists in 3.5")]
    #[case("no-such-key", "1", V36, "does not know")]
    #[case("max-txn-ops", "many", V36, "whole number")]
    #[case("backend-batch-limit", "9223372036854775808", V36, "too large")]
    #[case("max-concurrent-streams", "4294967296", V36, "too large")]
    #[case("corrupt-check-time", "2562048h", V36, "too long")]
    #[case("cors", "a\nforce-new-cluster: true", V36, "line break")]
    #[case("cors", "https://${BALLAST_HOST}", V36, "fills in itself")]
    #[case("log-outputs", "stderr,${BALLAST_X", V36, "fills in itself")]
    #[case("log-outputs", "stderr,/tmp/x", V36, "none of default")]
    fn refuses(#[case] name: &str, #[case] value: &str, #[case] minor: Minor, #[case] part: &str) {
        let message = parse(name, value, minor).unwrap_err();
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn nothing_is_both_allowed_and_reserved() {
        for key in ALLOWED {
            assert!(!RESERVED.iter().any(|(name, _)| *name == key.name), "{}", key.name);
        }
    }
}
