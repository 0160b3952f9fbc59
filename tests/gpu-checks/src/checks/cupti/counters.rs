//! Hardware counters compared with Nsight Compute's, kernel by kernel, and tensor cores with and
//! without a product that uses them.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use cudarc::cublas::{CudaBlas, Gemm, result, sys};
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{CounterValues, Metric};
use gpuprof::{Profile, gpu_profile};

use super::nsight_tools;
use super::test_program::square_product;
use super::{function, refusal};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::statistics::{Spread, off, percent, performance};
use crate::{process, runner};

pub(super) const NAME: &str = "counters";

/// Nsight Compute measures each launch separately.
const LIMIT: Duration = Duration::from_secs(120);
/// Calls of each function.
const CALLS: usize = 100;
/// Products, each kind for over a second: longer than a switch to metrics in turn and back, during
/// which the others are not sampled.
const PRODUCTS_F32: usize = 60;
const PRODUCTS_F16: usize = 1_200;
/// Elements of the vectors, and side of the multiplied matrices. On a GPU the kernels take over a
/// millisecond; the simulated device computes on the host.
const LEN: usize = 1 << 29;
const SIMULATED_LEN: usize = 1 << 18;
const SIDE: usize = 8_192;
/// Elements of the vector that is added to each row of a matrix.
const COLUMNS: usize = 1_024;
/// Accepted relative difference of bytes.
const WANTED: f64 = 0.03;
/// Kernels of which the bytes are compared, and the functions that launch them.
const COMPARED: [(&str, &str); 3] = [
    ("saxpy", kernels::SAXPY),
    ("bias", kernels::BIAS),
    ("transpose", kernels::TRANSPOSE),
];
const DRAM_BYTES: &str = "dram__bytes.sum";

type Done = Result<(), DriverError>;

#[gpu_profile(name = "saxpy", bytes = 12 * y.len())]
fn saxpy(gpu: &Gpu, stream: &Arc<CudaStream>, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>) -> Done {
    gpu.saxpy(stream, 0.5, x, y)
}

