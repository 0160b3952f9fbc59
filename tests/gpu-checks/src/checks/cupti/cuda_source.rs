//! The programs in CUDA C of the pack, which a machine with a CUDA toolkit compiles.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::nsight_tools;
use crate::check::{Row, RunMode};
use crate::checks::installed::{self, Installed};
use crate::process;

const LIMIT: Duration = Duration::from_secs(120);

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
    let ended = process::run(compiler, LIMIT).map_err(|error| error.to_string())?;
    match ended.failure() {
        Some(trouble) => Err(format!("nvcc: {trouble}\n{}", ended.tail())),
        None => Ok(Ok((installed, program))),
    }
}
