//! The `lab` command's arguments and what each does.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::lab::{Lab, client, lock};
use crate::layout::{self, CONTROL_PLANE};
use crate::progress::Progress;
use crate::tools::{self, CLUSTER, Family};
use crate::{disk, image, netns, prerequisites, provisioner, size, status};

/// A real three-zone Kubernetes on this machine, without Docker.
#[derive(Debug, Parser)]
#[command(name = "lab", version)]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Bring the lab up, or repair the one that is up.
    Up {
        /// Names of the zones; there is one node in each.
        #[arg(long, value_delimiter = ',', default_value = "a,b,c")]
        zones: Vec<String>,
    },
    /// Take the lab down and check that nothing of it is left.
    Down,
    /// Show processes, nodes, cables and pods.
    Status,
    /// Print the path of the administrator's kubeconfig.
    Kubeconfig,
    /// Run kubectl in the lab.
    #[command(disable_help_flag = true)]
    Kubectl(Rest),
    /// Run Helm in the lab.
    #[command(disable_help_flag = true)]
    Helm(Rest),
    /// Run any program in the control plane's network, with KUBECONFIG set.
    #[command(disable_help_flag = true)]
    Exec(Rest),
    /// Build the cluster's programs without starting anything.
    Tools {
        /// Only this family, for instance helm; its folder is printed.
        family: Option<String>,
    },
    /// Build the base images and print their names and archives.
    Images,
    /// Import image archives into the nodes.
    LoadImage {
        /// Archives as `docker save` writes them.
        #[arg(required = true)]
        archives: Vec<PathBuf>,
        /// Only into this node.
        #[arg(long)]
        node: Option<String>,
    },
    /// Pack programs of this machine, with the shared libraries they need, into an image archive.
    ImageFromBinary {
        /// Name of the image, with tag.
        #[arg(long)]
        name: String,
        /// Also write the archive to this file; it is always kept in the cache.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Program the image runs.
        #[arg(long)]
        entrypoint: Option<String>,
        /// User it runs as.
        #[arg(long, default_value = "65532")]
        user: String,
        /// Import it into all nodes as well.
        #[arg(long)]
        load: bool,
        /// Programs, each with its path in the image (default: /usr/local/bin).
        #[arg(required = true, value_name = "FILE[:DESTINATION]")]
        programs: Vec<String>,
    },
    /// Stop or start a node.
    #[command(subcommand)]
    Node(NodeAction),
    /// Cut or restore a node's network cable.
    #[command(subcommand)]
    Link(LinkAction),
    /// Fill the volume of a claim.
    FillDisk {
        /// The claim, as namespace/name.
        #[arg(long)]
        pvc: String,
        /// How much to leave free, such as 10Mi.
        #[arg(long, default_value = "0")]
        leave: String,
        /// Free it again.
        #[arg(long)]
        undo: bool,
    },
    /// Print states, events and logs of what is not well in a namespace.
    Diagnose {
        /// The namespace.
        namespace: String,
    },
    /// Serve volumes; started by `up`.
    #[command(hide = true)]
    Provision,
}

#[derive(Debug, clap::Args)]
struct Rest {
    /// Passed on as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum NodeAction {
    /// End everything on the node at once, as a power loss would.
    Stop {
        /// The node, such as n1.
        node: String,
        /// Leave its cable plugged in: its kernel then says goodbye to the other ends of its connections.
        #[arg(long)]
        keep_link: bool,
    },
    /// Start the node again and wait until all nodes are Ready.
    Start {
        /// The node, such as n1.
        node: String,
    },
}

#[derive(Debug, Subcommand)]
enum LinkAction {
    /// Cut the node off.
    Cut {
        /// The node, such as n1.
        node: String,
    },
    /// Plug it in again.
    Restore {
        /// The node, such as n1.
        node: String,
    },
}

