//! The command line of an operator binary, so that its `main.rs` only says which operator it is.

use std::{ffi::OsString, io::Write, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use ballast_core::environment::Environment;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing::error;

use crate::{
    check::{self, CheckArgs},
    crd,
    lease::ElectionArgs,
    offline,
    operator::Operator,
    prepare::{self, PrepareArgs},
    reference,
    run::{RunSettings, run},
    telemetry::{self, LogFormat},
};

/// For operators without arguments of their own.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct NoArgs {}

#[derive(Debug, Parser)]
#[command(version, about, disable_help_subcommand = true)]
struct Cli<A: Args> {
    #[command(subcommand)]
    command: Command<A>,
}

#[derive(Debug, Subcommand)]
enum Command<A: Args> {
    /// Runs the operator.
    Run {
        #[command(flatten)]
        settings: SettingsArgs,
        #[command(flatten)]
        run: RunArgs,
        #[command(flatten)]
        more: A,
    },
    /// Prints the resource definitions as YAML.
    Crd,
    /// Prints the reference of the resources' fields as Markdown.
    Reference,
    /// Prints what would be applied for the resources in a file.
    Render {
        /// A YAML file with one or more resources, or - for stdin.
        file: PathBuf,
        #[command(flatten)]
        settings: SettingsArgs,
        #[command(flatten)]
        more: A,
    },
    /// Says what is wrong with the resources in a file.
    Validate {
        /// A YAML file with one or more resources, or - for stdin.
        file: PathBuf,
        #[command(flatten)]
        settings: SettingsArgs,
        #[command(flatten)]
        more: A,
    },
    /// Asks another instance whether it is ready.
    Check(CheckArgs),
    /// Prepares an application pod; its first init container.
    Prepare(PrepareArgs),
}

#[derive(Args, Clone, Debug)]
struct SettingsArgs {
    /// DNS domain of the cluster.
    #[arg(long, env = "BALLAST_CLUSTER_DOMAIN", default_value = "cluster.local")]
    cluster_domain: String,
    /// Image of this operator, used by the init containers of application pods.
    #[arg(long, env = "BALLAST_OPERATOR_IMAGE")]
    operator_image: Option<String>,
    /// imagePullPolicy of those init containers.
    #[arg(long, env = "BALLAST_OPERATOR_IMAGE_PULL_POLICY", value_parser = ["Always", "IfNotPresent", "Never"])]
    operator_image_pull_policy: Option<String>,
    /// Namespace that the operator runs in. Default: that of its service account.
    #[arg(long, env = "BALLAST_OPERATOR_NAMESPACE")]
    operator_namespace: Option<String>,
}

/// What kube's own crates log about failed requests, the watches and passes say better.
const LEVEL: &str = "info,kube_client=off,kube_runtime=off";

/// Threads that passes run on, however many processors the node has: a pass mostly waits, and each thread that allocates
/// costs memory.
const WORKERS: usize = 2;

#[derive(Args, Clone, Debug)]
struct RunArgs {
    /// Namespaces to watch, separated by commas; empty: all.
    #[arg(long, env = "BALLAST_WATCH_NAMESPACES", default_value = "")]
    watch_namespaces: String,
    /// Where /healthz, /readyz and /metrics are served.
    #[arg(long, env = "BALLAST_LISTEN", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// How log lines look: auto is text on a terminal, JSON otherwise.
    #[arg(long, env = "BALLAST_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
    /// What is logged, for instance info or info,kube=debug.
    #[arg(long, env = "RUST_LOG", default_value = LEVEL)]
    log_level: String,
    /// Seconds between looks at a resource where nothing happens.
    #[arg(long, env = "BALLAST_RESYNC", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    resync: u64,
    #[command(flatten)]
    election: ElectionArgs,
}

/// Runs the command line of the operator that `build` makes.
///
/// ```no_run
/// # use ballast_core::environment::Environment;
/// # use ballast_runtime::{cli::{self, NoArgs}, operator::Operator};
/// # fn example<MyOperator: Operator>(new: fn(Environment) -> MyOperator) -> std::process::ExitCode {
/// cli::main(|environment: Environment, _: NoArgs| new(environment))
/// # }
/// ```
pub fn main<A, O>(build: impl FnOnce(Environment, A) -> O) -> ExitCode
where
    A: Args,
    O: Operator,
{
    main_with(&[], build)
}

/// A command that only one operator has.
#[derive(Debug)]
pub struct Extra {
    /// Its name, its arguments and its help.
    pub command: clap::Command,
    /// What it does.
    pub run: fn(&ArgMatches) -> ExitCode,
}

/// As [`main`], with commands of the operator's own.
pub fn main_with<A, O>(extras: &[Extra], build: impl FnOnce(Environment, A) -> O) -> ExitCode
where
    A: Args,
    O: Operator,
{
    // First of all: the one TLS provider. It can only be there already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match parse::<A, O>(extras, std::env::args_os()) {
        Ok(Parsed::Common(command)) => execute(command, build),
        Ok(Parsed::Extra(run, matches)) => run(&matches),
        Err(error) => error.exit(),
    }
}

#[allow(clippy::large_enum_variant, reason = "there is one, for a moment")]
enum Parsed<A: Args> {
    Common(Command<A>),
    Extra(fn(&ArgMatches) -> ExitCode, ArgMatches),
}

