//! With what is published, no feature set shows a user a warning of gpuprof's or builds its hooks
//! for tests, and a program prints its table.

use super::packages::Packages;
use super::{Profile, Program};
use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const FEATURE_SETS: [&[&str]; 9] = [
    &[],
    &["serde"],
    &["enable"],
    &["enable", "nvtx"],
    &["enable", "cupti"],
    &["enable", "serde"],
    &["enable", "bench"],
    &["enable", "metrics"],
    // The last: this program is run.
    &[
        "bench", "cupti", "html", "metrics", "nvtx", "pprof", "serde", "trace", "tracing",
    ],
];

/// Added to a program that measures. A name from two globs is an error where it is
/// used, so the program builds only if gpuprof has no test hooks.
const HAS_NO_TEST_HOOKS: &str = r"
mod hooks {
    pub fn drive_clock() {}
    pub fn replace_driver_functions() {}
}

const _: [fn(); 2] = {
    #[allow(unused_imports)]
    use gpuprof::__private::*;
    use hooks::*;
    [drive_clock, replace_driver_functions]
};
";

/// `cargo xtask packages`: the check alone.
///
/// # Errors
/// As those of [`check`].
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask packages".into());
    }
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    check(&Workspace::load()?)
}

/// Builds a program outside the workspace with each feature set, from the packages that are
/// published, and runs the last one.
///
/// # Errors
/// A text for the user: a set that does not build, or not without a warning from this repository;
/// or no table.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.target.join("outside");
    let target = folder.join("target");
    let packages = Packages::unpack(workspace)?;
    let mut last = None;
    for features in FEATURE_SETS {
        let program = Program::write(&folder.join("program"), Some(features))?;
        program.use_registry()?;
        if features.iter().any(|feature| *feature != "serde") {
            program.append_to("src/main.rs", HAS_NO_TEST_HOOKS)?;
        }
        let mut build = program.build(&target, Profile::Debug);
        build.arg("--config").arg(packages.patch());
        // Warnings of packages from a registry are capped, so these are ours.
        build
            .env("RUSTFLAGS", "-Dwarnings")
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        let set = features.join(" ");
        workspace::succeed(&mut build)
            .map_err(|error| format!("with the features [{set}]: {error}"))?;
        println!("a program outside the workspace with the features [{set}]: no warning");
        last = Some(build);
    }
    packages.run(&target.join("debug/outside"), &target)?;
    let mut build = last.ok_or("there is no feature set")?;
    packages.check_libclang_lines(&mut build, &target)
}
