//! Whether gpuprof knows a run on the CPU, which is given no advice about streams: the driver is
//! loaded then, and was never initialized.

use std::process::ExitCode;
use std::time::Duration;

use gpuprof::gpu_profile;

use super::function_table::open;
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process;
use crate::runner::own_command;

const BEFORE: &str = "before cuInit";
const AFTER: &str = "after cuInit";
const LIMIT: Duration = Duration::from_secs(30);

#[gpu_profile]
fn work() {}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let ended = process::finished(own_command(&["program", "cpu-run"], run_mode)?, LIMIT)?;
    let row = |when: &str, wanted: &str| {
        let mut lines = ended.stdout.lines();
        let found = lines.find_map(|line| line.strip_prefix(when)?.strip_prefix(": "));
        let found = found.unwrap_or("not printed");
        let what = format!("a run {when} is on the");
        Row::judged(what, found, wanted, found == wanted)
    };
    Ok(vec![row(BEFORE, "CPU"), row(AFTER, "GPU")])
}

/// Prints where gpuprof takes the run to be.
pub(super) fn program(run_mode: &RunMode) -> Result<ExitCode, String> {
    if run_mode.simulated {
        device::open(run_mode)?;
    }
    // Loads the driver, as a program to which it is linked has done.
    open()?;
    work();
    let print = |when| {
        let no_cuda = gpuprof::snapshot().diagnostics.no_cuda;
        println!("{when}: {}", if no_cuda { "CPU" } else { "GPU" });
    };
    print(BEFORE);
    let _gpu = Gpu::new().map_err(failed_in("the device"))?;
    print(AFTER);
    Ok(ExitCode::SUCCESS)
}
