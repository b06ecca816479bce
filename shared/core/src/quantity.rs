//! Kubernetes quantities: `500m`, `2Gi`, `1.5`, `1e3`.

use serde_json::Value;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It is not a number with a known suffix.
    #[error("\"{0}\" is not a quantity: write a number with an optional suffix, such as 500m, 2Gi or 1.5")]
    Malformed(String),
    /// It is negative.
    #[error("\"{0}\" is negative: quantities are zero or more")]
    Negative(String),
    /// It does not fit.
    #[error("\"{0}\" is too large for a quantity")]
    TooLarge(String),
}

/// Units per whole: amounts are kept in billionths, the finest suffix that Kubernetes knows.
const NANO: i128 = 1_000_000_000;
/// Billionths per thousandth.
const NANO_PER_MILLI: i128 = 1_000_000;
/// Decimal places of a billionth.
const NANO_DIGITS: i32 = 9;

/// An exact amount; amounts of different suffixes compare by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

impl Amount {
    /// In thousandths, rounded up (CPU: millicores).
    pub fn milli(self) -> i128 {
        ceil(self.0, NANO_PER_MILLI)
    }

    /// In whole units, rounded up (memory and storage: bytes).
    pub fn bytes(self) -> i128 {
        ceil(self.0, NANO)
    }
}

/// Reads a quantity: decimal (`n u m k M G T P E`), binary (`Ki Mi Gi Ti Pi Ei`) or with an exponent (`1e3`).
///
/// Less than a billionth is rounded up, as Kubernetes does.
pub fn parse(text: &str) -> Result<Amount, QuantityError> {
    let malformed = || QuantityError::Malformed(text.to_owned());
    if text.starts_with('-') {
        return Err(QuantityError::Negative(text.to_owned()));
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (digits, places) = decimal(number).ok_or_else(malformed)?;
    let (twos, tens) = scale(suffix).ok_or_else(malformed)?;
    let amount = scaled(&digits, twos, tens - places + NANO_DIGITS);
    amount.map(Amount).ok_or_else(|| QuantityError::TooLarge(text.to_owned()))
}

/// Whether two texts are the same amount; texts that are no quantities are the same only if they are equal.
pub fn same(a: &str, b: &str) -> bool {
    a == b || matches!((parse(a), parse(b)), (Ok(a), Ok(b)) if a == b)
}

/// The value with numbers written as text where Kubernetes has quantities (`cpu: 2` below `limits` or
/// `requests`, and `sizeLimit`): the API server accepts both, our types only text.
pub fn texts(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| match (key.as_str(), value) {
                ("limits" | "requests", Value::Object(amounts)) => {
                    let amounts = amounts.iter().map(|(name, amount)| (name.clone(), as_text(amount)));
                    (key.clone(), Value::Object(amounts.collect()))
                }
                ("sizeLimit", amount) => (key.clone(), as_text(amount)),
                _ => (key.clone(), texts(value)),
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(texts).collect()),
        scalar => scalar.clone(),
    }
}

fn as_text(amount: &Value) -> Value {
    match amount {
        Value::Number(number) => Value::String(number.to_string()),
        other => other.clone(),
    }
}

/// The digits of `1.50` without the point and without trailing zeros of the fraction, and how many are places.
fn decimal(number: &str) -> Option<(String, i32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    Some((format!("{whole}{fraction}"), i32::try_from(fraction.len()).ok()?))
}

/// The powers of two and of ten that a suffix stands for.
fn scale(suffix: &str) -> Option<(u32, i32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        exponent => (0, power(exponent)?),
    })
}

/// The exponent of `e3`, `E+3` or `e-3`; at most three digits.
fn power(suffix: &str) -> Option<i32> {
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let plain = !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { exponent.parse().ok() } else { None }
}

/// `digits × 2^twos × 10^tens`, rounded up; `None` if it does not fit.
fn scaled(digits: &str, twos: u32, tens: i32) -> Option<i128> {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let value = digits.parse::<i128>().ok()?.checked_mul(1_i128.checked_shl(twos)?)?;
    match u32::try_from(tens) {
        Ok(tens) => value.checked_mul(10_i128.checked_pow(tens)?),
        // A divisor that does not fit is larger than any value that does: what is left rounds up to one.
        Err(_) => Some(10_i128.checked_pow(tens.unsigned_abs()).map_or(1, |divisor| ceil(value, divisor))),
    }
}