#[gpu_profile(name = "bias", bytes = kernels::bias_bytes(y.len() / COLUMNS, COLUMNS))]
fn bias(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Done {
    let (rows, columns) = ((y.len() / COLUMNS) as i32, COLUMNS as i32);
    let config = LaunchConfig::for_num_elems(y.len() as u32);
    let mut launch = stream.launch_builder(kernel);
    launch.arg(x).arg(y).arg(&rows).arg(&columns);
    // SAFETY: these are the kernel's parameters; `y` has rows · columns elements, and `x` as many.
    unsafe { launch.launch(config) }.map(drop)
}

#[gpu_profile(name = "transpose", bytes = 8 * y.len())]
fn transpose(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Done {
    let height = 1_i32 << (y.len().ilog2() / 2);
    let width = (y.len() as i64 / i64::from(height)) as i32;
    let mut launch = stream.launch_builder(kernel);
    launch.arg(x).arg(y).arg(&height).arg(&width);
    let geometry = kernels::transpose_geometry(height as u32, width as u32);
    let config = LaunchConfig {
        grid_dim: geometry.grid,
        block_dim: geometry.block,
        shared_mem_bytes: 0,
    };
    // SAFETY: these are the kernel's parameters, and both matrices have height · width elements.
    unsafe { launch.launch(config) }.map(drop)
}

#[gpu_profile(name = "product in f32")]
fn product_f32(
    stream: &Arc<CudaStream>,
    blas: &CudaBlas,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let _ = stream;
    // SAFETY: all three matrices hold SIDE times SIDE elements.
    unsafe { blas.gemm(square_product(SIDE), x, x, y) }.map_err(|error| error.to_string())
}

#[gpu_profile(name = "product in f16")]
fn product_f16(
    stream: &Arc<CudaStream>,
    blas: &CudaBlas,
    x: &CudaSlice<u16>,
    y: &mut CudaSlice<u16>,
) -> Result<(), String> {
    let side = SIDE as i32;
    let no = sys::cublasOperation_t::CUBLAS_OP_N;
    let f16 = sys::cudaDataType::CUDA_R_16F;
    let (one, zero) = (1.0_f32, 0.0_f32);
    let (x, _x) = x.device_ptr(stream);
    let (y, _y) = y.device_ptr_mut(stream);
    let (x, y) = (x as *const c_void, y as *mut c_void);
    let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
    let compute = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
    let algorithm = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
    // SAFETY: all three matrices hold SIDE times SIDE elements of two bytes.
    let done = unsafe {
        result::gemm_ex(
            *blas.handle(),
            no,
            no,
            side,
            side,
            side,
            alpha,
            x,
            f16,
            side,
            x,
            f16,
            side,
            beta,
            y,
            f16,
            side,
            compute,
            algorithm,
        )
    };
    done.map_err(|error| error.to_string())
}

/// The program under test. Set up and warmed up before anything is sampled; the products only with
/// `--products`, which Nsight Compute does not need.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in::<DriverError>("counters");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    memory_kernels(&gpu, &stream, run_mode).map_err(&failed)?;
    if !run_mode.simulated && std::env::var_os(PRODUCTS).is_some() {
        products(&stream)?;
    }
    stream.synchronize().map_err(&failed)?;
    process::print(&gpuprof::collect())
}

/// Set for a program that multiplies too.
const PRODUCTS: &str = "GPU_CHECKS_PRODUCTS";

fn memory_kernels(gpu: &Gpu, stream: &Arc<CudaStream>, run_mode: &RunMode) -> Done {
    let load = |ptx: &str, name| {
        let module = gpu.context.load_module(Ptx::from_src(ptx))?;
        module.load_function(name)
    };
    let biases = load(kernels::NETWORK_PTX, kernels::BIAS)?;
    let transposes = load(kernels::TRANSPOSE_PTX, kernels::TRANSPOSE)?;
    let len = if run_mode.simulated {
        SIMULATED_LEN
    } else {
        LEN
    };
    let x = stream.alloc_zeros(len)?;
    let mut y = stream.alloc_zeros(len)?;
    for _ in 0..CALLS {
        saxpy(gpu, stream, &x, &mut y)?;
    }
    for _ in 0..CALLS {
        bias(stream, &biases, &x, &mut y)?;
    }
    for _ in 0..CALLS {
        transpose(stream, &transposes, &x, &mut y)?;
    }
    stream.synchronize()
}

fn products(stream: &Arc<CudaStream>) -> Result<(), String> {
    let failed = failed_in::<DriverError>("products");
    let blas = CudaBlas::new(Arc::clone(stream)).map_err(|error| error.to_string())?;
    let x = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
    let mut y = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
    (0..PRODUCTS_F32).try_for_each(|_| product_f32(stream, &blas, &x, &mut y))?;
    let x = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
    let mut y = stream.alloc_zeros(SIDE * SIDE).map_err(&failed)?;
    (0..PRODUCTS_F16).try_for_each(|_| product_f16(stream, &blas, &x, &mut y))
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let settings = [
        ("GPUPROF_CUPTI", "on"),
        ("GPUPROF_COUNTERS", "on"),
        (PRODUCTS, "1"),
    ];
    let profile: Profile = runner::answer(NAME, run_mode, LIMIT, &settings)?;
    let what = "hardware counters";
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable(what, why)]);
    }
    let [device] = &profile.counters[..] else {
        let why = profile.diagnostics.notes.join("; ");
        return Ok(vec![Row::unavailable(what, why)]);
    };
    let mut rows = vec![Row::info(
        "samples",
        format!(
            "{} of {} ns on {}, {} ns without, {} ns late, interval doubled {}x; not sampled: {:?}",
            device.samples,
            device.interval_ns,
            device.chip,
            device.gap_ns,
            device.late_ns,
            device.overflows,
            device.omitted
        ),
    )];
    let seen = match nsight_tools::find("ncu").filter(|_| !run_mode.simulated) {
        Some(ncu) => Some(seen(&ncu, run_mode)?),
        None => None,
    };
    for (name, kernel) in COMPARED {
        rows.push(bytes_row(run_mode, &profile, name, kernel, seen.as_ref()));
    }
    rows.extend(tensor_rows(run_mode, &profile));
    Ok(rows)
}

