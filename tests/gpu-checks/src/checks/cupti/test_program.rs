//! The program under test: functions with known kernels, copies and gaps, a graph, and matrix
//! products by cuBLAS.
//!
//! CUPTI records from the start, including set-up, so that another tool counts the same launches.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::cublas::{CudaBlas, Gemm, GemmConfig, sys};
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use super::{copied, function, launches};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::statistics::{off, percent, performance, time};

pub(super) const NAME: &str = "kernels";

/// Calls per function.
pub(super) const CALLS: u64 = 20;
/// Duration of the long spin kernel, ns.
pub(super) const LONG_NS: u64 = 1_000_000;
const SHORT_NS: u64 = 200_000;
/// Host time between the two launches of `gap`.
const GAP: Duration = Duration::from_millis(2);
/// Elements per copy.
const LEN: usize = 1 << 20;
/// Kernels per graph, and launches outside every function.
const NODES: u64 = 3;
const OUTSIDE: u64 = 7;
/// Side of the multiplied matrices.
const SIDE: usize = 256;
/// More than an event takes.
const EVENT_NS: u64 = 3_000;
/// Accepted relative error of a kernel's time.
const WANTED_TIME: f64 = 0.005;

type Done = Result<(), DriverError>;

#[gpu_profile(name = "set up")]
fn set_up() -> Result<(Gpu, Arc<CudaStream>), DriverError> {
    let gpu = Gpu::new()?;
    let stream = gpu.context.new_stream()?;
    Ok((gpu, stream))
}

#[gpu_profile(name = "long")]
fn long(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    gpu.spin(stream, LONG_NS)
}

#[gpu_profile(name = "outer")]
fn outer(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    gpu.spin(stream, SHORT_NS)?;
    inner(gpu, stream)?;
    gpu.spin(stream, SHORT_NS)
}

#[gpu_profile(name = "inner")]
fn inner(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    gpu.spin(stream, SHORT_NS)
}

#[gpu_profile(name = "gap")]
fn gap(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    gpu.spin(stream, SHORT_NS)?;
    thread::sleep(GAP);
    gpu.spin(stream, SHORT_NS)
}

#[gpu_profile(name = "copies")]
fn copies(stream: &Arc<CudaStream>, host: &mut [f32], on_device: &mut CudaSlice<f32>) -> Done {
    stream.memcpy_htod(host, on_device)?;
    stream.memset_zeros(on_device)?;
    stream.memcpy_dtoh(on_device, host)
}

#[gpu_profile(name = "replay")]
fn replay(stream: &Arc<CudaStream>, graph: &CudaGraph) -> Done {
    let _ = stream;
    graph.launch()
}

#[gpu_profile(name = "product")]
fn product(
    stream: &Arc<CudaStream>,
    blas: &CudaBlas,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let _ = stream;
    let side = SIDE as i32;
    let no = sys::cublasOperation_t::CUBLAS_OP_N;
    let shape = GemmConfig {
        transa: no,
        transb: no,
        m: side,
        n: side,
        k: side,
        alpha: 1.0_f32,
        lda: side,
        ldb: side,
        beta: 0.0,
        ldc: side,
    };
    // SAFETY: all three matrices hold SIDE times SIDE elements.
    unsafe { blas.gemm(shape, x, x, y) }.map_err(|error| error.to_string())
}

fn captured(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let inside = (0..NODES).try_for_each(|_| gpu.spin(stream, SHORT_NS));
    let graph = stream.end_capture(Flags(0));
    inside?;
    Ok(graph?.expect("a stream that was being captured gives a graph"))
}

/// Runs the program and prints the profile.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let (gpu, stream) = set_up().map_err(&failed)?;
    all(&gpu, &stream).map_err(&failed)?;
    // SAFETY: loading cuBLAS runs its initialisers, which are meant for that. It cannot work on the
    // simulated device.
    if !run_mode.simulated && unsafe { sys::is_culib_present() } {
        let blas = CudaBlas::new(Arc::clone(&stream)).map_err(|error| error.to_string())?;
        let x = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
        let mut y = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
        (0..CALLS).try_for_each(|_| product(&stream, &blas, &x, &mut y))?;
    }
    stream.synchronize().map_err(&failed)?;
    let profile = gpuprof::collect();
    let printed = serde_json::to_string(&profile).map_err(|error| error.to_string())?;
    println!("{printed}");
    Ok(ExitCode::SUCCESS)
}

