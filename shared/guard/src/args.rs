//! The command line. Pod templates hold it, so it only ever grows.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::evidence::Pattern;
use crate::refusal::Refusal;
use crate::ticket::TicketKind;

/// Where the kubelet reads the termination message, unless the container says otherwise.
pub const TERMINATION_LOG: &str = "/dev/termination-log";

/// The help text.
pub const USAGE: &str = "\
ballast-guard run OPTIONS -- COMMAND [ARG]...   decide whether the volume may be used, then exec COMMAND or refuse
ballast-guard install DEST                      copy this program to DEST, mode 0755
ballast-guard help                              print this text

  --cluster-uid UID           uid of the resource that the member belongs to
  --member NAME               name of the member
  --claim NAME                name of the claim that is mounted
  --accept-cluster-uid UID    accept this member's volume of an earlier cluster, and rewrite its marker (repeatable)
  --volume DIR                root of the mounted volume; the marker .ballast-marker.json lives here
  --data-dir DIR              directory below the volume that the application uses; a ticket empties it
  --evidence PATTERN          file below the data directory, * within one segment; data is valid if each pattern
                              matches a regular file that is not empty (repeatable, at least one)
  --ticket-dir DIR            directory that may hold ticket.json
  --scratch DIR               directory that lives as long as the pod; ticket-used.json is kept here
  --config BASE=FINAL         copy BASE to FINAL at every start, with what the ticket appends to it (repeatable)
  --gate FILE                 written (the ticket's kind) if this start uses a ticket, removed if not
  --ticket-argument KIND=ARG  append ARG to COMMAND if this start uses a ticket of this kind (repeatable)
  --with-data start|exit      what to do if the volume holds the member's data: exec COMMAND (default), or end with 0
  --drop-env-prefix PREFIX    remove environment variables that start with PREFIX (repeatable)
  --termination-log FILE      where to write why it refuses; default /dev/termination-log

Exit codes: 78 DataLost, 77 ForeignVolume, 76 VolumeUnreadable, 75 TicketInvalid, 74 SetupFailed, 70 ExecFailed,
64 Usage. The message starts with that name and a colon. After a start, everything is the application's own.
";

/// What the guard was called to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Decide, and start or refuse.
    Run(Box<RunArgs>),
    /// Copy the program.
    Install(PathBuf),
    /// Print [`USAGE`].
    Help,
}

/// The arguments of `ballast-guard run`. See [`USAGE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunArgs {
    /// Uid of the resource that the member belongs to.
    pub cluster_uid: String,
    /// Name of the member.
    pub member: String,
    /// Name of the claim that is mounted.
    pub claim: String,
    /// Uids of earlier clusters whose volumes are accepted.
    pub accept_cluster_uids: Vec<String>,
    /// Root of the mounted volume.
    pub volume: PathBuf,
    /// Directory below the volume that the application uses.
    pub data_dir: PathBuf,
    /// What proves that there is data. Not empty.
    pub evidence: Vec<Pattern>,
    /// Directory that may hold the ticket.
    pub ticket_dir: Option<PathBuf>,
    /// Directory that lives as long as the pod.
    pub scratch: PathBuf,
    /// Configuration files to copy at every start. Their file names differ.
    pub configs: Vec<ConfigCopy>,
    /// File that exists after a start with a ticket.
    pub gate: Option<PathBuf>,
    /// Arguments that the command gets when this start uses a ticket, by its kind.
    pub ticket_arguments: Vec<(TicketKind, String)>,
    /// Whether there is nothing to do when the volume holds the member's data.
    pub exit_with_data: bool,
    /// Prefixes of environment variables that the application must not see.
    pub drop_env_prefixes: Vec<String>,
    /// Where the termination message goes.
    pub termination_log: PathBuf,
    /// The application and its arguments. Not empty.
    pub command: Vec<String>,
}

/// One configuration file: copied from `base` to `target` at every start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigCopy {
    /// The file as the operator wrote it.
    pub base: PathBuf,
    /// The file that the application reads.
    pub target: PathBuf,
}

