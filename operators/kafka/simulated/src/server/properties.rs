//! A node's file, as `java.util.Properties` reads what operators write: one `key=value` per line, with escapes.

use std::collections::BTreeMap;

/// The entries of a file.
pub(super) fn read(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    lines.map(entry).collect()
}

fn entry(line: &str) -> (String, String) {
    let mut parts = [String::new(), String::new()];
    let mut part = 0;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => parts[part].extend(characters.next().map(escaped)),
            '=' if part == 0 => part = 1,
            other => parts[part].push(other),
        }
    }
    parts.into()
}

fn escaped(character: char) -> char {
    match character {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_operator_writes_is_read() {
        let read = read("node.id=3\n# no\nlisteners=CLIENT\\://\\:9092,CONTROLLER\\://\\:9093\nempty=\n");
        assert_eq!(read["node.id"], "3");
        assert_eq!(read["listeners"], "CLIENT://:9092,CONTROLLER://:9093");
        assert_eq!((read["empty"].as_str(), read.len()), ("", 3));
    }
}
