//! The program under test: the functions of the promise, and matrix products by cuBLAS.
//!
//! CUPTI records from the start, including set-up, so that another tool counts the same launches.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::cublas::{CudaBlas, Gemm, GemmConfig, sys};
use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::attribution::{self, CALLS, LONG_NS};

use super::function;
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process;
use crate::statistics::{off, percent, performance, time};

pub(super) const NAME: &str = "kernels";

/// Side of the multiplied matrices.
const SIDE: usize = 256;
/// Accepted relative error of a kernel's time.
const WANTED_TIME: f64 = 0.005;

#[gpu_profile(name = "set up")]
fn set_up() -> Result<(Gpu, Arc<CudaStream>), DriverError> {
    let gpu = Gpu::new()?;
    let stream = gpu.context.new_stream()?;
    Ok((gpu, stream))
}

#[gpu_profile(name = "product")]
fn product(
    stream: &Arc<CudaStream>,
    blas: &CudaBlas,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let _ = stream;
    // SAFETY: all three matrices hold SIDE times SIDE elements.
    unsafe { blas.gemm(square_product(SIDE), x, x, y) }.map_err(|error| error.to_string())
}

/// The product of two matrices with rows and columns of this length.
pub(super) fn square_product(side: usize) -> GemmConfig<f32> {
    let side = side as i32;
    let no = sys::cublasOperation_t::CUBLAS_OP_N;
    GemmConfig {
        transa: no,
        transb: no,
        m: side,
        n: side,
        k: side,
        alpha: 1.0,
        lda: side,
        ldb: side,
        beta: 0.0,
        ldc: side,
    }
}

/// Runs the program and prints the profile.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let (gpu, stream) = set_up().map_err(&failed)?;
    attribution::work(&gpu, &stream).map_err(&failed)?;
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
    process::print(&profile)
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

/// Checks the times of kernels of known duration.
pub(super) fn check_times(run_mode: &RunMode, profile: &Profile) -> Row {
    let long = function(profile, "long");
    let spun = long.and_then(|long| long.activity.kernels.first());
    let mean = spun.map_or(f64::NAN, |kernel| kernel.times.mean_ns as f64);
    let apart = off(mean, LONG_NS as f64);
    performance(
        run_mode,
        "a spin kernel of 1 ms, mean time",
        format!("{}: {}", time(mean), percent(apart)),
        "within 0.5 %",
        apart.abs() <= WANTED_TIME,
    )
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
