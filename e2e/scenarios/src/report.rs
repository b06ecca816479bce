//! What came of a run: lines for people, JSON for the record.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::Result;
use serde_json::{Map, Value, json};

/// What came of a scenario.
pub(crate) enum Outcome {
    /// It showed what it should.
    Passed,
    /// It did not; the reason.
    Failed(String),
    /// It was not run.
    Skipped,
}

/// A run.
pub(crate) struct Report {
    started: jiff::Timestamp,
    scenarios: Vec<Value>,
    counts: [usize; 3],
}

impl Report {
    /// A run begins.
    pub(crate) fn begin() -> Self {
        Self { started: jiff::Timestamp::now(), scenarios: vec![], counts: [0; 3] }
    }

    /// A scenario has ended.
    pub(crate) fn add(&mut self, name: &str, outcome: Outcome, took: Duration, figures: &Map<String, Value>) {
        let (index, outcome, error) = match outcome {
            Outcome::Passed => (0, "passed", None),
            Outcome::Failed(error) => (1, "failed", Some(error)),
            Outcome::Skipped => (2, "skipped", None),
        };
        self.counts[index] += 1;
        let seconds = (took.as_secs_f64() * 10.0).round() / 10.0;
        let mut entry = json!({"name": name, "outcome": outcome, "seconds": seconds, "figures": figures});
        if let Some(error) = error {
            entry["error"] = json!(error);
        }
        self.scenarios.push(entry);
    }

    /// Prints the counts, writes the file; true if nothing failed.
    pub(crate) fn finish(self, file: Option<&Path>) -> Result<bool> {
        let [passed, failed, skipped] = self.counts;
        let seconds = jiff::Timestamp::now().duration_since(self.started).as_secs();
        if let Some(file) = file {
            let report = json!({
                "commit": commit(),
                "started": self.started.to_string(),
                "seconds": seconds,
                "load": fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
                "scenarios": self.scenarios,
            });
            fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
        }
        for entry in self.scenarios.iter().filter(|entry| entry["outcome"] == "failed") {
            println!("failed: {}", entry["name"].as_str().unwrap_or_default());
        }
        println!("scenarios took {seconds} s");
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        Ok(failed == 0 && passed > 0)
    }
}

fn commit() -> String {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .current_dir(crate::install::root())
        .output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
