//! A solver whose steps are so small that launching them costs more than running them: captured
//! into a graph once, then replayed.
//!
//! Run `cargo run --release --example 07_graph`; the table comes on standard error at exit.
//!
//! Look at `step` and `replay`. A call whose stream is being captured runs nothing on the GPU, so
//! the row of `step` times the calls that ran on their own. Each replay is one GPU span of
//! `replay`, which launches the graph. Twenty times the average of `step` is longer than the
//! average of `replay`: what is gone in the graph is the launching. With `GPUPROF_CUPTI=on` the
//! report attributes the replayed kernels to the functions that captured them: the matrix products
//! to `step`, the sums to `add_constant`.

use std::error::Error;
use std::mem::swap;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaGraph, CudaSlice, CudaStream, DriverError, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::gpu_profile;
use kernels::Geometry;

/// Rows of the matrix, and unknowns of each system.
const SIDE: usize = 64;
/// Systems solved at once: columns of the unknowns.
const SYSTEMS: usize = 16;
/// Steps of one replay; even, so that a replay ends where it began.
const STEPS: usize = 20;
const REPLAYS: usize = 20;
/// The largest relative error after all steps. One replay more or less is off by a hundred times as
/// much.
const TOLERANCE: f64 = 2e-5;

fn main() -> Result<(), Box<dyn Error>> {
    simcuda::real_or_simulated();
    let context = CudaContext::new(0)?;
    // SAFETY: one stream does everything, in order. Events of cudarc's own from before the capture
    // would spoil it.
    unsafe { context.disable_event_tracking() };
    // Not the default stream: that one cannot be captured.
    let stream = context.new_stream()?;
    let (matrix, constant) = system();
    let mut solver = Solver::new(&stream, &matrix, &constant)?;

    // Once as it is: a first launch loads its kernel, which must not happen in a capture.
    for _ in 0..STEPS {
        step(&stream, &mut solver)?;
    }
    let graph = capture(&stream, &mut solver)?.ok_or("nothing was captured")?;
    for _ in 0..REPLAYS {
        replay(&stream, &graph)?;
    }
    let result = stream.clone_dtoh(&solver.x)?;

    let expected = reference(&matrix, &constant, STEPS * (1 + REPLAYS));
    let errors = result.iter().zip(&expected).map(|(result, expected)| {
        let error = (f64::from(*result) - expected).abs() / expected;
        if error.is_nan() { f64::INFINITY } else { error }
    });
    let error = errors.fold(0.0, f64::max);
    println!("{STEPS} steps, then {REPLAYS} replays of {STEPS}: relative error {error:.0e}");
    if result.len() != expected.len() || error > TOLERANCE {
        return Err(format!("the result is wrong: off by more than {TOLERANCE:.0e}").into());
    }
    Ok(())
}

/// One step of Jacobi's iteration, x = matrix * x + constant: two small kernels.
#[gpu_profile(flops = kernels::matmul_flops(SIDE, SYSTEMS, SIDE))]
fn step(stream: &Arc<CudaStream>, solver: &mut Solver) -> Result<(), DriverError> {
    let (side, systems) = (SIDE as i32, SYSTEMS as i32);
    let mut product = stream.launch_builder(&solver.product);
    product
        .arg(&solver.matrix)
        .arg(&solver.x)
        .arg(&mut solver.next);
    product.arg(&side).arg(&systems).arg(&side);
    let geometry = kernels::matmul_geometry(SIDE as u32, SYSTEMS as u32);
    // SAFETY: these are the kernel's parameters, and the matrices have these sizes.
    unsafe { product.launch(config(geometry)) }?;
    add_constant(stream, solver)?;
    swap(&mut solver.x, &mut solver.next);
    Ok(())
}

/// The second kernel of a step.
#[gpu_profile]
fn add_constant(stream: &Arc<CudaStream>, solver: &mut Solver) -> Result<(), DriverError> {
    let all = (SIDE * SYSTEMS) as i32;
    // The unknowns as one long row, to which the constant is the bias.
    let mut sum = stream.launch_builder(&solver.sum);
    sum.arg(&solver.constant)
        .arg(&mut solver.next)
        .arg(&1_i32)
        .arg(&all);
    let geometry = kernels::elements_geometry(all as u32);
    // SAFETY: these are the kernel's parameters, and both slices hold `all` values.
    unsafe { sum.launch(config(geometry)) }?;
    Ok(())
}

/// Calls the same functions as ever, while the stream notes down what they launch.
#[gpu_profile]
fn capture(
    stream: &Arc<CudaStream>,
    solver: &mut Solver,
) -> Result<Option<CudaGraph>, DriverError> {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    for _ in 0..STEPS {
        step(stream, solver)?;
    }
    stream.end_capture(CUgraphInstantiate_flags(0))
}

/// All steps by one launch.
#[gpu_profile(flops = STEPS as u64 * kernels::matmul_flops(SIDE, SYSTEMS, SIDE))]
fn replay(_stream: &Arc<CudaStream>, graph: &CudaGraph) -> Result<(), DriverError> {
    graph.launch()
}

struct Solver {
    product: CudaFunction,
    sum: CudaFunction,
    matrix: CudaSlice<f32>,
    constant: CudaSlice<f32>,
    x: CudaSlice<f32>,
    next: CudaSlice<f32>,
}

impl Solver {
    fn new(
        stream: &Arc<CudaStream>,
        matrix: &[f32],
        constant: &[f32],
    ) -> Result<Self, DriverError> {
        let load = |ptx: &str, kernel| {
            let module = stream.context().load_module(Ptx::from_src(ptx))?;
            module.load_function(kernel)
        };
        Ok(Self {
            product: load(kernels::MATMUL_PTX, kernels::MATMUL_TILED)?,
            sum: load(kernels::NETWORK_PTX, kernels::BIAS)?,
            matrix: stream.clone_htod(matrix)?,
            constant: stream.clone_htod(constant)?,
            x: stream.alloc_zeros(constant.len())?,
            next: stream.alloc_zeros(constant.len())?,
        })
    }
}

fn config(geometry: Geometry) -> LaunchConfig {
    LaunchConfig {
        grid_dim: geometry.grid,
        block_dim: geometry.block,
        shared_mem_bytes: 0,
    }
}

/// A matrix whose rows sum to 0.99, so that the iteration converges slowly and every step counts,
/// and a constant.
fn system() -> (Vec<f32>, Vec<f32>) {
    let weight = |n: usize| 1.0 + (n * 31 % 17) as f64;
    let row = |i: usize| (0..SIDE).map(move |j| weight(i * SIDE + j));
    let entry = |i| row(i).map(move |w| (0.99 * w / row(i).sum::<f64>()) as f32);
    let matrix = (0..SIDE).flat_map(entry).collect();
    let constant = (0..SIDE * SYSTEMS).map(|n| 1.0 + (n * 13 % 29) as f32);
    (matrix, constant.collect())
}

/// The same steps in double precision on the host.
fn reference(matrix: &[f32], constant: &[f32], steps: usize) -> Vec<f64> {
    let mut x = vec![0.0; constant.len()];
    for _ in 0..steps {
        let mut next: Vec<f64> = constant.iter().map(|c| f64::from(*c)).collect();
        for (row, next) in matrix.chunks(SIDE).zip(next.chunks_mut(SYSTEMS)) {
            for (weight, x) in row.iter().zip(x.chunks(SYSTEMS)) {
                for (next, x) in next.iter_mut().zip(x) {
                    *next += f64::from(*weight) * x;
                }
            }
        }
        x = next;
    }
    x
}
