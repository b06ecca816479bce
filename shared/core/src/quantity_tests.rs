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