fn all(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    let graph = captured(gpu, stream)?;
    let mut host = vec![1.0_f32; LEN];
    let mut on_device = stream.alloc_zeros(LEN)?;
    for _ in 0..CALLS {
        long(gpu, stream)?;
        outer(gpu, stream)?;
        // Queued work would fill the gap.
        stream.synchronize()?;
        gap(gpu, stream)?;
        copies(stream, &mut host, &mut on_device)?;
        replay(stream, &graph)?;
    }
    (0..OUTSIDE).try_for_each(|_| gpu.spin(stream, SHORT_NS))?;
    stream.synchronize()
}

/// The expected activity of one function.
pub(super) struct Wanted {
    name: &'static str,
    /// Spin kernels launched by the function itself, without nested functions.
    spins: u64,
    /// True if each call makes one copy to the device, one memset and one copy back.
    copies: bool,
}

pub(super) const WANTED: [Wanted; 6] = [
    Wanted::spins("long", 1),
    Wanted::spins("outer", 2),
    Wanted::spins("inner", 1),
    Wanted::spins("gap", 2),
    Wanted::spins("replay", NODES),
    Wanted {
        name: "copies",
        spins: 0,
        copies: true,
    },
];

impl Wanted {
    const fn spins(name: &'static str, spins: u64) -> Wanted {
        Wanted {
            name,
            spins,
            copies: false,
        }
    }

    pub(super) fn row(&self, profile: &Profile) -> Row {
        let what = format!("{}: work of {CALLS} calls", self.name);
        let shown = |spins: u64, all: usize, copies: &[(u64, u64); 3]| {
            let [to, set, from] = copies.map(|(calls, bytes)| format!("{calls} of {bytes} B"));
            format!(
                "{spins} spin kernels, {all} kernels by name; HtoD {to}, memset {set}, DtoH {from}"
            )
        };
        let work = function(profile, self.name).map(|function| &function.activity);
        let found = work.map(|work| {
            let copies = ["HtoD", "memset", "DtoH"].map(|kind| copied(&work.copies, kind));
            let spins = launches(&work.kernels, kernels::SPIN);
            (spins, work.kernels.len(), copies)
        });
        let each = if self.copies {
            (CALLS, CALLS * 4 * LEN as u64)
        } else {
            (0, 0)
        };
        let wanted = (self.spins * CALLS, usize::from(self.spins > 0), [each; 3]);
        let tell =
            |(spins, all, copies): &(u64, usize, [(u64, u64); 3])| shown(*spins, *all, copies);
        Row::judged(
            what,
            found.as_ref().map_or("no such function".into(), tell),
            tell(&wanted),
            found == Some(wanted),
        )
    }
}

/// Checks the launches outside every function.
pub(super) fn check_unattributed_activities(profile: &Profile) -> Row {
    let found = profile.cupti.as_ref().map_or(0, |cupti| cupti.unattributed);
    Row::judged(
        "launches, copies and memsets outside every function",
        format!("{found}"),
        // One memset of `alloc_zeros` for `all`, and two more with cuBLAS.
        format!("{OUTSIDE} launches, and the memsets of buffers made there"),
        (OUTSIDE + 1..=OUTSIDE + 3).contains(&found),
    )
}

/// Checks the launches by cuBLAS.
pub(super) fn check_products(profile: &Profile) -> Option<Row> {
    let product = function(profile, "product").filter(|product| product.calls > 0)?;
    let kernels = &product.activity.kernels;
    let launched: u64 = kernels.iter().map(|kernel| kernel.times.calls).sum();
    let names: Vec<_> = kernels.iter().map(|kernel| &*kernel.name).collect();
    Some(Row::judged(
        format!("{CALLS} products by cuBLAS"),
        format!("{launched} kernels: {}", names.join(", ")),
        format!("at least {CALLS}, a whole number a product"),
        launched >= CALLS && launched.is_multiple_of(CALLS),
    ))
}

