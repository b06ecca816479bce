//! Metrics as servers expose them for Prometheus. Pure.

use std::collections::BTreeMap;

/// One counter or gauge.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

impl Series {
    /// The value of a label; empty when there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

/// All series of a metric in a text; lines that cannot be read are left out.
pub fn series(text: &str, metric: &str) -> Vec<Series> {
    text.lines().filter_map(|line| one(line.strip_prefix(metric)?)).collect()
}

fn one(rest: &str) -> Option<Series> {
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => rest.rsplit_once('}')?,
        None => ("", rest.starts_with(' ').then_some(rest)?),
    };
    let value = value.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Series { labels: read_labels(labels)?, value })
}

fn read_labels(mut text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let end = closing_quote(rest)?;
        labels.insert(name.trim_start_matches(',').to_owned(), rest[..end].to_owned());
        text = &rest[end + 1..];
    }
    Some(labels)
}

/// Where a value ends: at the first quote that is not escaped.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# TYPE a counter
a_total{code="200",method="GET"} 12
a_total{code="40\"9,}",method="PUT"} 3.0 1700000000
a_totals{method="GET"} 7
b 1
"#;

    #[test]
    fn series_of_one_metric_are_read_with_their_labels() {
        let found = series(TEXT, "a_total");
        assert_eq!(found.iter().map(|series| series.value).collect::<Vec<_>>(), [12.0, 3.0]);
        assert_eq!(found[0].label("method"), "GET");
        assert_eq!(found[1].label("code"), r#"40\"9,}"#);
        assert_eq!(found[1].label("method"), "PUT");
        assert_eq!(found[1].label("none"), "");
    }

    #[test]
    fn a_metric_without_labels_is_one_series() {
        assert_eq!(series(TEXT, "b").len(), 1);
        assert_eq!(series(TEXT, "c"), []);
    }
}