/// Division of what is not negative, rounded up.
fn ceil(value: i128, divisor: i128) -> i128 {
    value / divisor + i128::from(value % divisor != 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("0", 0)]
    #[case("1", 1_000)]
    #[case("+1", 1_000)]
    #[case("500m", 500)]
    #[case("1500u", 2)]
    #[case("1n", 1)]
    #[case("1.5", 1_500)]
    #[case(".5", 500)]
    #[case("5.", 5_000)]
    #[case("0.1Ki", 102_400)]
    #[case("1.5Gi", 1_610_612_736_000)]
    #[case("1k", 1_000_000)]
    #[case("1M", 1_000_000_000)]
    #[case("1e3", 1_000_000)]
    #[case("1E3", 1_000_000)]
    #[case("1e-3", 1)]
    #[case("1E", 1_000_000_000_000_000_000_000)]
    #[case("8Ei", 9_223_372_036_854_775_808_000)]
    #[case("0.0000000000000000000000000000000000000000001", 1)]
    #[case("1e-999", 1)]
    #[case("0e999", 0)]
    fn in_thousandths(#[case] text: &str, #[case] milli: i128) {
        assert_eq!(parse(text).unwrap().milli(), milli);
    }

    #[rstest]
    #[case("1Gi", 1_073_741_824)]
    #[case("1.0001k", 1_001)]
    #[case("1m", 1)]
    #[case("128Mi", 134_217_728)]
    #[case("2P", 2_000_000_000_000_000)]
    #[case("1Ti", 1_099_511_627_776)]
    fn in_bytes(#[case] text: &str, #[case] bytes: i128) {
        assert_eq!(parse(text).unwrap().bytes(), bytes);
    }

    #[rstest]
    fn malformed(
        #[values(
            "", ".", "Gi", "1 Gi", "1gi", "1K", "1.2.3", "1e", "1e+", "1e1.5", "1e9999", "0x10", "1Mi5", "٣"
        )]
        text: &str,
    ) {
        assert_eq!(parse(text), Err(QuantityError::Malformed(text.to_owned())));
    }

    #[test]
    fn out_of_range() {
        assert!(matches!(parse("-1"), Err(QuantityError::Negative(_))));
        assert!(matches!(parse("1e99"), Err(QuantityError::TooLarge(_))));
        assert!(matches!(parse(&"9".repeat(60)), Err(QuantityError::TooLarge(_))));
    }

    #[rstest]
    #[case("1", "1000m", true)]
    #[case("1024Mi", "1Gi", true)]
    #[case("1000Mi", "1Gi", false)]
    #[case("1.50", "1500m", true)]
    #[case("1u", "1m", false)]
    #[case("none", "none", true)]
    #[case("none", "nothing", false)]
    fn canonical(#[case] a: &str, #[case] b: &str, #[case] expected: bool) {
        assert_eq!(same(a, b), expected);
        assert_eq!(same(b, a), expected);
    }

    #[test]
    fn numbers_become_text_only_where_quantities_are() {
        let value = json!({"replicas": 1, "list": [{"resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}],
            "emptyDir": {"sizeLimit": 1000}});
        let expected = json!({"replicas": 1, "list": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}],
            "emptyDir": {"sizeLimit": "1000"}});
        assert_eq!(texts(&value), expected);
    }

    proptest! {
        #[test]
        fn order_is_that_of_the_numbers(a in 0_u64..1 << 40, b in 0_u64..1 << 40) {
            let (ki, bytes) = (parse(&format!("{a}Ki")).unwrap(), parse(&b.to_string()).unwrap());
            prop_assert_eq!(ki.cmp(&bytes), (u128::from(a) * 1024).cmp(&u128::from(b)));
        }

        #[test]
        fn a_suffix_is_a_factor(number in 0_u32.., places in 0_u32..1000) {
            let text = format!("{number}.{places:03}");
            let milli = i128::from(number) * 1000 + i128::from(places);
            prop_assert_eq!(parse(&text).unwrap().milli(), milli);
            prop_assert_eq!(parse(&format!("{text}k")).unwrap().bytes(), milli);
            prop_assert_eq!(parse(&format!("{text}Mi")).unwrap(), parse(&format!("{}Ki", milli * 1024)).map(|a| Amount(a.0 / 1000)).unwrap());
        }

        #[test]
        fn never_panics(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
