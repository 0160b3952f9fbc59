//! Records that may be missing: under another profiler, and at exit with kernels queued.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::attribution;

use super::{LIMIT, function, launches, nsight_tools, test_program};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process::{self, ReportFile};
use crate::runner;

pub(super) const QUEUED: &str = "kernels-queued";

/// Kernels queued when the process leaves, all of which finish in time, and the duration of each.
const LAUNCHES: u64 = 200;
const SPIN_NS: u64 = 1_000_000;

#[gpu_profile(name = "queued")]
fn queued(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, SPIN_NS)
}

/// Leaves with all kernels queued.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    (0..LAUNCHES)
        .try_for_each(|_| queued(&gpu, &stream))
        .map_err(&failed)?;
    // Not dropped, because that would wait for the kernels, with or without gpuprof.
    std::process::exit(0);
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = vec![at_exit(run_mode)?];
    let beside = if run_mode.simulated {
        Vec::new()
    } else {
        vec!["ncu", "nsys"]
    };
    for tool in beside {
        let what = format!("under {tool}: the program, and gpuprof's report");
        let Some(path) = nsight_tools::find(tool) else {
            rows.push(Row::unavailable(what, format!("there is no {tool} here")));
            continue;
        };
        rows.push(under(run_mode, tool, &path, what)?);
    }
    Ok(rows)
}

fn at_exit(run_mode: &RunMode) -> Result<Row, String> {
    let report = ReportFile::new(QUEUED);
    let mut command = runner::own_command(&["program", QUEUED], run_mode)?;
    command.env("GPUPROF_CUPTI", "on");
    command.env("GPUPROF_REPORT", report.setting());
    process::finished(command, LIMIT)?;
    let profile = report.read()?;
    let Some(cupti) = &profile.cupti else {
        let why = profile.diagnostics.notes.join("; ");
        return Ok(Row::unavailable("exit with kernels queued", why));
    };
    let kernels = function(&profile, "queued").map_or(0, |queued| {
        launches(&queued.activity.kernels, kernels::SPIN)
    });
    Ok(Row::judged(
        format!("exit with {LAUNCHES} kernels of 1 ms queued"),
        format!("{kernels} kernels, {} unfinished", cupti.unfinished),
        format!("{LAUNCHES} kernels, none unfinished"),
        (kernels, cupti.unfinished) == (LAUNCHES, 0),
    ))
}

/// The tool uses CUPTI exclusively, or shares it with gpuprof: then kernels are counted.
fn under(
    run_mode: &RunMode,
    tool: &str,
    path: &std::path::Path,
    what: String,
) -> Result<Row, String> {
    let mut command = runner::own_command(&["program", test_program::NAME], run_mode)?;
    command.env("GPUPROF_CUPTI", "on");
    command.env("GPUPROF_REPORT", "none");
    let report = std::env::temp_dir().join(format!("gpu-checks-{}", std::process::id()));
    let traced = match tool {
        "ncu" => nsight_tools::under_ncu(path, &command, nsight_tools::DURATION),
        _ => nsight_tools::under_nsys(path, &command, &report, &[]),
    };
    let profile = printed(traced).map_err(|error| format!("{tool}: {error}"))?;
    let long = function(&profile, "long");
    let calls = long.map_or(0, |long| long.calls);
    let said = match &profile.cupti {
        Some(_) => format!(
            "CUPTI is shared: {} kernels",
            long.map_or(0, |long| launches(&long.activity.kernels, kernels::SPIN))
        ),
        None => profile.diagnostics.notes.join("; "),
    };
    let good = calls == attribution::CALLS
        && match profile.cupti {
            Some(_) => {
                long.is_some_and(|long| launches(&long.activity.kernels, kernels::SPIN) == calls)
            }
            None => profile.diagnostics.notes.len() == 1,
        };
    Ok(Row::judged(
        what,
        format!("{calls} calls; {said}"),
        format!(
            "{} calls; all kernels, or one line with the reason",
            attribution::CALLS
        ),
        good,
    ))
}

/// The profile in the output of a program under a tool.
fn printed(traced: std::process::Command) -> Result<Profile, String> {
    let ended = process::run(traced, LIMIT).map_err(|error| error.to_string())?;
    let mut lines = ended.stdout.lines();
    let line = lines.find(|line| line.starts_with("{\"schema\""));
    match line {
        Some(line) => serde_json::from_str(line).map_err(|error| error.to_string()),
        None => Err(format!("no profile was printed: {}", ended.tail())),
    }
}
