//! The source lines of launches: through cudarc, through cuBLAS, in a graph, outside any function
//! and of a recursion; and what the samples cost.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use cudarc::cublas::{CudaBlas, Gemm, sys as cublas};
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{KernelStats, LaunchLine};
use gpuprof::{Profile, gpu_profile};
use serde::{Deserialize, Serialize};

use super::test_program::square_product;
use super::{LIMIT, function, refusal};
use crate::check::{Row, RunMode};
use crate::device::{self, failed_in};
use crate::statistics::time;
use crate::{process, runner};

pub(super) const NAME: &str = "stacks";

/// Launches by each way.
const LAUNCHES: u64 = 20;
/// The first launches of a kernel on a call path, which are always sampled.
const FIRST: u64 = 4;
/// Launches of one kernel on one call path: the budget decides which of them are sampled.
const MANY: u64 = 20_000;
const SIDE: usize = 64;
/// More frames than are recorded.
const DEPTH: u32 = 200;

type Done = Result<(), DriverError>;

struct Spin {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    ns: u64,
}

/// Launches the kernel at the line of the caller.
#[collapse_debuginfo(yes)]
macro_rules! launch {
    ($spin:expr, $stream:expr) => {{
        let mut launch = $stream.launch_builder(&$spin.kernel);
        launch.arg(&$spin.ns);
        // SAFETY: the duration is the kernel's only parameter.
        unsafe { launch.launch(config()) }.map(drop)
    }};
}

fn config() -> LaunchConfig {
    let kernels::Geometry { grid, block } = kernels::spin_geometry();
    LaunchConfig {
        grid_dim: grid,
        block_dim: block,
        shared_mem_bytes: 0,
    }
}

#[inline(never)]
#[gpu_profile(name = "annotated", stream = spin.stream)]
fn annotated(spin: &Spin) -> Done {
    launch!(spin, spin.stream)
}

#[inline(never)]
#[gpu_profile(name = "captured")]
fn captured(stream: &Arc<CudaStream>, spin: &Spin) -> Done {
    launch!(spin, stream)
}

#[inline(never)]
fn outside(spin: &Spin) -> Done {
    launch!(spin, spin.stream)
}

#[inline(never)]
#[gpu_profile(name = "deep", stream = spin.stream)]
fn deep(spin: &Spin) -> Done {
    descend(spin, DEPTH)
}

#[inline(never)]
fn descend(spin: &Spin, depth: u32) -> Done {
    match depth {
        0 => launch!(spin, spin.stream),
        // What follows keeps this from being a loop.
        _ => descend(spin, depth - 1).and_then(|()| std::hint::black_box(Ok(()))),
    }
}

#[inline(never)]
#[gpu_profile(name = "many", stream = spin.stream)]
fn many(spin: &Spin) -> Done {
    (0..MANY).try_for_each(|_| launch!(spin, spin.stream))
}

#[inline(never)]
#[gpu_profile(name = "product")]
fn product(
    _stream: &Arc<CudaStream>,
    blas: &CudaBlas,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), String> {
    // SAFETY: all three matrices hold SIDE times SIDE elements.
    unsafe { blas.gemm(square_product(SIDE), x, x, y) }.map_err(|error| error.to_string())
}

/// What the program prints.
#[derive(Serialize, Deserialize)]
struct Printed {
    profile: Profile,
    /// CPU time of a launch among many, ns.
    launch_ns: f64,
    /// Time to make the profile, which looks the stacks up, ns.
    profile_ns: f64,
}

pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let (spin, launch_ns) = work().map_err(failed_in("a launch"))?;
    // SAFETY: loading cuBLAS runs its initialisers, which are meant for that. It cannot work on the
    // simulated device.
    if !run_mode.simulated && unsafe { cublas::is_culib_present() } {
        products(&spin.stream)?;
    }
    spin.stream.synchronize().map_err(failed_in("a kernel"))?;
    let began = Instant::now();
    let profile = gpuprof::collect();
    let printed = Printed {
        profile,
        launch_ns,
        profile_ns: began.elapsed().as_nanos() as f64,
    };
    process::print(&printed)
}

fn products(stream: &Arc<CudaStream>) -> Result<(), String> {
    let failed = failed_in("memory");
    let blas = CudaBlas::new(Arc::clone(stream)).map_err(|error| error.to_string())?;
    let x = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
    let mut y = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
    (0..LAUNCHES).try_for_each(|_| product(stream, &blas, &x, &mut y))
}

