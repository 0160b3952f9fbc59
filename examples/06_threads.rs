//! A thread per stream: each multiplies matrices of its own, while rayon does the host's share on
//! all cores.
//!
//! Run `cargo run --release --example 06_threads`; the table comes on standard error at exit.
//!
//! Look at the calls: one row per function however many threads called it. `check_rows` runs on
//! rayon's own threads, and is inside `check`, whose span they carry. `multiply_naive` and
//! `multiply_tiled` do the same work, and their TFLOP/s say what shared memory is worth. With four
//! streams at work, the header's share of the wall time can pass 100 %. The streams share one
//! device: where GPU p50 and max of a row lie far apart, it had waited for another thread's work.

use std::error::Error;
use std::sync::Arc;
use std::thread;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DriverError, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::gpu_profile;
use rayon::prelude::*;
use simcuda::Device;

const THREADS: usize = 4;
/// Products of each kind in each thread.
const ROUNDS: usize = 3;
/// The largest error of a result; sums of a thousand terms between -1 and 1 stay within it.
const TOLERANCE: f64 = 1e-3;

fn main() -> Result<(), Box<dyn Error>> {
    // A GPU needs milliseconds of work; the simulated one computes on the host.
    let side = match simcuda::real_or_simulated() {
        Device::Real => 1024,
        Device::Simulated(_) => 256,
    };
    let context = CudaContext::new(0)?;
    let module = context.load_module(Ptx::from_src(kernels::MATMUL_PTX))?;
    let errors = thread::scope(|scope| {
        let work = |seed| {
            let (context, module) = (&context, &module);
            scope.spawn(move || one_thread(context, module, side, seed))
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| "a thread panicked".to_owned())?
        };
        threads
            .into_iter()
            .map(join)
            .collect::<Result<Vec<f64>, String>>()
    })?;
    let largest = errors.into_iter().fold(0.0, f64::max);
    println!("{THREADS} threads, products of {side}×{side}: off by at most {largest:.0e}");
    if largest > TOLERANCE {
        return Err(format!("a product is wrong: off by more than {TOLERANCE:.0e}").into());
    }
    Ok(())
}

/// All of one thread; gives the largest error of its products.
fn one_thread(
    context: &Arc<CudaContext>,
    module: &Arc<CudaModule>,
    side: usize,
    seed: usize,
) -> Result<f64, String> {
    let told = |error: DriverError| error.to_string();
    let (a, b) = (
        numbers(side * side, 2 * seed),
        numbers(side * side, 2 * seed + 1),
    );
    let (naive, tiled) = products(context, module, side, &a, &b).map_err(told)?;
    Ok(check(&naive, &a, &b, side).max(check(&tiled, &a, &b, side)))
}

/// The product of `a` and `b` by both kernels, on a stream of its own.
fn products(
    context: &Arc<CudaContext>,
    module: &Arc<CudaModule>,
    side: usize,
    a: &[f32],
    b: &[f32],
) -> Result<(Vec<f32>, Vec<f32>), DriverError> {
    let stream = context.new_stream()?;
    let naive = module.load_function(kernels::MATMUL_NAIVE)?;
    let tiled = module.load_function(kernels::MATMUL_TILED)?;
    let (a, b) = (upload(&stream, a)?, upload(&stream, b)?);
    let mut results = [
        stream.alloc_zeros(side * side)?,
        stream.alloc_zeros(side * side)?,
    ];
    for _ in 0..ROUNDS {
        multiply_naive(&stream, &naive, side, [&a, &b], &mut results[0])?;
        multiply_tiled(&stream, &tiled, side, [&a, &b], &mut results[1])?;
    }
    Ok((
        download(&stream, &results[0])?,
        download(&stream, &results[1])?,
    ))
}

#[gpu_profile(bytes = 4 * host.len())]
fn upload(stream: &Arc<CudaStream>, host: &[f32]) -> Result<CudaSlice<f32>, DriverError> {
    stream.clone_htod(host)
}

#[gpu_profile(flops = kernels::matmul_flops(side, side, side))]
fn multiply_naive(
    stream: &Arc<CudaStream>,
    f: &CudaFunction,
    side: usize,
    factors: [&CudaSlice<f32>; 2],
    result: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    launch(stream, f, side, factors, result)
}

#[gpu_profile(flops = kernels::matmul_flops(side, side, side))]
fn multiply_tiled(
    stream: &Arc<CudaStream>,
    f: &CudaFunction,
    side: usize,
    factors: [&CudaSlice<f32>; 2],
    result: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    launch(stream, f, side, factors, result)
}

fn launch(
    stream: &Arc<CudaStream>,
    f: &CudaFunction,
    side: usize,
    [a, b]: [&CudaSlice<f32>; 2],
    result: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let geometry = kernels::matmul_geometry(side as u32, side as u32);
    let side = side as i32;
    let mut launch = stream.launch_builder(f);
    launch.arg(a).arg(b).arg(result);
    launch.arg(&side).arg(&side).arg(&side);
    // SAFETY: these are the kernel's parameters, and all three matrices hold side * side values.
    unsafe {
        launch.launch(LaunchConfig {
            grid_dim: geometry.grid,
            block_dim: geometry.block,
            shared_mem_bytes: 0,
        })
    }
    .map(drop)
}

#[gpu_profile(bytes = 4 * slice.len())]
fn download(stream: &Arc<CudaStream>, slice: &CudaSlice<f32>) -> Result<Vec<f32>, DriverError> {
    stream.clone_dtoh(slice)
}

/// `count` numbers between -1 and 1, the same for the same seed.
#[gpu_profile(cpu, items = count)]
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let number = |i: usize| {
        let hash = ((i + seed * count) as u32).wrapping_mul(2_654_435_761) >> 8;
        hash as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).into_par_iter().map(number).collect()
}

/// The largest error of a product against sums in double precision.
#[gpu_profile(cpu)]
fn check(result: &[f32], a: &[f32], b: &[f32], side: usize) -> f64 {
    let bands = result.par_chunks(16 * side).zip(a.par_chunks(16 * side));
    let span = gpuprof::current();
    let errors = bands.map(|(result, a)| span.run(|| check_rows(result, a, b, side)));
    errors.reduce(|| 0.0, f64::max)
}

/// The same for a band of rows, in whatever thread rayon runs it.
#[gpu_profile(cpu, items = result.len())]
fn check_rows(result: &[f32], a: &[f32], b: &[f32], side: usize) -> f64 {
    let mut largest: f64 = 0.0;
    for (result, a) in result.chunks(side).zip(a.chunks(side)) {
        let mut sums = vec![0.0; side];
        for (a, b) in a.iter().zip(b.chunks(side)) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += f64::from(*a) * f64::from(*b);
            }
        }
        for (result, sum) in result.iter().zip(sums) {
            let error = (f64::from(*result) - sum).abs();
            largest = largest.max(if error.is_nan() { f64::INFINITY } else { error });
        }
    }
    largest
}
