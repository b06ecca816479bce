//! Durations as Go and Kubernetes write them: `5m`, `1h30m`, `90s`, `100ms`.

use std::{fmt::Write, time::Duration};

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A number without a unit.
    #[error("\"{0}\" has a number without a unit: write for instance 90s, 5m or 1h30m")]
    NoUnit(String),
    /// Below zero.
    #[error("\"{0}\" is negative: durations are zero or more")]
    Negative(String),
    /// Something else.
    #[error("\"{0}\" is not a duration: write numbers with units h, m, s or ms, for instance 1h30m")]
    Malformed(String),
    /// More than 2^64 nanoseconds, which is 584 years.
    #[error("\"{0}\" is too long for a duration")]
    TooLong(String),
}

/// Units and their nanoseconds, longest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Reads a duration: one or more decimal numbers, each with a unit (`h`, `m`, `s`, `ms`, `us`, `ns`).
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    if text.starts_with('-') {
        return Err(DurationError::Negative(text.to_owned()));
    }
    let mut rest = text;
    let mut total: u64 = 0;
    if rest.is_empty() {
        return Err(malformed());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() && !number.is_empty() {
            return Err(DurationError::NoUnit(text.to_owned()));
        }
        let nanos = unit_nanos(unit).ok_or_else(malformed)?;
        let sum = total.checked_add(part(text, number, nanos)?);
        total = sum.ok_or_else(|| DurationError::TooLong(text.to_owned()))?;
        rest = after;
    }
    Ok(Duration::from_nanos(total))
}

/// Writes a duration so that [`parse`] reads the same back, without parts that are zero: `5m`, not `5m0s`.
///
/// Durations beyond 584 years are written as 584 years.
pub fn format(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, nanos) in UNITS {
        let count = rest / nanos;
        rest %= nanos;
        if count > 0 {
            let _ = write!(text, "{count}{unit}");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

fn unit_nanos(unit: &str) -> Option<u64> {
    let unit = if matches!(unit, "µs" | "μs") { "us" } else { unit };
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, nanos)| *nanos)
}

/// `number × nanos`, cut to whole nanoseconds; `text` is what it is a part of.
fn part(text: &str, number: &str, nanos: u64) -> Result<u64, DurationError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(DurationError::Malformed(text.to_owned()));
    }
    let whole = if whole.is_empty() { Some(0) } else { whole.parse::<u64>().ok() };
    let (mut below, mut unit) = (0, nanos);
    for digit in fraction.bytes() {
        below += u64::from(digit - b'0') * unit / 10;
        unit /= 10;
    }
    whole
        .and_then(|whole| whole.checked_mul(nanos)?.checked_add(below))
        .ok_or_else(|| DurationError::TooLong(text.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("5m", 300_000, "5m")]
    #[case("1h30m", 5_400_000, "1h30m")]
    #[case("90s", 90_000, "1m30s")]
    #[case("100ms", 100, "100ms")]
    #[case("1.5h", 5_400_000, "1h30m")]
    #[case(".5s", 500, "500ms")]
    #[case("0s", 0, "0s")]
    #[case("24h", 86_400_000, "24h")]
    #[case("1m1m", 120_000, "2m")]
    fn table(#[case] text: &str, #[case] millis: u64, #[case] canonical: &str) {
        assert_eq!(parse(text), Ok(Duration::from_millis(millis)));
        assert_eq!(format(Duration::from_millis(millis)), canonical);
    }

    #[rstest]
    #[case("5", "without a unit")]
    #[case("0", "without a unit")]
    #[case("1h30", "without a unit")]
    #[case("-5m", "negative")]
    #[case("", "is not a duration")]
    #[case("m", "is not a duration")]
    #[case("5d", "is not a duration")]
    #[case("5 m", "is not a duration")]
    #[case("1.2.3s", "is not a duration")]
    #[case(".s", "is not a duration")]
    #[case("9999999h", "too long")]
    #[case("99999999999999999999s", "too long")]
    fn mistakes(#[case] text: &str, #[case] expected: &str) {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    proptest! {
        #[test]
        fn read_as_written(nanos in any::<u64>()) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn never_panics(text in "[-0-9.hmsuµn]{0,30}") {
            let _ = parse(&text);
        }
    }
}
