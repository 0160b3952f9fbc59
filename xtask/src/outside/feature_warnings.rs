//! No feature set shows a user a warning of gpuprof's, or builds its hooks for tests.

use std::path::Path;

use super::{Profile, Program};
use crate::workspace;

const FEATURE_SETS: [&[&str]; 9] = [
    &[],
    &["serde"],
    &["enable"],
    &["enable", "nvtx"],
    &["enable", "cupti"],
    &["enable", "nvtx", "cupti"],
    &["enable", "serde"],
    &["enable", "bench"],
    &["enable", "metrics"],
];

/// Added to a program with the feature `enable`. A name from two globs is an error where it is
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

/// Builds a program outside the workspace with each feature set.
///
/// # Errors
/// A text for the user: a set that does not build, or not without a warning from this repository.
pub(crate) fn check(target: &Path) -> Result<(), String> {
    let folder = target.join("outside");
    for features in FEATURE_SETS {
        let program = Program::write(&folder.join("program"), Some(features))?;
        if features.contains(&"enable") {
            program.append(HAS_NO_TEST_HOOKS)?;
        }
        let mut build = program.build(&folder.join("target"), Profile::Debug);
        // Warnings of packages from a registry are capped, so these are ours.
        build
            .env("RUSTFLAGS", "-Dwarnings")
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        let set = features.join(" ");
        workspace::succeed(&mut build)
            .map_err(|error| format!("with the features [{set}]: {error}"))?;
        println!("a program outside the workspace with the features [{set}]: no warning");
    }
    Ok(())
}
