//! Variables in configuration files that only a member's pod knows.

const BEGIN: &str = "${BALLAST_";

/// Replaces `${BALLAST_HOST}`, `${BALLAST_MEMBER}`, `${BALLAST_ZONE}` and `${BALLAST_ORDINAL}`, the number at the end of
/// the member's name; values are not rendered again.
///
/// # Errors
/// Any other `${BALLAST_…}`, as it was written.
pub fn render(text: &str, host: &str, member: &str, zone: &str) -> Result<String, String> {
    let mut rendered = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, from) = rest.split_at(at);
        rendered.push_str(before);
        let length = from.find('}').ok_or_else(|| from.lines().next().unwrap_or(BEGIN).to_owned())? + 1;
        let (variable, after) = from.split_at(length);
        rendered.push_str(match variable {
            "${BALLAST_HOST}" => host,
            "${BALLAST_MEMBER}" => member,
            "${BALLAST_ZONE}" => zone,
            "${BALLAST_ORDINAL}" if ordinal(member).is_some() => ordinal(member).unwrap_or_default(),
            unknown => return Err(unknown.to_owned()),
        });
        rest = after;
    }
    rendered.push_str(rest);
    Ok(rendered)
}

/// The number after the last `-` of a member's name.
fn ordinal(member: &str) -> Option<&str> {
    let digits = member.rsplit_once('-')?.1;
    digits.parse::<u32>().is_ok_and(|number| number.to_string() == digits).then_some(digits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a: ${BALLAST_HOST}\nb: ${BALLAST_MEMBER}-${BALLAST_ZONE}\n", Ok("a: h\nb: m-z\n"))]
    #[case(
        "${HOME} $BALLAST_HOST ${ballast_host} $${BALLAST_HOST}",
        Ok("${HOME} $BALLAST_HOST ${ballast_host} $h")
    )]
    #[case("no variables, ä and ${", Ok("no variables, ä and ${"))]
    #[case("x: ${BALLAST_PORT}\n", Err("${BALLAST_PORT}"))]
    #[case("x: ${BALLAST_HOST\ny: 1", Err("${BALLAST_HOST"))]
    #[case("${BALLAST_HOST}${BALLAST_}", Err("${BALLAST_}"))]
    fn only_our_variables_are_replaced(#[case] text: &str, #[case] expected: Result<&str, &str>) {
        assert_eq!(render(text, "h", "m", "z"), expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[rstest]
    #[case("my-brokers-103", Ok("103"))]
    #[case("my-07", Err("${BALLAST_ORDINAL}"))]
    #[case("my", Err("${BALLAST_ORDINAL}"))]
    #[case("my-x", Err("${BALLAST_ORDINAL}"))]
    fn the_ordinal_is_at_the_end_of_the_name(#[case] member: &str, #[case] expected: Result<&str, &str>) {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(render("${BALLAST_ORDINAL}", "h", member, "z"), expected);
    }

    #[test]
    fn a_value_is_not_rendered_again() {
        assert_eq!(render("${BALLAST_MEMBER}", "h", "${BALLAST_ZONE}", "z").unwrap(), "${BALLAST_ZONE}");
    }
}
