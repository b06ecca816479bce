//! `plan`: where partitions would go, for a snapshot in a file. Talks to nobody.

use std::{fmt::Write as _, io::Write as _, path::PathBuf, process::ExitCode};

use ballast_kafka_core::rebalance::{
    self,
    outcome::Plan,
    request::{Goal, Request},
    schedule,
    snapshot::Snapshot,
};
use ballast_runtime::cli::Extra;
use clap::{ArgGroup, ArgMatches, Args, FromArgMatches, ValueEnum};
use serde_json::json;

/// At most so many moves are written as text.
const SHOWN: usize = 50;

/// Arguments of `plan`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("goal").required(true))]
struct PlanArgs {
    /// A snapshot of a cluster as JSON.
    #[arg(long)]
    snapshot: PathBuf,
    /// Empty these brokers, and those that the snapshot calls draining.
    #[arg(long, value_delimiter = ',', group = "goal", value_name = "IDS")]
    drain: Vec<i32>,
    /// Give these brokers, which are new, their share.
    #[arg(long, value_delimiter = ',', group = "goal", value_name = "IDS")]
    spread: Vec<i32>,
    /// Relieve brokers whose network has too much to do.
    #[arg(long, group = "goal")]
    hot_partitions: bool,
    /// Relieve brokers that have too much of anything.
    #[arg(long, group = "goal")]
    full: bool,
    /// Bytes per second that each broker may send and receive, to tell how long it takes.
    #[arg(long, default_value_t = 50 << 20)]
    throttle: u64,
    /// What is printed.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Moves and figures, for people.
    #[default]
    Text,
    /// Everything.
    Json,
    /// What `kafka-reassign-partitions --execute --reassignment-json-file` reads.
    Reassignment,
}

/// The command.
pub fn extra() -> Extra {
    let command = clap::Command::new("plan")
        .about("Says where partitions would go, for a snapshot of a cluster in a file");
    Extra { command: PlanArgs::augment_args(command), run }
}

fn run(matches: &ArgMatches) -> ExitCode {
    let told =
        PlanArgs::from_arg_matches(matches).map_err(|error| error.to_string()).and_then(|args| tell(&args));
    match told {
        // A reader that went away is not our failure.
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => fail(&error.to_string()),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => fail(&error),
    }
}

fn fail(error: &str) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}

fn tell(args: &PlanArgs) -> Result<String, String> {
    let file = args.snapshot.display();
    let text = std::fs::read_to_string(&args.snapshot).map_err(|error| format!("{file}: {error}"))?;
    let snapshot = Snapshot::from_json(&text).map_err(|error| format!("{file}: {error}"))?;
    let goal = if args.full {
        Goal::Full
    } else if args.hot_partitions {
        Goal::HotPartitions
    } else if args.spread.is_empty() {
        Goal::Drain { brokers: args.drain.clone() }
    } else {
        Goal::Spread { onto: args.spread.clone() }
    };
    let plan = rebalance::plan(&snapshot, &Request::new(goal)).map_err(|error| error.to_string())?;
    Ok(match args.output {
        Output::Text => people(&snapshot, &plan, args.throttle),
        Output::Json => serde_json::to_string_pretty(&plan).map_err(|error| error.to_string())? + "\n",
        Output::Reassignment => reassignment(&plan),
    })
}

fn reassignment(plan: &Plan) -> String {
    let partitions: Vec<_> = plan
        .moves
        .iter()
        .map(|it| json!({"topic": it.topic, "partition": it.partition, "replicas": it.to}))
        .collect();
    format!("{}\n", json!({"version": 1, "partitions": partitions}))
}

fn people(snapshot: &Snapshot, plan: &Plan, throttle: u64) -> String {
    let mut text = String::new();
    let list = |ids: &[i32]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    for it in plan.moves.iter().take(SHOWN) {
        let name = format!("{}-{}", it.topic, it.partition);
        let _ =
            writeln!(text, "{name:<40} {:<16} -> {:<16} {} bytes", list(&it.from), list(&it.to), it.bytes());
    }
    if plan.moves.len() > SHOWN {
        let _ = writeln!(text, "and {} more; --output json tells all", plan.moves.len() - SHOWN);
    }
    for topic in &plan.infeasible {
        let _ = writeln!(text, "impossible: {}", topic.message);
    }
    for it in &plan.blocked {
        let _ = writeln!(text, "blocked: {it}");
    }
    for it in &plan.unfixable {
        let _ = writeln!(text, "too hot for any broker: {}", it.message);
    }
    let report = &plan.report;
    let time = schedule::shortest_time(snapshot, &plan.moves, throttle);
    let _ = writeln!(
        text,
        "{} partitions move, {} replicas are copied, {} only get another order\n\
         {} bytes are copied, at least {} have to be; {} s at {throttle} bytes per second and broker",
        plan.moves.len() - report.reorders,
        report.transfers,
        report.reorders,
        report.bytes,
        report.lower_bound_bytes,
        time.as_secs(),
    );
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SNAPSHOT: &str = r#"{"format": 1,
        "brokers": [{"id": 1}, {"id": 2}, {"id": 3}],
        "partitions": [
            {"topic": "orders", "partition": 0, "replicas": [3, 1], "leader": 3, "size": 4096},
            {"topic": "orders", "partition": 1, "replicas": [1, 2], "leader": 1, "size": 10}
        ]}"#;

    fn told(line: &str) -> Result<String, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(SNAPSHOT.as_bytes()).unwrap();
        let line = format!("plan --snapshot {} {line}", file.path().display());
        let matches = extra().command.try_get_matches_from(line.split_whitespace());
        let args = PlanArgs::from_arg_matches(&matches.map_err(|error| error.to_string())?).unwrap();
        tell(&args)
    }

    #[test]
    fn a_drain_for_people() {
        let text = told("--drain 3 --throttle 1024").unwrap();
        assert!(text.contains("orders-0"), "{text}");
        assert!(text.contains("4096 bytes are copied, at least 4096 have to be; 4 s at 1024"), "{text}");
    }

    #[test]
    fn what_kafka_s_own_tool_reads() {
        let text = told("--drain 3 --output reassignment").unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["partitions"][0]["replicas"], json!([2, 1]));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(told("--drain 9").unwrap_err().contains("broker 9 is not in the snapshot"));
        assert!(told("--hot-partitions").unwrap_err().contains("no partition has a rate"));
        assert!(told("").unwrap_err().contains("required"));
        assert!(told("--drain 3 --full").unwrap_err().contains("cannot be used with"));
    }

    #[test]
    fn a_topic_that_does_not_fit_is_named() {
        let text = told("--drain 2,3").unwrap();
        assert!(text.contains("impossible: orders has 2 replicas"), "{text}");
    }
}
