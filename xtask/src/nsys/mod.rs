//! `cargo xtask nsys`: Nsight Systems, unpacked into the target folder.
//!
//! Installing its packages would install NVIDIA driver libraries too, which can break a machine
//! that has NVIDIA's own. `tests/suite/nvtx/nsight` compares its reports with gpuprof's.

mod apt_sources;
mod profile;
mod unpack;

use std::path::PathBuf;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask nsys [setup | test | profile PROGRAM [ARG]...]";

/// The variable that names the folder of Nsight Systems for the tests.
const FOLDER: &str = "GPUPROF_TEST_NSYS";

/// Unpacks Nsight Systems; then compares its reports with gpuprof's, or profiles a program.
///
/// # Errors
/// A text for the user: a wrong argument, why Nsight Systems is unavailable, or what
/// failed.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["setup"] => {
            println!(
                "{}",
                unpack::ensure(&Workspace::load()?.target)?.nsys.display()
            );
            Ok(())
        }
        ["test"] => test(),
        ["profile", program, rest @ ..] if !program.starts_with('-') => profile::run(program, rest),
        _ => Err(USAGE.into()),
    }
}

/// Unpacks Nsight Systems and returns the variable that names its folder for the tests.
///
/// # Errors
/// A text for the user: why it is unavailable here.
pub(crate) fn test_variable(workspace: &Workspace) -> Result<(&'static str, PathBuf), String> {
    Ok((FOLDER, unpack::ensure(&workspace.target)?.folder))
}

fn test() -> Result<(), String> {
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    let (name, folder) = test_variable(&Workspace::load()?)?;
    let packages = ["--workspace"];
    let mut examples = workspace::cargo(["build", "--examples"]);
    workspace::succeed(examples.args(packages))?;
    let mut test = workspace::cargo(["test", "--test", "nvtx"]);
    test.args(packages).args(["--", "nsight"]);
    workspace::neutral(&mut test);
    workspace::succeed(test.env(name, folder))
}
