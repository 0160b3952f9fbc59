//! `cargo xtask nsys profile`: the ranges of a program, as a report and its summary.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::unpack::{self, Unpacked};
use crate::workspace::{self, Workspace};

/// Records the ranges of a program into `PROGRAM.nsys-rep` in the current folder and prints their
/// summary.
///
/// # Errors
/// A text for the user: Nsight Systems is unavailable, or it or the program failed.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let unpacked = unpack::ensure(&Workspace::load()?.target)?;
    if program.contains('/') && !Path::new(program).exists() {
        return Err(format!("there is no {program}"));
    }
    let here =
        env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let stem = here.join(program.rsplit('/').next().unwrap_or(program));
    let (recorded, report) = (
        stem.with_extension("qdstrm"),
        stem.with_extension("nsys-rep"),
    );
    for old in [&recorded, &report] {
        if old.exists() {
            fs::remove_file(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    let mut record = Command::new(&unpacked.nsys);
    // CPU sampling needs a permission, and recording ranges does not need sampling.
    record.args([
        "profile",
        "--trace=nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        "--output",
    ]);
    workspace::succeed(record.arg(&stem).arg(program).args(arguments))?;
    // nsys 2022.4 of Debian does not find its importer and then writes no report.
    if !report.exists() {
        let mut import = with_libraries(&unpacked, &unpacked.importer);
        workspace::succeed(import.arg("-i").arg(&recorded))?;
        fs::remove_file(&recorded).map_err(|error| format!("{}: {error}", recorded.display()))?;
    }
    let mut summary = with_libraries(&unpacked, &unpacked.nsys);
    summary.args([
        "stats",
        "--quiet",
        "--force-export=true",
        "--report",
        "nvtxsum",
    ]);
    workspace::succeed(summary.arg(&report))?;
    println!("open it with: nsys-ui {}", report.display());
    Ok(())
}

fn with_libraries(unpacked: &Unpacked, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", &unpacked.libraries);
    command
}
