//! The programs in CUDA C of the pack, which a machine with a CUDA toolkit compiles.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use gpuprof::Profile;

use super::{nsight_tools, refusal};
use crate::check::{Row, RunMode};
use crate::checks::installed::{self, Installed};
use crate::process;

const LIMIT: Duration = Duration::from_secs(120);

/// A program in CUDA C that has run under `gpuprof run`.
pub(super) struct Profiled {
    /// Its folder has the program, and is removed with this value.
    pub(super) installed: Installed,
    pub(super) program: PathBuf,
    pub(super) profile: Profile,
}

/// Runs a program with these options of the command and arguments, for what a row says.
///
/// # Errors
/// As [`prepare`], or the program fails. `Ok(Err(row))`: also if CUPTI records no kernels.
pub(super) fn profiled(
    name: &str,
    what: &str,
    options: &[&str],
    arguments: &[&OsStr],
    limit: Duration,
    run_mode: &RunMode,
) -> Result<Result<Profiled, Row>, String> {
    let (installed, program) = match prepare(name, run_mode)? {
        Ok(prepared) => prepared,
        Err(row) => return Ok(Err(row)),
    };
    let (ended, profile) = installed.profile(options, &program, arguments, limit, run_mode)?;
    if let Some(trouble) = ended.failure() {
        return Err(format!("{trouble}\n{}", ended.tail()));
    }
    Ok(match refusal(&profile) {
        Some(why) => Err(Row::unavailable(what, why)),
        None => Ok(Profiled {
            installed,
            program,
            profile,
        }),
    })
}

/// The command, and a program in CUDA C with line information.
///
/// # Errors
/// The source does not compile. `Ok(Err(row))`: this machine has no compiler, or no GPU.
pub(super) fn prepare(
    name: &str,
    run_mode: &RunMode,
) -> Result<Result<(Installed, PathBuf), Row>, String> {
    let unavailable = |why: &str| Ok(Err(Row::unavailable(name, why)));
    if run_mode.simulated {
        return unavailable("simulated device: it runs no CUDA C");
    }
    let file = format!("{name}.cu");
    let Some((installed, source)) = Installed::with_file(&file, run_mode)? else {
        return unavailable(installed::NOT_IN_A_PACK);
    };
    let Some(nvcc) = nsight_tools::find("nvcc") else {
        return unavailable("there is no nvcc here");
    };
    let program = installed.folder().join(name);
    let mut compiler = Command::new(nvcc);
    compiler.args(["-O3", "-arch=native", "-lineinfo", "-o"]);
    compiler.arg(&program).arg(&source);
    process::finished(compiler, LIMIT).map_err(|error| format!("nvcc: {error}"))?;
    Ok(Ok((installed, program)))
}
