//! Sizes as Kubernetes writes them.

use anyhow::{Context, Result, bail};

/// Bytes of a quantity such as `1Gi`, `500M`, `1.5Gi` or `1e9`, rounded up.
pub(crate) fn bytes(quantity: &str) -> Result<u64> {
    let split = quantity.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(quantity.len());
    let (number, unit) = quantity.split_at(split);
    let exponent: Option<u32> = unit.strip_prefix(['e', 'E']).and_then(|power| power.parse().ok());
    let (factor, divisor): (u128, u128) = match (unit, exponent) {
        (_, Some(power)) => (10u128.checked_pow(power).context("exponent too large")?, 1),
        ("", _) => (1, 1),
        ("m", _) => (1, 1000),
        ("k", _) => (1000, 1),
        ("M", _) => (1000 * 1000, 1),
        ("G", _) => (1000u128.pow(3), 1),
        ("T", _) => (1000u128.pow(4), 1),
        ("P", _) => (1000u128.pow(5), 1),
        ("Ki", _) => (1 << 10, 1),
        ("Mi", _) => (1 << 20, 1),
        ("Gi", _) => (1 << 30, 1),
        ("Ti", _) => (1 << 40, 1),
        ("Pi", _) => (1 << 50, 1),
        _ => bail!("{quantity:?} is no size: its unit is unknown"),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let scale = 10u128.checked_pow(u32::try_from(fraction.len())?).context("too many digits")?;
    let digits: u128 =
        format!("{whole}{fraction}").parse().with_context(|| format!("{quantity:?} is no size"))?;
    let size = digits.checked_mul(factor).context("size too large")?.div_ceil(scale * divisor);
    u64::try_from(size).with_context(|| format!("{quantity} is more than this machine can count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_notations_are_read() -> Result<()> {
        for (text, expected) in [
            ("0", 0),
            ("1", 1),
            ("1Ki", 1024),
            ("64Mi", 64 << 20),
            ("1.5Gi", 3 << 29),
            ("500M", 500_000_000),
            ("1e3", 1000),
            ("1500m", 2),
        ] {
            assert_eq!(bytes(text)?, expected, "{text}");
        }
        Ok(())
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "Gi", "1X", "-1", "1.2.3", "99999Pi"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
