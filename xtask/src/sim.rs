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

/// The names by which programs look for the libraries, and what cargo calls the simulated ones.
const LIBRARIES: [(&str, &str); 3] = [
    ("libcuda.so", "libsimcuda.so"),
    ("libcuda.so.1", "libsimcuda.so"),
    ("libcupti.so.13", "libsimcupti.so"),
];

/// Builds the simulated driver and libcupti and replaces this process by PROGRAM, with both first
/// in its library path.
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
    let folder = libraries()?;
    eprintln!("xtask: {program} runs on the simulated device; its GPU times are modelled");
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("LD_LIBRARY_PATH", library_path(&folder)?);
    Err(format!("cannot run {program}: {}", command.exec()))
}

/// Builds the simulated libraries and returns a folder that has them under the real names.
pub(crate) fn libraries() -> Result<PathBuf, String> {
    // A release build, because kernels are computed on the host.
    let packages = ["--package", "simcuda", "--package", "simcupti"];
    let mut build = workspace::cargo(["build", "--quiet", "--release"]);
    workspace::succeed(build.args(packages))?;
    let target = Workspace::load()?.target;
    link_libraries(&target.join("release"), &target.join("sim"))
}

/// Makes a folder with links to the libraries in `built` under the real ones' file names.
fn link_libraries(built: &Path, folder: &Path) -> Result<PathBuf, String> {
    let failed = |error| format!("cannot prepare {}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    for (name, file) in LIBRARIES {
        let (link, library) = (folder.join(name), built.join(file));
        if fs::read_link(&link).is_ok_and(|to| to == library) {
            continue;
        }
        if link.symlink_metadata().is_ok() {
            fs::remove_file(&link).map_err(failed)?;
        }
        symlink(library, &link).map_err(failed)?;
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
    fn libraries_are_linked_by_all_names_and_again_when_they_moved() {
        let folder = tempfile::tempdir().expect("a folder");
        for built in ["/first", "/second"].map(Path::new) {
            let made = link_libraries(built, &folder.path().join("sim")).expect("links");
            for (name, file) in LIBRARIES {
                let link = fs::read_link(made.join(name)).expect("a link");
                assert_eq!(link, built.join(file));
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
