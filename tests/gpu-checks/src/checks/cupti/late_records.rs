//! Records that arrive long after their launch, and variants of CUDA calls.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError, sys};
use gpuprof::{Profile, gpu_profile};
use promises::{Tolerance, kernels_of, late_records};
use serde::{Deserialize, Serialize};

use super::{function, refusal, with_cupti};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, LaunchKernel, TOLERANCE, failed_in};
use crate::process;

pub(super) const NAME: &str = "kernels-late";

/// How long the kernels beside the long one may take in sum: CUPTI lengthens kernels of 20 µs.
const BESIDE_WITHIN: Tolerance = Tolerance {
    longer: 0.1,
    longer_ns: 0,
    shorter_ns: 600_000,
    ..TOLERANCE
};
/// Profiles made while the long kernel runs; each reads CUPTI's records.
const REPORTS: usize = 620;
/// Launches by each variant of the call, and the kernel of each, ns.
const LAUNCHES: u64 = 10;
const VARIANT_NS: u64 = 20_000;

#[gpu_profile(name = "set up two streams")]
fn set_up() -> Result<(Gpu, [Arc<CudaStream>; 2]), DriverError> {
    let gpu = Gpu::new()?;
    let streams = [gpu.context.new_stream()?, gpu.context.new_stream()?];
    Ok((gpu, streams))
}

/// Launches through `cuLaunchKernel`, and as programs that are compiled for per-thread default
/// streams do.
#[gpu_profile(name = "variants")]
fn variants(gpu: &Gpu, stream: &Arc<CudaStream>, simulated: bool) -> Result<(), String> {
    let failed = failed_in("a launch");
    (0..LAUNCHES)
        .try_for_each(|_| gpu.spin(stream, VARIANT_NS))
        .map_err(&failed)?;
    if simulated {
        let cupti = simcupti::install().map_err(failed_in("the simulated libcupti"))?;
        cupti.launch_per_thread(true);
        return (0..LAUNCHES)
            .try_for_each(|_| gpu.spin(stream, VARIANT_NS))
            .map_err(&failed);
    }
    // SAFETY: cudarc has loaded the driver.
    let driver = unsafe { sys::culib() };
    // SAFETY: the type is the driver API's declaration.
    let launch = unsafe { driver.get::<LaunchKernel>(b"cuLaunchKernel_ptsz") };
    let launch = *launch.map_err(failed_in("cuLaunchKernel_ptsz"))?;
    (0..LAUNCHES)
        .try_for_each(|_| gpu.spin_by(launch, stream, VARIANT_NS))
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
    let is_running = late_records::work(&gpu, [&a, &b], long_ns(run_mode), reports(run_mode));
    let is_running = is_running.map_err(&failed)?;
    variants(&gpu, &b, run_mode.simulated)?;
    gpu.context.synchronize().map_err(&failed)?;
    let profile = gpuprof::collect();
    process::print(&Measured {
        is_running,
        profile,
    })
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let measured: Measured = with_cupti(NAME, run_mode)?;
    let profile = &measured.profile;
    if let Some(why) = refusal(profile) {
        return Ok(vec![Row::unavailable("records of long kernels", why)]);
    }
    let long_ns = long_ns(run_mode);
    let within = Tolerance {
        longer: 0.005,
        longer_ns: 0,
        shorter_ns: long_ns / 200,
        ..TOLERANCE
    };
    // On the simulated device reports take as long as the host does.
    let is_running = measured.is_running || run_mode.simulated;
    let asked = (long_ns, reports(run_mode));
    let observed = late_records::observe(profile, asked, is_running, [within, BESIDE_WITHIN]);
    let mut rows: Vec<_> = observed.into_iter().map(Row::from).collect();
    rows.push(row_of_variants(profile));
    Ok(rows)
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
    let kernels = kernels_of(profile, "variants").launches;
    let all = 2 * LAUNCHES;
    Row::judged(
        format!("{LAUNCHES} launches by cuLaunchKernel, {LAUNCHES} by cuLaunchKernel_ptsz"),
        format!("{}; {kernels} kernels", shown.join(", ")),
        format!("cuLaunchKernel {all}; {all} kernels"),
        rows == [("cuLaunchKernel", all)] && kernels == all,
    )
}
