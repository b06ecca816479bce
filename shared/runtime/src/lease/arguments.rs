//! Leader election on the command line.

use std::time::Duration;

use clap::{ArgAction, Args};
use jiff::SignedDuration;

use super::timing::{Timing, TimingError};

/// What a candidate is to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElectionSettings {
    /// Namespace of the Lease: the operator's own.
    pub(crate) namespace: String,
    /// Name of the Lease.
    pub(crate) name: String,
    /// Who this process is; no other process is or was the same, not even in the same pod.
    pub(crate) identity: String,
    pub(crate) timing: Timing,
}

/// Why there can be no election.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ElectionError {
    #[error(
        "{flag} (or {variable}) is missing: leader election needs it; the chart sets it through the downward API. A single \
         process outside of a cluster runs with --leader-elect=false"
    )]
    Missing { flag: &'static str, variable: &'static str },
    #[error(transparent)]
    Timing(#[from] TimingError),
    #[error("the machine has no randomness to give")]
    NoRandomness,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ElectionArgs {
    /// Whether replicas elect one of them to act. Without, there must never be two at the same time.
    #[arg(
        long,
        env = "BALLAST_LEADER_ELECT",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    leader_elect: bool,
    /// How long other replicas wait after the last renewal that they have seen.
    #[arg(
        long,
        env = "BALLAST_LEADER_ELECT_LEASE_DURATION",
        value_name = "DURATION",
        default_value = "15s",
        value_parser = duration
    )]
    leader_elect_lease_duration: Duration,
    /// How long after its last renewal a leader acts; at least 5s less than the lease's duration.
    #[arg(
        long,
        env = "BALLAST_LEADER_ELECT_RENEW_DEADLINE",
        value_name = "DURATION",
        default_value = "10s",
        value_parser = duration
    )]
    leader_elect_renew_deadline: Duration,
    /// Time between two attempts to get or to renew the lease.
    #[arg(
        long,
        env = "BALLAST_LEADER_ELECT_RETRY_PERIOD",
        value_name = "DURATION",
        default_value = "2s",
        value_parser = duration
    )]
    leader_elect_retry_period: Duration,
    /// Name of the Lease, in the operator's own namespace; default: etcd-operator.ballast.dev, for the etcd operator.
    #[arg(long, env = "BALLAST_LEADER_ELECT_RESOURCE_NAME", value_name = "NAME")]
    leader_elect_resource_name: Option<String>,
    /// Namespace of this process' pod.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pod_namespace: Option<String>,
    /// Name of this process' pod.
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pod_name: Option<String>,
}

impl ElectionArgs {
    /// What the candidate of the operator of `application` is to know; `None`: no election.
    pub(crate) fn settings(&self, application: &str) -> Result<Option<ElectionSettings>, ElectionError> {
        if !self.leader_elect {
            return Ok(None);
        }
        let timing = Timing::new(
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        )?;
        let namespace = needed(self.pod_namespace.as_ref(), "--pod-namespace", "POD_NAMESPACE")?;
        let pod = needed(self.pod_name.as_ref(), "--pod-name", "POD_NAME")?;
        let name = self.leader_elect_resource_name.clone().filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("{application}-operator.ballast.dev"));
        Ok(Some(ElectionSettings { namespace, name, identity: identity(&pod)?, timing }))
    }
}

fn needed(
    value: Option<&String>,
    flag: &'static str,
    variable: &'static str,
) -> Result<String, ElectionError> {
    value.filter(|value| !value.is_empty()).cloned().ok_or(ElectionError::Missing { flag, variable })
}

/// The pod's name for people, and something random: a container that starts again in the same pod is another candidate.
fn identity(pod: &str) -> Result<String, ElectionError> {
    let mut random = [0; 16];
    let source = rustls::crypto::ring::default_provider().secure_random;
    source.fill(&mut random).map_err(|_failed| ElectionError::NoRandomness)?;
    Ok(format!("{pod}_{:032x}", u128::from_be_bytes(random)))
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<SignedDuration, _> = text.parse();
    parsed
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| "not a duration such as 15s, 1m30s or 500ms".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        election: ElectionArgs,
    }

    fn parsed(line: &str) -> Result<ElectionArgs, String> {
        let line = std::iter::once("x").chain(line.split_whitespace());
        Line::try_parse_from(line).map(|line| line.election).map_err(|error| error.to_string())
    }

    fn settings(line: &str) -> Result<Option<ElectionSettings>, ElectionError> {
        parsed(line).unwrap().settings("thing")
    }

    const POD: &str = "--pod-namespace here --pod-name pod-1";

    #[test]
    fn the_defaults_are_those_of_kubernetes() {
        let chosen = settings(POD).unwrap().unwrap();
        let seconds = Duration::from_secs;
        assert_eq!(chosen.timing, Timing::new(seconds(15), seconds(10), seconds(2)).unwrap());
        assert_eq!((chosen.namespace.as_str(), chosen.name.as_str()), ("here", "thing-operator.ballast.dev"));
        let named = settings(&format!("{POD} --leader-elect-resource-name other")).unwrap().unwrap();
        assert_eq!(named.name, "other");
    }

    #[test]
    fn two_processes_of_one_pod_are_two_candidates() {
        let (one, two) = (settings(POD).unwrap().unwrap(), settings(POD).unwrap().unwrap());
        assert!(one.identity.starts_with("pod-1_") && one.identity.len() == "pod-1_".len() + 32);
        assert_ne!(one.identity, two.identity);
    }

    #[test]
    fn it_can_be_switched_off_and_then_needs_nothing() {
        assert_eq!(settings("--leader-elect=false"), Ok(None));
        assert!(settings(&format!("{POD} --leader-elect")).unwrap().is_some());
        assert!(settings(&format!("{POD} --leader-elect=true")).unwrap().is_some());
        assert!(parsed("--leader-elect=maybe").is_err());
    }

    #[test]
    fn what_is_missing_or_unsafe_is_named() {
        let wrong = |line: &str| settings(line).unwrap_err().to_string();
        assert!(
            wrong("--pod-namespace= --pod-name=p").contains("--pod-namespace (or POD_NAMESPACE) is missing")
        );
        assert!(wrong("--pod-namespace=n --pod-name=").contains("--pod-name (or POD_NAME) is missing"));
        let line = format!("{POD} --leader-elect-renew-deadline=11s");
        assert!(wrong(&line).contains("--leader-elect-lease-duration (15s) must be at least 5s more"));
        let unreadable = parsed("--leader-elect-retry-period=soon").unwrap_err();
        assert!(unreadable.contains("--leader-elect-retry-period") && unreadable.contains("such as 15s"));
        assert!(parsed("--leader-elect-retry-period=-2s").is_err());
    }
}
