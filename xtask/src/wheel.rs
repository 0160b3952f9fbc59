//! NVIDIA's libraries from the Python wheels that it publishes, which need no installed toolkit.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::scripts;

/// Unpacks the wheel that the file `requirement` pins into `folder`, unless it is there already.
///
/// # Errors
/// A text for the user: no python3 or pip, or no wheel for this machine.
pub(crate) fn unpack(requirement: &Path, folder: &Path) -> Result<(), String> {
    scripts::once(requirement, folder, || fetch(requirement, folder))
}

fn fetch(requirement: &Path, folder: &Path) -> Result<(), String> {
    eprintln!(
        "fetching {} into {}",
        requirement.display(),
        folder.display()
    );
    let failed = |error| format!("{}: {error}", folder.display());
    let mut download = Command::new("python3");
    download.args([
        "-m",
        "pip",
        "--disable-pip-version-check",
        "download",
        "--quiet",
        "--no-deps",
    ]);
    download
        .args(["--only-binary=:all:", "--require-hashes", "--dest"])
        .arg(folder);
    python(download.arg("--requirement").arg(requirement)).map_err(|error| {
        format!(
            "{error}\nNVIDIA's library comes as a Python wheel for Linux on x86_64; that needs \
             python3 with pip and access to PyPI or a mirror.\n\
             Debian, Ubuntu: apt install python3-pip. Fedora: dnf install python3-pip. \
             Else: python3 -m ensurepip.\nThen run the command again"
        )
    })?;
    let wheel = fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("pip left no wheel in {}", folder.display()))?;
    python(
        Command::new("python3")
            .args(["-m", "zipfile", "-e"])
            .arg(&wheel)
            .arg(folder),
    )?;
    fs::remove_file(&wheel).map_err(failed)
}

/// Runs a python3 command. Its error ends with the command's own message.
fn python(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|e| format!("cannot run python3: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{command:?} failed ({})\n{}",
        output.status,
        said.trim_end()
    ))
}
