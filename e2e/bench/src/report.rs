//! What was measured, what was aimed at, and what of it was met. Pure, but for the file and the lines that are printed.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Whether a figure is good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At most what was aimed at.
    Met,
    /// More than that.
    Missed,
    /// There is no aim, or the run was smaller than the aim's.
    Told,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Told => "",
        }
    }
}

/// One figure; less is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    name: String,
    unit: &'static str,
    value: f64,
    aim: Option<f64>,
}

impl Figure {
    /// A figure without an aim.
    pub fn told(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit, value, aim: None }
    }

    /// The most that it may be.
    #[must_use]
    pub fn at_most(mut self, aim: f64) -> Self {
        self.aim = Some(aim);
        self
    }

    /// As [`Self::at_most`], if the run was what the aim is for.
    #[must_use]
    pub fn at_most_if(self, comparable: bool, aim: f64) -> Self {
        if comparable { self.at_most(aim) } else { self }
    }

    /// What to think of it.
    pub fn verdict(&self) -> Verdict {
        match self.aim {
            None => Verdict::Told,
            // What could not be measured is not met.
            Some(aim) if self.value <= aim => Verdict::Met,
            Some(_) => Verdict::Missed,
        }
    }

    fn to_json(&self) -> Value {
        let mut figure = json!({"name": self.name, "unit": self.unit, "value": rounded(self.value)});
        if let Some(aim) = self.aim {
            figure["aim"] = json!(aim);
            figure["met"] = json!(self.verdict() == Verdict::Met);
        }
        figure
    }
}

/// A run.
#[derive(Debug)]
pub struct Report {
    started: Timestamp,
    options: Value,
    load_before: String,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl Report {
    /// A run begins.
    pub fn begin(options: Value) -> Self {
        let (figures, notes) = (vec![], vec![]);
        Self { started: Timestamp::now(), options, load_before: load(), figures, notes }
    }

    /// A figure is known, and printed.
    pub fn add(&mut self, figure: Figure) {
        let aim = figure.aim.map(|aim| format!(" (aim {}, {})", shown(aim), figure.verdict().as_str()));
        println!("  {}: {} {}{}", figure.name, shown(figure.value), figure.unit, aim.unwrap_or_default());
        self.figures.push(figure);
    }

    /// Something that a reader has to know.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        println!("  {note}");
        self.notes.push(note);
    }

    /// Prints the table, and writes the file.
    pub fn finish(self, commit: &str, file: Option<&Path>) -> Result<()> {
        print!("\n{}", table(&self.figures));
        let Some(file) = file else { return Ok(()) };
        let report = json!({
            "commit": commit,
            "started": self.started.to_string(),
            "seconds": Timestamp::now().duration_since(self.started).as_secs(),
            "machine": {
                "cores": std::thread::available_parallelism().map_or(0, usize::from),
                "loadBefore": self.load_before,
                "loadAfter": load(),
            },
            "options": self.options,
            "figures": self.figures.iter().map(Figure::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
        });
        let text = serde_json::to_string_pretty(&report)? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }
}

fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn shown(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// All figures, one in each line.
fn table(figures: &[Figure]) -> String {
    let rows = figures.iter().map(|figure| {
        let aim = figure.aim.map_or_else(String::new, shown);
        [
            figure.name.clone(),
            figure.unit.to_owned(),
            shown(figure.value),
            aim,
            figure.verdict().as_str().into(),
        ]
    });
    let head = ["figure", "unit", "measured", "aim", ""].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let line = |[name, unit, value, aim, verdict]: &[String; 5]| {
        let [names, units, values, aims] = widths;
        let line = format!("{name:names$}  {unit:units$}  {value:>values$}  {aim:>aims$}  {verdict}");
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Figure::told("a", "MiB", 15.0), Verdict::Told)]
    #[case(Figure::told("a", "MiB", 15.0).at_most(15.0), Verdict::Met)]
    #[case(Figure::told("a", "MiB", 15.1).at_most(15.0), Verdict::Missed)]
    #[case(Figure::told("a", "MiB", f64::NAN).at_most(15.0), Verdict::Missed)]
    #[case(Figure::told("a", "MiB", 99.0).at_most_if(false, 15.0), Verdict::Told)]
    fn a_figure_is_met_up_to_its_aim(#[case] figure: Figure, #[case] verdict: Verdict) {
        assert_eq!(figure.verdict(), verdict);
    }

    #[test]
    fn the_table_is_aligned_and_says_what_was_missed() {
        let figures = [
            Figure::told("memory", "MiB", 12.345).at_most(15.0),
            Figure::told("first StatefulSet", "ms", 100.0).at_most(20.0),
            Figure::told("gets", "", 7.0),
        ];
        let expected = "\
figure             unit  measured  aim
memory             MiB      12.35   15  met
first StatefulSet  ms         100   20  missed
gets                            7
";
        assert_eq!(table(&figures), expected);
    }

    #[test]
    fn the_file_has_every_figure_with_its_aim() {
        let figure = Figure::told("memory", "MiB", 12.345).at_most(15.0).to_json();
        assert_eq!(
            figure,
            json!({"name": "memory", "unit": "MiB", "value": 12.35, "aim": 15.0, "met": true})
        );
        assert_eq!(Figure::told("gets", "", 7.0).to_json().get("met"), None);
    }
}
