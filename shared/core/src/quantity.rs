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
#[path = "quantity_tests.rs"]
mod tests;
