//! Records that arrive long after their launch, and variants of CUDA calls.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError, sys};
use gpuprof::{Profile, gpu_profile};
use serde::{Deserialize, Serialize};

use super::{function, launches, refusal, run_with_cupti};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, LaunchKernel, failed_in};
use crate::statistics::{off, time};

pub(super) const NAME: &str = "kernels-late";

/// Kernels beside the long one, and the duration of each, ns.
const BESIDE: u64 = 300;
const BESIDE_NS: u64 = 20_000;
/// Profiles made while the long kernel runs; each reads CUPTI's records.
const REPORTS: usize = 620;
/// Launches by each variant of the call.
const LAUNCHES: u64 = 10;

type Done = Result<(), DriverError>;

#[gpu_profile(name = "set up two streams")]
fn set_up() -> Result<(Gpu, [Arc<CudaStream>; 2]), DriverError> {
    let gpu = Gpu::new()?;
    let streams = [gpu.context.new_stream()?, gpu.context.new_stream()?];
    Ok((gpu, streams))
}

// Without a GPU span, for whose end a profile would wait.
#[gpu_profile(cpu, name = "runs long")]
fn long(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Done {
    gpu.spin(stream, ns)
}

#[gpu_profile(cpu, name = "runs meanwhile")]
fn beside(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    gpu.spin(stream, BESIDE_NS)
}

/// Launches through `cuLaunchKernel`, and as programs that are compiled for per-thread default
/// streams do.
#[gpu_profile(name = "variants")]
fn variants(gpu: &Gpu, stream: &Arc<CudaStream>, simulated: bool) -> Result<(), String> {
    let failed = failed_in("a launch");
    (0..LAUNCHES)
        .try_for_each(|_| gpu.spin(stream, BESIDE_NS))
        .map_err(&failed)?;
    if simulated {
        let cupti = simcupti::install().map_err(failed_in("the simulated libcupti"))?;
        cupti.launch_per_thread(true);
        return (0..LAUNCHES)
            .try_for_each(|_| gpu.spin(stream, BESIDE_NS))
            .map_err(&failed);
    }
    // SAFETY: cudarc has loaded the driver.
    let driver = unsafe { sys::culib() };
    // SAFETY: the type is the driver API's declaration.
    let launch = unsafe { driver.get::<LaunchKernel>(b"cuLaunchKernel_ptsz") };
    let launch = *launch.map_err(failed_in("cuLaunchKernel_ptsz"))?;
    (0..LAUNCHES)
        .try_for_each(|_| gpu.spin_by(launch, stream, BESIDE_NS))
        .map_err(&failed)
}

/// Duration of the long kernel, ns.
fn long_ns(run_mode: &RunMode) -> u64 {
    if run_mode.short {
        500_000_000
    } else {
        3_000_000_000
    }
}

fn reports(run_mode: &RunMode) -> usize {
    if run_mode.short {
        REPORTS / 10
    } else {
        REPORTS
    }
}

#[derive(Serialize, Deserialize)]
struct Measured {
    /// Whether the long kernel ran until the last report was made.
    is_running: bool,
    profile: Profile,
}

pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let (gpu, [a, b]) = set_up().map_err(&failed)?;
    long(&gpu, &a, long_ns(run_mode)).map_err(&failed)?;
    let end = a.record_event(None).map_err(&failed)?;
    (0..BESIDE)
        .try_for_each(|_| beside(&gpu, &b))
        .map_err(&failed)?;
    for _ in 0..reports(run_mode) {
        drop(gpuprof::collect());
    }
    let is_running = !end.try_is_complete().map_err(&failed)?;
    gpu.context.synchronize().map_err(&failed)?;
    variants(&gpu, &b, run_mode.simulated)?;
    gpu.context.synchronize().map_err(&failed)?;
    let profile = gpuprof::collect();
    let measured = serde_json::to_string(&Measured {
        is_running,
        profile,
    });
    println!("{}", measured.map_err(|error| error.to_string())?);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let measured: Measured = run_with_cupti(NAME, run_mode)?;
    let profile = &measured.profile;
    if let Some(why) = refusal(profile) {
        return Ok(vec![Row::unavailable("records of long kernels", why)]);
    }
    Ok(vec![
        row_of_long(run_mode, &measured),
        row_of_others(profile),
        row_of_variants(profile),
    ])
}

/// The number of the function's kernels, and their time in ns.
fn kernels_of(profile: &Profile, name: &str) -> (u64, u64) {
    function(profile, name).map_or((0, 0), |found| {
        let kernels = &found.activity.kernels;
        let spins = kernels.iter().find(|one| one.symbol == kernels::SPIN);
        let ns = spins.map_or(0, |spins| spins.times.total_ns);
        (launches(kernels, kernels::SPIN), ns)
    })
}

fn row_of_long(run_mode: &RunMode, measured: &Measured) -> Row {
    let (kernels, ns) = kernels_of(&measured.profile, "runs long");
    let wanted_ns = long_ns(run_mode) as f64;
    let reports = reports(run_mode);
    let is_timed = off(ns as f64, wanted_ns).abs() < 0.005;
    Row::judged(
        format!(
            "a kernel of {}, and {reports} reports meanwhile",
            time(wanted_ns)
        ),
        format!(
            "{kernels} kernel of {}; {} at the last report",
            time(ns as f64),
            if measured.is_running {
                "runs"
            } else {
                "is over"
            }
        ),
        "1 kernel of that time, within 0.5 %; runs at the last report",
        // On the simulated device reports take as long as the host does.
        kernels == 1 && is_timed && (measured.is_running || run_mode.simulated),
    )
}

fn row_of_others(profile: &Profile) -> Row {
    let (kernels, ns) = kernels_of(profile, "runs meanwhile");
    let cupti = profile.cupti.clone().unwrap_or_default();
    Row::judged(
        format!("{BESIDE} kernels on another stream meanwhile"),
        format!(
            "{kernels} kernels, {}; {} outside every function, {} without their call",
            time(ns as f64),
            cupti.unattributed,
            cupti.records_without_call
        ),
        format!("{BESIDE} kernels; 0 outside, 0 without their call"),
        (kernels, cupti.unattributed, cupti.records_without_call) == (BESIDE, 0, 0),
    )
}

fn row_of_variants(profile: &Profile) -> Row {
    let Some(found) = function(profile, "variants") else {
        return Row::judged("variants of a call", "missing", "a function", false);
    };
    let rows = found.activity.api.iter();
    let rows = rows.filter(|row| row.name.starts_with("cuLaunchKernel"));
    let rows: Vec<_> = rows.map(|row| (&*row.name, row.times.calls)).collect();
    let shown = rows.iter().map(|(name, calls)| format!("{name} {calls}"));
    let shown: Vec<_> = shown.collect();
    let kernels = kernels_of(profile, "variants").0;
    let all = 2 * LAUNCHES;
    Row::judged(
        format!("{LAUNCHES} launches by cuLaunchKernel, {LAUNCHES} by cuLaunchKernel_ptsz"),
        format!("{}; {kernels} kernels", shown.join(", ")),
        format!("cuLaunchKernel {all}; {all} kernels"),
        rows == [("cuLaunchKernel", all)] && kernels == all,
    )
}
