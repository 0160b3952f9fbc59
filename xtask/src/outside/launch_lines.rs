//! The lines of a stranger's launches, without a GPU: in folders, and in crates, that are called
//! like what is no program's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{MAIN, Profile, Program};
use crate::sim;
use crate::workspace;

/// Folders, and the names of the packages in them. A package cannot have the name of one that it
/// depends on.
const FOLDERS: [(&str, &str); 5] = [
    ("gpuprof", "outside"),
    ("cudarc", "outside"),
    ("tokio", "tokio"),
    ("tracing", "tracing"),
    ("candle-core", "candle-core"),
];

/// Runs a program in each of these folders, as `cargo xtask sim -- gpuprof run --cupti --stacks`
/// does.
///
/// # Errors
/// A text for the user: a program that does not build or run, or a launch without its line.
pub(crate) fn check(target: &Path) -> Result<(), String> {
    let mut build = workspace::cargo(["build", "--quiet", "--package", "gpuprof-cli"]);
    workspace::succeed(&mut build)?;
    let outside = target.join("outside");
    let run = Run {
        gpuprof: target.join("debug/gpuprof"),
        libraries: sim::libraries()?,
        profile: outside.join("profile.json"),
    };
    for (folder, package) in FOLDERS {
        let features = Some(&["enable", "cupti"][..]);
        let program = Program::write_as(package, &outside.join(folder), features)?;
        let target = outside.join("target");
        let mut build = program.build(&target, Profile::Debug);
        build.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        workspace::succeed(&mut build)?;
        run.check(&target.join("debug").join(package), folder)?;
        println!("a launch in a folder {folder}, of the package {package}: has its line");
    }
    Ok(())
}

struct Run {
    gpuprof: PathBuf,
    /// The simulated ones.
    libraries: PathBuf,
    profile: PathBuf,
}

impl Run {
    fn check(&self, program: &Path, folder: &str) -> Result<(), String> {
        let report = format!("json={}", self.profile.display());
        let mut run = Command::new(&self.gpuprof);
        workspace::neutral(&mut run);
        run.env("LD_LIBRARY_PATH", &self.libraries);
        run.args(["run", "--cupti", "--stacks", "--report", &report, "--"]);
        workspace::succeed(run.arg(program))?;
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.profile.display());
        let text = fs::read_to_string(&self.profile).map_err(|error| failed(&error))?;
        let profile: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        let line = &profile["kernels"][0]["launch_lines"][0];
        let found = json!([
            line["file"],
            line["line"],
            line["calls"],
            line["in_framework"]
        ]);
        let file = format!("{folder}/src/main.rs");
        let of_launch = MAIN
            .lines()
            .position(|line| line.ends_with("// The launch."));
        let expected = json!([file, of_launch.map(|at| at + 1), 1, null]);
        if found == expected {
            Ok(())
        } else {
            Err(format!(
                "the launch of {} is at {found}, expected {expected}: {line}",
                program.display()
            ))
        }
    }
}
