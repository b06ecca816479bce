//! Java properties files.

use std::fmt::Write;

/// A properties file. Keys keep the order in which they were first set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    entries: Vec<(String, String)>,
}

impl Document {
    /// An empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key; a key that is set again keeps its place.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        match self.entries.iter_mut().find(|(have, _)| *have == key) {
            Some((_, have)) => *have = value,
            None => self.entries.push((key, value)),
        }
        self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(have, _)| have == key).map(|(_, value)| value.as_str())
    }

    /// The file's text: one `key=value` per line, ASCII only, so that it reads the same in every encoding.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.entries {
            escape(key, true, &mut text);
            text.push('=');
            escape(value, false, &mut text);
            text.push('\n');
        }
        text
    }
}

/// Escapes a key, in which every space counts, or a value, in which only leading spaces do.
fn escape(text: &str, key: bool, out: &mut String) {
    let mut leading = true;
    for c in text.chars() {
        match c {
            ' ' if key || leading => out.push_str("\\ "),
            '\\' | ':' | '=' | '#' | '!' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0c' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => unicode(c, out),
        }
        leading = leading && c == ' ';
    }
}

/// `\uXXXX` for each UTF-16 unit.
fn unicode(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04X}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use proptest::{collection, prelude::*};

    use super::*;

    #[test]
    fn looks_like_this() {
        let mut file = Document::new();
        file.set("node.id", "1")
            .set("listeners", "PLAINTEXT://:9092")
            .set("a key", "  two = spaces # no comment");
        file.set("unicode", "ä\u{1F980}\t\\!").set("empty", "").set("node.id", "2");
        insta::assert_snapshot!(file.render());
        assert_eq!(file.get("node.id"), Some("2"));
    }

    /// As `java.util.Properties.load` does it, without line continuation, which we never write.
    fn read(text: &str) -> Vec<(String, String)> {
        let line = |line: &str| {
            let mut parts = [vec![], vec![]];
            let mut part = 0;
            let mut chars = line.trim_start_matches([' ', '\t', '\x0c']).chars();
            while let Some(c) = chars.next() {
                match c {
                    '\\' => parts[part].push(escaped(&mut chars)),
                    '=' | ':' | ' ' if part == 0 => part = 1,
                    ' ' if part == 1 && parts[1].is_empty() => {}
                    c => parts[part].push(u16::try_from(u32::from(c)).unwrap()),
                }
            }
            let [key, value] = parts.map(|units| String::from_utf16(&units).unwrap());
            (key, value)
        };
        text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '!'])).map(line).collect()
    }

    fn escaped(chars: &mut std::str::Chars<'_>) -> u16 {
        let unit = match chars.next().unwrap() {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\x0c',
            'u' => {
                let digits: String = chars.take(4).collect();
                return u16::from_str_radix(&digits, 16).unwrap();
            }
            c => c,
        };
        u16::try_from(u32::from(unit)).unwrap()
    }

    proptest! {
        #[test]
        fn read_as_written(entries in collection::btree_map("[a-z !#:=\\\\ä🦀\n]{1,8}", "[ -~\t\nä🦀\\PC]{0,12}", 0..6)) {
            let mut file = Document::new();
            for (key, value) in &entries {
                file.set(key, value);
            }
            let text = file.render();
            prop_assert!(text.is_ascii());
            prop_assert_eq!(read(&text), entries.into_iter().collect::<Vec<_>>(), "{}", text);
        }
    }
}
