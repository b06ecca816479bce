//! Texts for people: what they or an application wrote comes back in them, so it is made fit to be printed and kept.

/// Without characters that a terminal or a log would act on, and with at most `most` characters.
///
/// Control characters, line separators and changes of the direction of writing are written as `\u{…}`.
pub fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (number, c) in text.chars().enumerate() {
        if number == most {
            shown.push('…');
            break;
        }
        let acts = c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if acts {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// With at most `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_escaped() {
        assert_eq!(printable("a\u{1b}[31m\n\u{2028}\u{202e}ä", 100), "a\\u{1b}[31m\\u{a}\\u{2028}\\u{202e}ä");
    }

    #[test]
    fn there_is_an_end() {
        assert_eq!(printable("äöü", 3), "äöü");
        assert_eq!(printable("äöüx", 3), "äöü…");
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüx", 3), "äöü…");
    }
}