impl ConfigCopy {
    /// The name by which a ticket refers to it.
    pub fn name(&self) -> String {
        self.target.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Invocation {
    /// Reads the arguments after the program's name.
    pub fn parse(args: &[String]) -> Result<Self, Refusal> {
        let usage = |why: String| Refusal::Usage(format!("{why}; see ballast-guard help"));
        match args.split_first().map(|(verb, rest)| (verb.as_str(), rest)) {
            Some(("run", rest)) => RunArgs::parse(rest).map(|run| Self::Run(Box::new(run))).map_err(usage),
            Some(("install", [dest])) if !dest.is_empty() => Ok(Self::Install(dest.into())),
            Some(("install", _)) => Err(usage("install takes one argument".into())),
            Some(("help" | "--help" | "-h", _)) => Ok(Self::Help),
            Some((other, _)) => Err(usage(format!("unknown command '{other}'"))),
            None => Err(usage("a command is missing".into())),
        }
    }
}

impl RunArgs {
    /// Reads the arguments after `run`. The error is a phrase for people.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let (options, command) = match args.iter().position(|arg| arg == "--") {
            Some(at) => (&args[..at], args[at + 1..].to_vec()),
            None => (args, Vec::new()),
        };
        if command.first().is_none_or(String::is_empty) {
            return Err("the application's command is missing after --".into());
        }
        let mut options = Options::collect(options)?;
        let parsed = Self {
            cluster_uid: options.required("--cluster-uid")?,
            member: options.required("--member")?,
            claim: options.required("--claim")?,
            accept_cluster_uids: options.all("--accept-cluster-uid"),
            volume: options.required("--volume")?.into(),
            data_dir: options.required("--data-dir")?.into(),
            evidence: options
                .all("--evidence")
                .iter()
                .map(|text| Pattern::parse(text))
                .collect::<Result<_, _>>()?,
            ticket_dir: options.optional("--ticket-dir")?.map(PathBuf::from),
            scratch: options.required("--scratch")?.into(),
            configs: options.all("--config").iter().map(|text| config(text)).collect::<Result<_, _>>()?,
            gate: options.optional("--gate")?.map(PathBuf::from),
            ticket_arguments: options
                .all("--ticket-argument")
                .iter()
                .map(|text| ticket_argument(text))
                .collect::<Result<_, _>>()?,
            exit_with_data: match options.optional("--with-data")?.as_deref() {
                None | Some("start") => false,
                Some("exit") => true,
                Some(other) => return Err(format!("--with-data '{other}' is neither start nor exit")),
            },
            drop_env_prefixes: options.all("--drop-env-prefix"),
            termination_log: options
                .optional("--termination-log")?
                .map_or_else(|| TERMINATION_LOG.into(), PathBuf::from),
            command,
        };
        options.nothing_left()?;
        parsed.check()?;
        Ok(parsed)
    }

    /// Writes the arguments, `run` included, such that [`Invocation::parse`] gives the same again.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec!["run".to_owned()];
        let mut push = |name: &str, value: String| args.extend([name.to_owned(), value]);
        let path = |path: &Path| path.to_string_lossy().into_owned();
        push("--cluster-uid", self.cluster_uid.clone());
        push("--member", self.member.clone());
        push("--claim", self.claim.clone());
        self.accept_cluster_uids.iter().for_each(|uid| push("--accept-cluster-uid", uid.clone()));
        push("--volume", path(&self.volume));
        push("--data-dir", path(&self.data_dir));
        self.evidence.iter().for_each(|pattern| push("--evidence", pattern.to_string()));
        self.ticket_dir.iter().for_each(|dir| push("--ticket-dir", path(dir)));
        push("--scratch", path(&self.scratch));
        for config in &self.configs {
            push("--config", format!("{}={}", path(&config.base), path(&config.target)));
        }
        self.gate.iter().for_each(|gate| push("--gate", path(gate)));
        for (kind, argument) in &self.ticket_arguments {
            push("--ticket-argument", format!("{kind}={argument}"));
        }
        if self.exit_with_data {
            push("--with-data", "exit".to_owned());
        }
        self.drop_env_prefixes.iter().for_each(|prefix| push("--drop-env-prefix", prefix.clone()));
        if self.termination_log != Path::new(TERMINATION_LOG) {
            push("--termination-log", path(&self.termination_log));
        }
        args.push("--".to_owned());
        args.extend(self.command.iter().cloned());
        args
    }

    fn check(&self) -> Result<(), String> {
        if self.evidence.is_empty() {
            return Err("--evidence is missing".into());
        }
        let below =
            self.data_dir.strip_prefix(&self.volume).map(|rest| rest.components().collect::<Vec<_>>());
        if !below
            .is_ok_and(|parts| !parts.is_empty() && parts.iter().all(|p| matches!(p, Component::Normal(_))))
        {
            return Err("--data-dir must be a directory below --volume".into());
        }
        let mut names = BTreeSet::new();
        match self.configs.iter().map(ConfigCopy::name).find(|name| !names.insert(name.clone())) {
            Some(name) => Err(format!("two --config have the file name {name}")),
            None => Ok(()),
        }
    }
}

/// The termination log named in `args`, even if they are wrong otherwise.
pub fn termination_log(args: &[String]) -> PathBuf {
    let options = args.iter().take_while(|arg| *arg != "--");
    options
        .skip_while(|arg| *arg != "--termination-log")
        .nth(1)
        .map_or_else(|| TERMINATION_LOG.into(), PathBuf::from)
}

fn config(text: &str) -> Result<ConfigCopy, String> {
    let (base, target) = text.split_once('=').unwrap_or_default();
    if base.is_empty() || Path::new(target).file_name().is_none() {
        return Err(format!("--config '{text}' is not BASE=FINAL"));
    }
    Ok(ConfigCopy { base: base.into(), target: target.into() })
}

fn ticket_argument(text: &str) -> Result<(TicketKind, String), String> {
    let parsed = text.split_once('=').and_then(|(kind, argument)| {
        let kind = TicketKind::ALL.into_iter().find(|known| known.to_string() == kind)?;
        (!argument.is_empty()).then(|| (kind, argument.to_owned()))
    });
    parsed.ok_or_else(|| format!("--ticket-argument '{text}' is not KIND=ARG"))
}

