//! `cargo xtask sim`: runs any cudarc program on the simulated device, unchanged.
//!
//! It shows what a program does without a GPU, and tests the simulator with programs that were not
//! written for it.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask sim -- PROGRAM [ARG]...";

/// The names by which CUDA programs look for the driver.
const DRIVER_NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// Builds the simulated driver and replaces this process by PROGRAM, with that driver first in its
/// library path.
///
/// # Errors
/// A text for the user: no program given, the simulator does not build, or the program cannot be
/// started. Once it has started, its exit status is this command's.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let arguments = match arguments {
        [dashes, rest @ ..] if dashes == "--" => rest,
        rest => rest,
    };
    let Some((program, rest)) = arguments.split_first() else {
        return Err(USAGE.into());
    };
    if program.starts_with('-') {
        return Err(USAGE.into());
    }
    // A release build, because kernels are computed on the host.
    let mut build = workspace::cargo(["build", "--quiet", "--release", "--package", "simcuda"]);
    workspace::succeed(&mut build)?;
    let target = Workspace::load()?.target;
    let folder = make_driver_folder(&target.join("release/libsimcuda.so"), &target.join("sim"))?;
    eprintln!("xtask: {program} runs on the simulated device; its GPU times are modelled");
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("LD_LIBRARY_PATH", library_path(&folder)?);
    Err(format!("cannot run {program}: {}", command.exec()))
}

/// Makes a folder with links to the simulated driver under the real driver's file names.
fn make_driver_folder(driver: &Path, folder: &Path) -> Result<PathBuf, String> {
    let failed = |error| format!("cannot prepare {}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    for name in DRIVER_NAMES {
        let link = folder.join(name);
        if fs::read_link(&link).is_ok_and(|to| to == driver) {
            continue;
        }
        if link.symlink_metadata().is_ok() {
            fs::remove_file(&link).map_err(failed)?;
        }
        symlink(driver, &link).map_err(failed)?;
    }
    Ok(folder.into())
}

/// The caller's library path with `folder` in front.
fn library_path(folder: &Path) -> Result<std::ffi::OsString, String> {
    let known = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let known = env::split_paths(&known).filter(|path| !path.as_os_str().is_empty());
    env::join_paths(std::iter::once(folder.into()).chain(known))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_linked_by_both_names_and_again_when_it_moved() {
        let folder = tempfile::tempdir().expect("a folder");
        for driver in ["/first/libsimcuda.so", "/second/libsimcuda.so"] {
            let made =
                make_driver_folder(Path::new(driver), &folder.path().join("sim")).expect("links");
            for name in DRIVER_NAMES {
                assert_eq!(
                    fs::read_link(made.join(name)).expect("a link"),
                    Path::new(driver)
                );
            }
        }
    }

    #[test]
    fn a_program_must_be_named() {
        for arguments in [&[][..], &["--".into()], &["--help".into()]] {
            assert_eq!(run(arguments), Err(USAGE.into()));
        }
    }
}
