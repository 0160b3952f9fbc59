//! Where a benchmark target keeps its files, and how they are written.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of this program: in the target folder that it was built in.
pub(super) fn folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    // Without the hash that cargo adds.
    let target = stem.rsplit_once('-').map_or(&*stem, |(target, _)| target);
    let is_profile = |folder: &&Path| folder.join("deps").is_dir();
    let folder = program.ancestors().skip(1).find(is_profile);
    let folder = folder
        .and_then(|folder| folder.parent())
        .map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(folder.join("gpuprof-bench").join(target))
}

/// Writes a file, in a folder that may not exist yet.
///
/// # Errors
/// What cannot be written, and why.
pub(super) fn write(file: &Path, content: &[u8]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    if let Some(folder) = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(file, content).map_err(failed)
}
