//! Collectives in the steps that launched them, while the GPU is behind the host. The collective is
//! a spin kernel under the name of one.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::StepTimes;
use gpuprof::{Profile, gpu_profile};

use super::{launches, refusal, with_cupti};
use crate::check::{Row, RunMode};
use crate::device::{self, failed_in};
use crate::process;

pub(super) const NAME: &str = "steps";

const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// Duration of each collective, ns: longer than its launch.
const COLLECTIVE_NS: u64 = 30_000;

#[gpu_profile(name = "launches collectives")]
fn launch(
    stream: &Arc<CudaStream>,
    all_reduce: &CudaFunction,
    count: u64,
) -> Result<(), DriverError> {
    for _ in 0..count {
        let mut launch = stream.launch_builder(all_reduce);
        launch.arg(&COLLECTIVE_NS);
        // SAFETY: the time is the kernel's only parameter.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }?;
    }
    Ok(())
}

fn steps(run_mode: &RunMode) -> u64 {
    if run_mode.short { 200 } else { 20_000 }
}

/// Collectives that a step launches.
fn collectives(step: u64) -> u64 {
    step % 3
}

pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    work(steps(run_mode)).map_err(failed_in("a launch"))?;
    process::print(&gpuprof::collect())
}

fn work(steps: u64) -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let ptx = kernels::SPIN_PTX.replace(".entry spin(", &format!(".entry {ALL_REDUCE}("));
    let all_reduce = context
        .load_module(Ptx::from_src(ptx))?
        .load_function(ALL_REDUCE)?;
    for step in 1..=steps {
        launch(&stream, &all_reduce, collectives(step))?;
        gpuprof::step();
    }
    // Of a step that does not end.
    launch(&stream, &all_reduce, 2)?;
    stream.synchronize()
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let profile: Profile = with_cupti(NAME, run_mode)?;
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable("collectives of steps", why)]);
    }
    let steps = profile.steps.clone().unwrap_or_default();
    Ok(vec![by_window(&steps, run_mode), in_all(&profile, &steps)])
}

fn by_window(found: &StepTimes, run_mode: &RunMode) -> Row {
    let asked = steps(run_mode);
    let is_exact = |window: &&gpuprof::profile::StepWindow| {
        let after = window.first_step + window.steps;
        window.collectives == (window.first_step..after).map(collectives).sum::<u64>()
    };
    let exact = found.windows.iter().filter(is_exact).count();
    let width = found.windows.first().map_or(0, |window| window.steps);
    let of_windows: u64 = found.windows.iter().map(|window| window.steps).sum();
    Row::judged(
        format!("{asked} steps, which launch 1, 2, 0, … collectives of 30 µs"),
        format!(
            "{exact} of {} windows of {width} steps are exact",
            found.windows.len()
        ),
        "33 to 64 windows, all exact",
        (33..=64).contains(&found.windows.len())
            && exact == found.windows.len()
            && of_windows == asked,
    )
}

fn in_all(profile: &Profile, found: &StepTimes) -> Row {
    let rows = profile
        .kernels
        .iter()
        .filter(|kernel| kernel.symbol == ALL_REDUCE);
    let rows_ns: u64 = rows.map(|kernel| kernel.times.total_ns).sum();
    let calls = launches(&profile.kernels, ALL_REDUCE);
    let windows = found.windows.iter();
    let (of_steps, ns) = windows.fold((0, found.open_collective_ns), |(calls, ns), window| {
        (calls + window.collectives, ns + window.collective_ns)
    });
    Row::judged(
        "the same in sum",
        format!(
            "{of_steps} in steps and {} after the last one, of {calls}; {ns} ns of {rows_ns}",
            found.open_collectives
        ),
        "2 after the last step, all others in steps; the time is the same",
        found.open_collectives == 2 && of_steps + 2 == calls && ns == rows_ns,
    )
}