/// Bytes of a launch by kernel. The median, as the set-up launches kernels on little memory.
type Seen = BTreeMap<String, f64>;

fn seen(ncu: &std::path::Path, run_mode: &RunMode) -> Result<Seen, String> {
    let few = RunMode {
        short: true,
        ..*run_mode
    };
    let mut plain: Command = runner::own_command(&["program", NAME], &few)?;
    plain.env("GPUPROF", "off");
    let traced = nsight_tools::under_ncu(ncu, &plain, DRAM_BYTES);
    let traced = process::finished(traced, LIMIT).map_err(|error| format!("ncu: {error}"))?;
    let values = nsight_tools::values(&traced.stdout)?;
    let medians = values
        .into_iter()
        .map(|(kernel, of)| (kernel, Spread::of(&of).median));
    Ok(medians.collect())
}

/// Bytes of one launch: measured, and as Nsight Compute counts them; on the simulated device as
/// they are modelled.
fn bytes_row(
    run_mode: &RunMode,
    profile: &Profile,
    name: &str,
    kernel: &str,
    seen: Option<&Seen>,
) -> Row {
    let what = format!("{name}: bytes of device memory of one launch");
    let work = function(profile, name).map(|function| &function.activity);
    let measured = work.and_then(|work| {
        let counters: &CounterValues = work.counters.as_deref()?;
        let mean_ns = work.kernels.first()?.times.mean_ns as f64;
        Some(counters.dram_bytes_per_s()? * mean_ns / 1e9)
    });
    let Some(measured) = measured else {
        return Row::judged(what, "not sampled", "enough samples", false);
    };
    let stated = function(profile, name).and_then(|function| function.bytes);
    let stated = stated.unwrap_or_default() / calls(profile, name);
    let (theirs, whose) = match seen.and_then(|seen| seen.get(kernel)) {
        Some(theirs) => (*theirs, "Nsight Compute"),
        None if run_mode.simulated => (stated, "modelled"),
        None => return Row::unavailable(what, "there is no ncu here"),
    };
    let apart = off(measured, theirs);
    let shown = format!(
        "{:.4e}, {whose} {theirs:.4e}: {}; stated {stated:.4e}",
        measured,
        percent(apart)
    );
    performance(run_mode, what, shown, "within 3 %", apart.abs() <= WANTED)
}

fn calls(profile: &Profile, name: &str) -> f64 {
    function(profile, name).map_or(1.0, |function| function.calls as f64)
}

/// Activity of the tensor cores: none without, some with a product that uses them.
fn tensor_rows(run_mode: &RunMode, profile: &Profile) -> Vec<Row> {
    let wanted = [
        ("saxpy", "none", 0.0..=0.001),
        ("product in f32", "none", 0.0..=0.001),
        ("product in f16", "at least 20 %", 0.2..=1.0),
    ];
    let rows = wanted.into_iter().map(|(name, wanted, range)| {
        let what = format!("{name}: activity of the tensor cores");
        if run_mode.simulated {
            return Row::unavailable(what, "simulated device: cuBLAS does not run on it");
        }
        let counters = function(profile, name).and_then(|of| of.activity.counters.as_deref());
        match counters.and_then(|counters| counters.mean(Metric::TensorActive)) {
            Some(active) => {
                let shown = format!("{:.3} %", 100.0 * active);
                performance(run_mode, what, shown, wanted, range.contains(&active))
            }
            None => Row::judged(what, "not sampled", wanted, false),
        }
    });
    rows.collect()
}
