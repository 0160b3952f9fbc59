//! `cargo xtask install`: the command `gpuprof`, and the library that it injects, which cargo does
//! not install.

mod installed_command_test;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask install [--prefix FOLDER | test]";

/// Where each file goes, below the prefix. The command looks for the library relative to itself.
const FILES: [(&str, &str); 3] = [
    ("gpuprof", "bin"),
    ("cargo-gpuprof", "bin"),
    ("libgpuprof_inject.so", "lib/gpuprof"),
];

/// Builds and installs, or tests what it installs.
///
/// # Errors
/// A text for the user: wrong arguments, a build that fails, a file that cannot be written, or what
/// the test has found.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => install(&default_prefix()?),
        [option, prefix] if option == "--prefix" => install(Path::new(prefix)),
        [test] if test == "test" => installed_command_test::run(install),
        _ => Err(USAGE.into()),
    }
}

/// Where cargo installs programs, whose `bin` is in the `PATH` of most users of Rust.
fn default_prefix() -> Result<PathBuf, String> {
    let stated = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || Some(Path::new(&env::var_os("HOME")?).join(".cargo"));
    let prefix = stated.or_else(home);
    prefix.ok_or_else(|| format!("HOME is not set; {USAGE}"))
}

fn install(prefix: &Path) -> Result<(), String> {
    // A folder of its own: other builds have the hooks of tests.
    let target = Workspace::load()?.target.join("install");
    let packages = ["--package", "gpuprof-cli", "--package", "gpuprof-inject"];
    let mut build = workspace::cargo(["build", "--release", "--locked"]);
    build
        .args(packages)
        .args(["--features", "gpuprof-inject/html"]);
    build.arg("--target-dir").arg(&target);
    workspace::succeed(workspace::without_test_hooks(&mut build))?;
    let built = target.join("release");
    for (file, folder) in FILES {
        let folder = prefix.join(folder);
        let to = folder.join(file);
        place(&built.join(file), &folder, &to)
            .map_err(|error| format!("cannot install {}: {error}", to.display()))?;
        println!("installed {}", to.display());
    }
    let bin = prefix.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|folder| folder == bin) {
        println!("{} is not in PATH: add it", bin.display());
    }
    Ok(())
}

/// Replaces the file as a whole: a program may run it at present.
fn place(from: &Path, folder: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let new = folder.join(format!(".gpuprof-{}.new", std::process::id()));
    let placed = fs::copy(from, &new).and_then(|_| fs::rename(&new, to));
    if placed.is_err() {
        let _ = fs::remove_file(&new);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_the_usage() {
        for arguments in [&["--prefix"][..], &["--perfix", "/opt"], &["a", "b", "c"]] {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            assert_eq!(run(&arguments), Err(USAGE.into()));
        }
    }

    #[test]
    fn a_file_is_replaced_with_its_rights() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a folder");
        let (from, bin) = (folder.path().join("built"), folder.path().join("a/bin"));
        fs::write(&from, "new").expect("a file");
        fs::set_permissions(&from, fs::Permissions::from_mode(0o755)).expect("ours");
        let to = bin.join("gpuprof");
        for _ in 0..2 {
            place(&from, &bin, &to).expect("installed");
            assert_eq!(fs::read_to_string(&to).expect("a file"), "new");
            let mode = fs::metadata(&to).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
            assert_eq!(fs::read_dir(&bin).expect("a folder").count(), 1);
            fs::write(&to, "old").expect("a file");
        }
    }
}