fn parse<A: Args, O: Operator>(
    extras: &[Extra],
    args: impl Iterator<Item = OsString>,
) -> Result<Parsed<A>, clap::Error> {
    let name: &'static str = format!("{}-operator", O::APPLICATION).leak();
    let about: &'static str = format!("Operates {} clusters on Kubernetes.", O::APPLICATION).leak();
    let mut command = Cli::<A>::command().name(name).about(about);
    command = command.subcommands(extras.iter().map(|extra| extra.command.clone()));
    let matches = command.try_get_matches_from_mut(args)?;
    if let Some((name, more)) = matches.subcommand()
        && let Some(extra) = extras.iter().find(|extra| extra.command.get_name() == name)
    {
        return Ok(Parsed::Extra(extra.run, more.clone()));
    }
    Cli::<A>::from_arg_matches(&matches).map(|cli| Parsed::Common(cli.command))
}

fn execute<A: Args, O: Operator>(command: Command<A>, build: impl FnOnce(Environment, A) -> O) -> ExitCode {
    match command {
        Command::Run { settings, run, more } => start(settings, &run, more, build),
        Command::Crd => print(crd::yaml::<O>()),
        Command::Reference => print(reference::markdown::<O>()),
        Command::Render { file, settings, more } => {
            let operator = build(settings.offline(O::APPLICATION), more);
            let path = file.display().to_string();
            print(offline::read(&file).and_then(|text| offline::render(&operator, &path, &text)))
        }
        Command::Validate { file, settings, more } => {
            let operator = build(settings.offline(O::APPLICATION), more);
            let path = file.display().to_string();
            match offline::read(&file).and_then(|text| offline::validate(&operator, &path, &text)) {
                // What is wrong is this command's output, not its failure.
                Err(offline::OfflineError::Invalid(lines)) => {
                    print::<String>(Ok(format!("{lines}\n")));
                    ExitCode::FAILURE
                }
                other => print(other),
            }
        }
        Command::Check(args) => check::main(&args),
        Command::Prepare(args) => prepare::main(&args),
    }
}

fn start<A: Args, O: Operator>(
    settings: SettingsArgs,
    args: &RunArgs,
    more: A,
    build: impl FnOnce(Environment, A) -> O,
) -> ExitCode {
    telemetry::init(args.log_format, &args.log_level);
    let Some(operator_image) = settings.operator_image else {
        return fail("--operator-image (or BALLAST_OPERATOR_IMAGE) is missing: init containers need it");
    };
    let election = match args.election.settings(O::APPLICATION) {
        Ok(election) => election,
        Err(error) => return fail(error),
    };
    let operator = build(
        Environment {
            cluster_domain: settings.cluster_domain,
            operator_image,
            operator_pull_policy: settings.operator_image_pull_policy,
            operator_namespace: settings.operator_namespace.or_else(own_namespace),
        },
        more,
    );
    let settings = RunSettings {
        namespaces: namespaces(&args.watch_namespaces),
        listen: args.listen,
        resync: Duration::from_secs(args.resync),
        election,
    };
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return fail(error),
        };
    let ended = runtime.block_on(run(operator, settings));
    // Whatever still runs may not write any more, and has no time either.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl SettingsArgs {
    fn offline(self, application: &str) -> Environment {
        Environment {
            cluster_domain: self.cluster_domain,
            operator_image: self.operator_image.unwrap_or_else(|| format!("{application}-operator")),
            operator_pull_policy: self.operator_image_pull_policy,
            operator_namespace: self.operator_namespace,
        }
    }
}

/// Where Kubernetes tells a pod its namespace; absent outside of one.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

fn own_namespace() -> Option<String> {
    let text = std::fs::read_to_string(NAMESPACE_FILE).ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

fn namespaces(text: &str) -> Vec<String> {
    let mut names: Vec<String> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn print<E: std::fmt::Display>(result: Result<String, E>) -> ExitCode {
    match result {
        // A reader that went away (`| head`) is not our failure.
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => fail(error),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => fail(error),
    }
}

fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator_tests::ThingOperator;

    #[derive(Args, Debug, PartialEq)]
    struct More {
        #[arg(long, default_value_t = 7)]
        probe_seconds: u64,
    }

    fn parsed(line: &str) -> Result<Command<More>, clap::Error> {
        let extra = Extra { command: clap::Command::new("poke"), run: |_| ExitCode::from(9) };
        match parse::<More, ThingOperator>(&[extra], line.split_whitespace().map(OsString::from))? {
            Parsed::Common(command) => Ok(command),
            Parsed::Extra(run, matches) => panic!("{:?} of {matches:?}", run(&matches)),
        }
    }

    #[test]
    #[should_panic(expected = "9")]
    fn an_operator_may_have_commands_of_its_own() {
        let _ = parsed("thing-operator poke");
    }

    #[test]
    fn run_has_the_operators_own_arguments_too() {
        let line = "thing-operator run --operator-image i --watch-namespaces b,a,,b --probe-seconds 9";
        let Ok(Command::Run { settings, run, more }) = parsed(line) else { panic!("not parsed") };
        assert_eq!(settings.operator_image.as_deref(), Some("i"));
        assert_eq!(settings.cluster_domain, "cluster.local");
        assert_eq!(namespaces(&run.watch_namespaces), ["a", "b"]);
        assert_eq!(run.listen.port(), 8080);
        assert_eq!(more, More { probe_seconds: 9 });
    }

    #[test]
    fn the_help_is_about_this_operator() {
        let help = parsed("thing-operator --help").unwrap_err().to_string();
        assert!(help.contains("Operates thing clusters on Kubernetes."), "{help}");
        for command in ["run", "crd", "render", "validate", "prepare", "reference", "poke"] {
            assert!(help.contains(command), "{help}");
        }
    }

    #[test]
    fn wrong_arguments_are_refused() {
        assert!(parsed("thing-operator run --resync 0").is_err());
        assert!(parsed("thing-operator run --operator-image-pull-policy Sometimes").is_err());
        assert!(parsed("thing-operator validate").is_err());
    }
}
