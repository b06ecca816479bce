//! Reading the facts from the pod's files, and emptying the data directory.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::args::{ConfigCopy, RunArgs};
use crate::decide::{DataFact, Facts, MarkerFact, NoteFact, TicketFact};
use crate::evidence::if_present;
use crate::{files, marker, ticket};

/// Reads everything the decision depends on. Changes nothing.
pub fn facts(args: &RunArgs) -> Facts {
    Facts {
        cluster_uid: args.cluster_uid.clone(),
        member: args.member.clone(),
        claim: args.claim.clone(),
        accepted: args.accept_cluster_uids.clone(),
        config_files: args.configs.iter().map(ConfigCopy::name).collect(),
        marker: marker_fact(&args.volume),
        data: data_fact(args),
        ticket: ticket_fact(args.ticket_dir.as_deref()),
        note: note_fact(&args.scratch),
    }
}

/// Empties the data directory, and makes it if it is not there. What lies beside it in the volume is not touched.
pub fn clean(args: &RunArgs) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(&args.data_dir)?;
    for entry in fs::read_dir(&args.data_dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    args.data_dir.ancestors().take_while(|dir| dir.starts_with(&args.volume)).try_for_each(files::sync_dir)
}

fn marker_fact(volume: &Path) -> MarkerFact {
    // A volume that is not mounted is not an empty volume.
    match fs::metadata(volume) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return MarkerFact::Unreadable(format!("{} is not a directory", volume.display())),
        Err(error) => return MarkerFact::Unreadable(format!("{}: {error}", volume.display())),
    }
    match read_json(&volume.join(marker::FILE)) {
        Ok(None) => MarkerFact::Absent,
        Ok(Some(marker)) => MarkerFact::Present(marker),
        Err(why) => MarkerFact::Unreadable(why),
    }
}

fn data_fact(args: &RunArgs) -> DataFact {
    match has_data(args) {
        Ok(true) => DataFact::Valid,
        Ok(false) => DataFact::NotValid,
        Err(error) => DataFact::Unreadable(format!("{}: {error}", args.data_dir.display())),
    }
}

fn has_data(args: &RunArgs) -> io::Result<bool> {
    // Every directory between the volume and the data must be one: a link could lead cleaning elsewhere.
    for dir in args.data_dir.ancestors().take_while(|dir| *dir != args.volume) {
        match fs::symlink_metadata(dir) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{} is not a directory", dir.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let mut valid = true;
    for pattern in &args.evidence {
        valid &= pattern.found(&args.data_dir)?;
    }
    Ok(valid)
}

fn ticket_fact(dir: Option<&Path>) -> TicketFact {
    match dir.map_or(Ok(None), |dir| read_json(&dir.join(ticket::FILE))) {
        Ok(None) => TicketFact::Absent,
        Ok(Some(ticket)) => TicketFact::Present(ticket),
        Err(why) => TicketFact::Invalid(why),
    }
}

fn note_fact(scratch: &Path) -> NoteFact {
    match if_present(fs::symlink_metadata(scratch.join(ticket::USED_NOTE))) {
        Ok(None) => NoteFact::Absent,
        Ok(Some(_)) => NoteFact::Present,
        Err(error) => NoteFact::Unreadable(error.to_string()),
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    let because = |error: String| format!("{}: {error}", path.display());
    let Some(bytes) = if_present(fs::read(path)).map_err(|error| because(error.to_string()))? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| because(error.to_string()))
}