/// Runs the command this process was started as.
pub fn main() -> ExitCode {
    match run(Arguments::parse().action) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(action: Action) -> Result<()> {
    let progress = Progress::start();
    match action {
        Action::Up { zones } => Lab::up(&zones, &progress).map(drop),
        Action::Down => {
            prerequisites::check()?;
            Lab::down(&progress)
        }
        Action::Status => print(&status::describe()?),
        Action::Kubeconfig => {
            Lab::attach()?;
            println!("{}", layout::kubeconfig().display());
            Ok(())
        }
        Action::Kubectl(rest) => become_program(Lab::attach()?.kubectl()?.args(rest.arguments)),
        Action::Helm(rest) => become_program(Lab::attach()?.helm(&progress)?.args(rest.arguments)),
        Action::Exec(rest) => {
            let (program, arguments) = rest.arguments.split_first().context("which program?")?;
            become_program(Lab::attach()?.command(program).args(arguments))
        }
        Action::Tools { family: None } => tools::ensure(&[&CLUSTER[..], &[Family::Helm]].concat(), &progress),
        Action::Tools { family: Some(name) } => {
            println!("{}", tools::folder_of(&name, &progress)?.display());
            Ok(())
        }
        Action::Images => {
            tools::ensure(&CLUSTER, &progress)?;
            for (name, archive) in progress.during("building images", image::base)? {
                println!("{name} {}", archive.display());
            }
            Ok(())
        }
        Action::LoadImage { archives, node } => {
            let lab = Lab::attach()?;
            progress.during("importing", || lab.load_images(&archives, node.as_deref()))
        }
        Action::ImageFromBinary { name, out, entrypoint, user, load, programs } => {
            let programs: Vec<_> =
                programs.iter().map(|program| destination(program)).collect::<Result<_>>()?;
            let archive = progress
                .during("packing", || image::from_binaries(&name, entrypoint.as_deref(), &user, &programs))?;
            if let Some(out) = &out {
                std::fs::copy(&archive, out).with_context(|| format!("cannot write {}", out.display()))?;
            }
            println!("{}", out.as_ref().unwrap_or(&archive).display());
            if load {
                let lab = Lab::attach()?;
                progress.during("importing", || lab.load_images(&[archive], None))?;
            }
            Ok(())
        }
        Action::Node(NodeAction::Stop { node, keep_link }) => {
            let (lab, _lock) = (Lab::attach()?, lock(&progress)?);
            progress.during("stopping", || lab.stop_node(&node, keep_link))
        }
        Action::Node(NodeAction::Start { node }) => {
            let (lab, _lock, since) = (Lab::attach()?, lock(&progress)?, SystemTime::now());
            progress.during("starting", || lab.start_node(&node))?;
            netns::block_on(CONTROL_PLANE, || async { lab.await_node(&client().await?, &node, since).await })
        }
        Action::Link(LinkAction::Cut { node }) => Lab::attach()?.cut_link(&node),
        Action::Link(LinkAction::Restore { node }) => Lab::attach()?.restore_link(&node),
        Action::FillDisk { pvc, leave, undo } => fill_disk(&pvc, &leave, undo),
        Action::Diagnose { namespace } => {
            let text = netns::block_on(CONTROL_PLANE, || async {
                Ok(crate::diagnose(&client().await?, &namespace).await)
            })?;
            print(&text)
        }
        Action::Provision => {
            tracing_subscriber::fmt().with_ansi(false).init();
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(provisioner::run())
        }
    }
}

/// Prints a longer text. Whoever reads it may stop early, as `head` does.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn fill_disk(claim: &str, leave: &str, undo: bool) -> Result<()> {
    let (namespace, name) =
        claim.split_once('/').with_context(|| format!("{claim:?} is not namespace/name"))?;
    let leave = size::bytes(leave)?;
    netns::block_on(CONTROL_PLANE, || async {
        let client = client().await?;
        if undo {
            return disk::unfill(&client, namespace, name).await;
        }
        println!("{} bytes taken", disk::fill(&client, namespace, name, leave).await?);
        Ok(())
    })
}

/// File and path in the image of `FILE[:DESTINATION]`.
fn destination(program: &str) -> Result<(PathBuf, String)> {
    if let Some((file, destination)) = program.split_once(':') {
        if !destination.starts_with('/') {
            bail!("{destination:?} is no absolute path in the image");
        }
        return Ok((file.into(), destination.into()));
    }
    let file = PathBuf::from(program);
    let name = file.file_name().with_context(|| format!("{program:?} names no file"))?;
    let destination = format!("/usr/local/bin/{}", name.to_string_lossy());
    Ok((file, destination))
}

/// Replaces this process, so that terminal, signals and exit code are the program's own.
fn become_program(command: &mut Command) -> Result<()> {
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_program_goes_to_the_usual_folder_unless_told() -> Result<()> {
        assert_eq!(destination("target/x")?, ("target/x".into(), "/usr/local/bin/x".into()));
        assert_eq!(destination("x:/y")?, ("x".into(), "/y".into()));
        assert!(destination("x:y").is_err());
        Ok(())
    }
}