/// Pairs of an option and its value, taken out one after the other.
struct Options(Vec<(String, String)>);

impl Options {
    fn collect(args: &[String]) -> Result<Self, String> {
        let mut pairs = Vec::new();
        for pair in args.chunks(2) {
            match pair {
                [name, _] if !name.starts_with("--") => return Err(format!("unexpected argument '{name}'")),
                [name, value] if !value.is_empty() && !value.starts_with("--") => {
                    pairs.push((name.clone(), value.clone()));
                }
                [name, ..] => return Err(format!("{name} has no value")),
                [] => {}
            }
        }
        Ok(Self(pairs))
    }

    fn all(&mut self, name: &str) -> Vec<String> {
        self.0.extract_if(.., |(option, _)| option == name).map(|(_, value)| value).collect()
    }

    fn optional(&mut self, name: &str) -> Result<Option<String>, String> {
        let mut values = self.all(name);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            _ => Err(format!("{name} is given more than once")),
        }
    }

    fn required(&mut self, name: &str) -> Result<String, String> {
        self.optional(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    fn nothing_left(&self) -> Result<(), String> {
        self.0.first().map_or(Ok(()), |(name, _)| Err(format!("unknown option {name}")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use rstest::rstest;

    use super::*;

    const FULL: &str = "run --cluster-uid u --member my-1 --claim c --accept-cluster-uid o1 --accept-cluster-uid o2 \
        --volume /data --data-dir /data/etcd --evidence member/wal/*.wal --evidence member/snap/db \
        --ticket-dir /ballast/ticket --scratch /ballast/run --config /base/etcd.yaml=/ballast/run/etcd.yaml \
        --gate /ballast/run/gate --drop-env-prefix ETCD_ --termination-log /tmp/log -- etcd --config-file=x -- --y";
    const LEAST: &str = "run --cluster-uid u --member m --claim c --volume /v --data-dir /v/d --evidence e --scratch /s -- app";

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(|word| word.replace("EMPTY", "")).collect()
    }

    #[rstest]
    fn written_as_read(#[values(FULL, LEAST)] text: &str) {
        let Ok(Invocation::Run(run)) = Invocation::parse(&words(text)) else { panic!("not parsed") };
        assert_eq!(run.to_args(), words(text));
    }

    #[test]
    fn the_fields() {
        let run = RunArgs::parse(&words(FULL)[1..]).unwrap();
        assert_eq!(run.accept_cluster_uids, ["o1", "o2"]);
        assert_eq!(run.configs[0].name(), "etcd.yaml");
        assert_eq!(run.command, ["etcd", "--config-file=x", "--", "--y"]);
        assert_eq!(RunArgs::parse(&words(LEAST)[1..]).unwrap().termination_log, Path::new(TERMINATION_LOG));
    }

    #[rstest]
    #[case("--cluster-uid u", "", "--cluster-uid is missing")]
    #[case("--evidence e", "", "--evidence is missing")]
    #[case("--evidence e", "--evidence ../e", "not a plain relative path")]
    #[case("--scratch /s", "", "--scratch is missing")]
    #[case("--member m", "--member m --member n", "--member is given more than once")]
    #[case("--member m", "--member EMPTY", "--member has no value")]
    #[case("--member m --claim c", "--member --claim c", "--member has no value")]
    #[case("--member m", "--member m --what x", "unknown option --what")]
    #[case("--member m", "--member m x y", "unexpected argument 'x'")]
    #[case("--data-dir /v/d", "--data-dir /v", "below --volume")]
    #[case("--data-dir /v/d", "--data-dir /v/../d", "below --volume")]
    #[case("--data-dir /v/d", "--data-dir /other/d", "below --volume")]
    #[case("--data-dir /v/d", "--data-dir /vd", "below --volume")]
    #[case("--member m", "--member m --config x", "not BASE=FINAL")]
    #[case("--member m", "--member m --config x=/", "not BASE=FINAL")]
    #[case("--member m", "--member m --config a=/x/f --config b=/y/f", "file name f")]
    #[case("-- app", "", "command is missing")]
    #[case("-- app", "--", "command is missing")]
    #[case("run ", "start ", "unknown command 'start'")]
    #[case(LEAST, "", "a command is missing")]
    #[case(LEAST, "install", "one argument")]
    #[case(LEAST, "install a b", "one argument")]
    fn mistakes(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
        assert!(LEAST.contains(from));
        let refusal = Invocation::parse(&words(&LEAST.replace(from, to))).unwrap_err();
        assert!(refusal.message().contains(expected), "{refusal}");
        assert_eq!(refusal.exit_code(), 64);
    }

    #[test]
    fn the_termination_log_is_found_in_wrong_arguments() {
        assert_eq!(termination_log(&words("run --bad --termination-log /t -- x")), Path::new("/t"));
        assert_eq!(termination_log(&words("run -- --termination-log /t")), Path::new(TERMINATION_LOG));
    }
}
