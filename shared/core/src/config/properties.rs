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
