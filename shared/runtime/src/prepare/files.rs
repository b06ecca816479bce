//! Files are whole or not there: a temporary name first, then renamed.

use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::PrepareError;

/// Copies a program.
pub(super) fn install(from: &Path, to: &Path) -> Result<(), PrepareError> {
    let content = fs::read(from).map_err(PrepareError::file(from))?;
    write(to, &content, 0o755)
}

/// Writes a file; its directory is made if it is not there.
pub(super) fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), PrepareError> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(PrepareError::file(directory))?;
    }
    let temporary = temporary(path);
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, path)).map_err(PrepareError::file(path))
}

fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}
