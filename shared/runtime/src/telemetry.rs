//! Logs: JSON for machines, text on a terminal.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// One JSON object per line.
    Json,
    /// For people.
    Text,
}

/// Logs to stderr from now on; `level` is a filter such as `info` or `info,kube=debug`.
pub fn init(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_new(level).unwrap_or_else(|error| {
        eprintln!("the log level {level:?} is not understood ({error}), using info");
        EnvFilter::new("info")
    });
    let registry = tracing_subscriber::registry().with(filter);
    let terminal = std::io::stderr().is_terminal();
    let result = if format == LogFormat::Json || (format == LogFormat::Auto && !terminal) {
        registry
            .with(fmt::layer().json().flatten_event(true).with_span_list(false).with_writer(std::io::stderr))
            .try_init()
    } else {
        registry.with(fmt::layer().with_ansi(terminal).with_writer(std::io::stderr)).try_init()
    };
    if result.is_err() {
        // Tests share one process: the first one has set it up.
        tracing::debug!("logs are set up already");
    }
}