fn work() -> Result<(Spin, f64), DriverError> {
    let context = CudaContext::new(0)?;
    let module = context.load_module(Ptx::from_src(kernels::SPIN_PTX))?;
    let spin = Spin {
        stream: context.new_stream()?,
        kernel: module.load_function(kernels::SPIN)?,
        ns: 0,
    };
    for _ in 0..LAUNCHES {
        annotated(&spin)?;
        outside(&spin)?;
        deep(&spin)?;
    }
    let stream = context.new_stream()?;
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let inside = captured(&stream, &spin);
    let graph = stream.end_capture(Flags(0));
    inside?;
    let graph = graph?.expect("a stream that was being captured gives a graph");
    (0..LAUNCHES).try_for_each(|_| graph.launch())?;
    context.synchronize()?;
    let began = Instant::now();
    many(&spin)?;
    let launch_ns = began.elapsed().as_nanos() as f64 / MANY as f64;
    context.synchronize()?;
    Ok((spin, launch_ns))
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let cupti = ("GPUPROF_CUPTI", "on");
    let with: Printed = runner::answer(NAME, run_mode, LIMIT, &[cupti, ("GPUPROF_STACKS", "on")])?;
    if let Some(why) = refusal(&with.profile) {
        return Ok(vec![Row::unavailable("lines of launches", why)]);
    }
    let without: Printed = runner::answer(NAME, run_mode, LIMIT, &[cupti])?;
    let profile = &with.profile;
    let mut rows = vec![
        line_row(profile, "annotated", "annotated", FIRST),
        line_row(profile, "captured", "captured", LAUNCHES),
        line_row(profile, "deep", "descend", FIRST),
        outside_row(profile),
        budget_row(profile),
    ];
    rows.push(match function(profile, "product") {
        Some(of) if of.calls > 0 => line_row(profile, "product", "product", FIRST),
        _ => Row::unavailable("launches of cuBLAS", "it is not installed"),
    });
    let [on, off] = [&with, &without].map(|printed| time(printed.launch_ns));
    rows.push(Row::info(
        "CPU time of a launch among many, with and without stacks",
        format!("{on}, {off}"),
    ));
    rows.push(Row::info(
        "time to make the profile, with and without stacks",
        format!("{}, {}", time(with.profile_ns), time(without.profile_ns)),
    ));
    Ok(rows)
}

/// Whether a line is of a function of this file, and has its place unless the program has no debug
/// information.
fn is_here(line: &LaunchLine, name: &str) -> bool {
    let short = line.function.rsplit("::").next();
    let is_named = short.is_some_and(|short| short == name);
    let file = line.file.as_deref();
    is_named && file.is_none_or(|file| file.ends_with("src/checks/cupti/stacks.rs"))
}

fn shown(lines: &[LaunchLine]) -> String {
    let lines = lines.iter().map(|line| format!("{line} ({}x)", line.calls));
    let lines: Vec<String> = lines.collect();
    lines.join(", ")
}

fn line_row(profile: &Profile, name: &str, launcher: &str, wanted: u64) -> Row {
    let kernels = function(profile, name).map(|of| &of.activity.kernels[..]);
    let kernels: &[KernelStats] = kernels.unwrap_or_default();
    let lines: Vec<LaunchLine> = kernels
        .iter()
        .flat_map(|kernel| kernel.launch_lines.iter().cloned())
        .collect();
    let sampled: u64 = lines.iter().map(|line| line.calls).sum();
    let is_here = lines.iter().all(|line| is_here(line, launcher));
    // cuBLAS may launch several kernels for a product.
    Row::judged(
        format!("lines of the kernels in `{name}`"),
        shown(&lines),
        format!("`{launcher}` alone, at least {wanted}x"),
        is_here && sampled >= wanted,
    )
}

fn outside_row(profile: &Profile) -> Row {
    let lines = profile.stacks.iter().flat_map(|of| &of.unattributed);
    let lines: Vec<LaunchLine> = lines.cloned().collect();
    // `products` clears its memory.
    let (outside, others): (Vec<&LaunchLine>, Vec<_>) =
        lines.iter().partition(|line| is_here(line, "outside"));
    let is_here = others.iter().all(|line| is_here(line, "products"));
    let found: u64 = outside.iter().map(|line| line.calls).sum();
    Row::judged(
        "lines of what is launched outside any profiled function",
        shown(&lines),
        format!("`outside` {FIRST}x to {LAUNCHES}x, else `products`"),
        is_here && (FIRST..=LAUNCHES).contains(&found),
    )
}

fn budget_row(profile: &Profile) -> Row {
    let kernels = function(profile, "many").map(|of| &of.activity.kernels[..]);
    let lines = kernels.unwrap_or_default().iter();
    let lines = lines.flat_map(|kernel| &kernel.launch_lines);
    let sampled: u64 = lines.map(|line| line.calls).sum();
    Row::judged(
        "launches among many of one kernel that were sampled",
        format!("{sampled} of {MANY}"),
        format!("more than {FIRST}, and not all"),
        (FIRST + 1..MANY).contains(&sampled),
    )
}
