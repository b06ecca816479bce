//! Which versions of etcd are supported, and which steps between them are safe: one table, one row per minor version.
//!
//! Sources: etcd's CHANGELOGs and upgrade guides. One minor at a time is etcd's own rule; leaving 3.5 needs at least
//! 3.5.26, since earlier patches can leave learners and removed members behind that 3.6 refuses to start with
//! (etcd-io/etcd issues 19557, 20793, 20995).

use ballast_core::version::Minor;
use semver::Version;

/// What is known about one minor version.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The minor version.
    pub minor: Minor,
    /// Lowest patch release that the operator runs.
    pub minimum_patch: u64,
    /// Lowest patch release of the previous minor from which it may be upgraded to.
    pub upgrade_from_patch: Option<u64>,
    /// Patch releases with a known fault, and the fault.
    pub known_bad: &'static [(u64, &'static str)],
}

/// The table.
pub const SUPPORTED: &[Row] = &[
    Row { minor: Minor { major: 3, minor: 5 }, minimum_patch: 26, upgrade_from_patch: None, known_bad: &[] },
    Row {
        minor: Minor { major: 3, minor: 6 },
        minimum_patch: 6,
        upgrade_from_patch: Some(26),
        known_bad: &[
            (6, "membership: adding a member is refused while any other is down (mended in 3.6.11)"),
            (7, "membership: adding a member is refused while any other is down (mended in 3.6.11)"),
            (8, "CVE-2026-33413: authorization can be bypassed (mended in 3.6.9)"),
        ],
    },
];

/// The row of this version's minor.
pub fn row(version: &Version) -> Option<&'static Row> {
    SUPPORTED.iter().find(|row| row.minor == Minor::from(version))
}

/// Whether the operator can run `version` at all; the error says what to do.
pub fn supported(version: &Version) -> Result<&'static Row, String> {
    let Some(row) = row(version) else {
        let minors: Vec<String> = SUPPORTED.iter().map(|row| row.minor.to_string()).collect();
        return Err(format!(
            "etcd {version} is not supported by this operator; supported minor versions: {}",
            minors.join(", ")
        ));
    };
    if version.patch < row.minimum_patch {
        return Err(format!("etcd {version} is too old; use at least {}.{}", row.minor, row.minimum_patch));
    }
    Ok(row)
}

/// The fault of a known-bad patch release.
pub fn known_bad(version: &Version) -> Option<&'static str> {
    row(version)?.known_bad.iter().find(|(patch, _)| *patch == version.patch).map(|(_, fault)| *fault)
}

/// Whether members may be taken from what runs (`running`, of every member) to `wanted`.
///
/// `cluster` is the version that the members have agreed on; while it is still the old minor, a half-done upgrade may
/// be taken back. Unknown is refused.
pub fn step(running: &[Version], cluster: Option<Minor>, wanted: &Version) -> Result<(), String> {
    let target = Minor::from(wanted);
    let Some(cluster) = cluster else {
        return Err("the version that the members agreed on is not known now".to_owned());
    };
    if target < cluster {
        return Err(format!(
            "spec.version {wanted} is lower than the cluster version {cluster}: etcd cannot be downgraded by restarting members; \
             set spec.version to {cluster}.x, or restore a backup into a new cluster"
        ));
    }
    if target == cluster {
        return Ok(());
    }
    let next = Minor { major: cluster.major, minor: cluster.minor + 1 };
    if target != next {
        return Err(format!(
            "spec.version {wanted} skips a minor version: the cluster version is {cluster}; upgrade to {next} first"
        ));
    }
    let least = supported(wanted)?.upgrade_from_patch.unwrap_or_default();
    match running.iter().find(|version| Minor::from(*version) == cluster && version.patch < least) {
        Some(old) => {
            Err(format!("a member runs {old}; upgrade to at least {cluster}.{least} before {target}"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn v(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[rstest]
    #[case("3.5.26", true)]
    #[case("3.5.25", false)]
    #[case("3.6.6", true)]
    #[case("3.6.5", false)]
    #[case("3.6.16", true)]
    #[case("3.7.1", false)]
    #[case("3.4.45", false)]
    #[case("4.0.0", false)]
    fn supports_exactly_the_table(#[case] version: &str, #[case] expected: bool) {
        assert_eq!(supported(&v(version)).is_ok(), expected, "{:?}", supported(&v(version)));
    }

    #[rstest]
    #[case::patch_up(&["3.5.26", "3.5.26"], Some((3, 5)), "3.5.33", None)]
    #[case::patch_down(&["3.5.33"], Some((3, 5)), "3.5.26", None)]
    #[case::minor_up(&["3.5.33", "3.5.26"], Some((3, 5)), "3.6.16", None)]
    #[case::minor_up_from_too_old(&["3.5.33", "3.5.20"], Some((3, 5)), "3.6.16", Some("at least 3.5.26"))]
    #[case::half_done_forward(&["3.6.16", "3.5.33"], Some((3, 5)), "3.6.16", None)]
    #[case::half_done_reverted(&["3.6.16", "3.5.33"], Some((3, 5)), "3.5.33", None)]
    #[case::downgrade(&["3.6.16"], Some((3, 6)), "3.5.33", Some("cannot be downgraded"))]
    #[case::jump(&["3.5.33"], Some((3, 5)), "3.7.1", Some("skips a minor"))]
    #[case::unknown_is_no(&["3.5.33"], None, "3.5.33", Some("not known"))]
    fn steps(
        #[case] running: &[&str],
        #[case] cluster: Option<(u64, u64)>,
        #[case] wanted: &str,
        #[case] refused: Option<&str>,
    ) {
        let running: Vec<Version> = running.iter().map(|text| v(text)).collect();
        let cluster = cluster.map(|(major, minor)| Minor { major, minor });
        match (step(&running, cluster, &v(wanted)), refused) {
            (Ok(()), None) => {}
            (Err(message), Some(part)) => assert!(message.contains(part), "{message}"),
            (result, expected) => panic!("{result:?}, expected {expected:?}"),
        }
    }
}