/// Checks the times of kernels of known duration, and of a gap.
pub(super) fn check_times(run_mode: &RunMode, profile: &Profile) -> Vec<Row> {
    let mut rows = Vec::new();
    let long = function(profile, "long");
    let spun = long.and_then(|long| long.activity.kernels.first());
    let mean = spun.map_or(f64::NAN, |kernel| kernel.times.mean_ns as f64);
    let apart = off(mean, LONG_NS as f64);
    rows.push(performance(
        run_mode,
        "a spin kernel of 1 ms, mean time",
        format!("{}: {}", time(mean), percent(apart)),
        "within 0.5 %",
        apart.abs() <= WANTED_TIME,
    ));
    if let Some(function) = function(profile, "gap") {
        let span = function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
        let busy = function.activity.busy_ns.unwrap_or(0);
        let idle = function.activity.idle_ns.unwrap_or(0);
        let [spins, gaps] = [2 * SHORT_NS * CALLS, GAP.as_nanos() as u64 * CALLS];
        let each = |ns: u64| time(ns as f64 / CALLS as f64);
        rows.push(Row::judged(
            "a gap of 2 ms between two kernels of 200 µs, a call",
            format!(
                "span {}, busy {}, idle {}",
                each(span),
                each(busy),
                each(idle)
            ),
            "busy within 1 % of the kernels, idle at least the gap minus one kernel",
            off(busy as f64, spins as f64).abs() <= 0.01
                && idle + SHORT_NS * CALLS >= gaps
                && busy + idle == span,
        ));
    }
    for name in ["outer", "replay"] {
        let Some(function) = function(profile, name) else {
            continue;
        };
        let span = function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
        let busy = function.activity.busy_ns.unwrap_or(0);
        rows.push(Row::judged(
            format!("{name}: three kernels one after another, a call"),
            format!(
                "span {}, busy {}",
                time(span as f64 / CALLS as f64),
                time(busy as f64 / CALLS as f64)
            ),
            "busy at most the span, but for two events inside, and within 1 % of the kernels",
            busy <= span + 2 * CALLS * EVENT_NS
                && off(busy as f64, (3 * SHORT_NS * CALLS) as f64).abs() <= 0.01,
        ));
    }
    rows
}

/// Checks that no record was dropped.
pub(super) fn check_completeness(profile: &Profile) -> Row {
    let cupti = profile.cupti.clone().unwrap_or_default();
    Row::judged(
        "records",
        format!(
            "CUPTI {} from {}: {} read, {} dropped, {} invalid, {} late, {} unfinished",
            cupti.version,
            cupti.library,
            cupti.records,
            cupti.dropped_records,
            cupti.invalid_records,
            cupti.late_records,
            cupti.unfinished
        ),
        "some read, none dropped, invalid, late or unfinished",
        cupti.records > 0
            && cupti.dropped_records
                + cupti.invalid_records
                + cupti.late_records
                + cupti.unfinished
                == 0,
    )
}

/// Checks that CUDA calls, which gpuprof stamps, and kernels, which CUPTI stamps, are on one clock:
/// by launches on an idle stream.
pub(super) fn check_clock(run_mode: &RunMode, profile: &Profile) -> Row {
    let gap = function(profile, "gap").and_then(|gap| gap.activity.launch_latency.as_ref());
    let (least, median) = gap.map_or((0, u64::MAX), |times| (times.min_ns, times.p50_ns));
    performance(
        run_mode,
        "from a launch to its kernel on an idle stream",
        format!(
            "{} at least, median {}",
            time(least as f64),
            time(median as f64)
        ),
        "above 0, median under 100 µs",
        least > 0 && median < 100_000,
    )
}
