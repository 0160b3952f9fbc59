//! The structure of a server: requests that copy in, compute, wait and copy out, several in flight,
//! each on a stream of its own.
//!
//! Run `cargo run --release --example 05_async`; the table comes on standard error at exit.
//!
//! Look at `request`: an `async fn` is one call however often it was polled and on whatever thread.
//! Its CPU time is what the polls took, for while a request waits its thread polls another; the
//! wall time, from first poll to last, stands below the table. The GPU time of `request` runs from
//! its first operation until the task resumes after a 1 ms sleep and sees the event complete. Its
//! self time is that idle time on the stream. `layer` is the work itself.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::gpu_profile;
use kernels::Geometry;
use simcuda::Device;
use tokio::runtime;

/// Clients at once; each waits for the answer to one request before it sends the next.
const CLIENTS: usize = 4;
const REQUESTS: usize = 6;
/// Rows of one request.
const ROWS: usize = 128;
/// The largest error of a result; sums of a thousand terms between -1 and 1 stay within it.
const TOLERANCE: f64 = 1e-3;

/// A dense layer: what every request passes through.
struct Layer {
    product: CudaFunction,
    bias_relu: CudaFunction,
    weights: CudaSlice<f32>,
    bias: CudaSlice<f32>,
    side: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    // A GPU needs milliseconds of work; the simulated one computes on the host.
    let side = match simcuda::real_or_simulated() {
        Device::Real => 1024,
        Device::Simulated(_) => 256,
    };
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let load = |ptx: &str, kernel| {
        context
            .load_module(Ptx::from_src(ptx))?
            .load_function(kernel)
    };
    let (weights, bias) = (numbers(side * side, 1), numbers(side, 2));
    let layer = Arc::new(Layer {
        product: load(kernels::MATMUL_PTX, kernels::MATMUL_TILED)?,
        bias_relu: load(kernels::NETWORK_PTX, kernels::BIAS_RELU)?,
        weights: stream.clone_htod(&weights)?,
        bias: stream.clone_htod(&bias)?,
        side,
    });
    stream.synchronize()?;

    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    let answers = runtime.block_on(async {
        let start = |id| tokio::spawn(client(Arc::clone(&context), Arc::clone(&layer), id));
        let clients: Vec<_> = (0..CLIENTS).map(start).collect();
        let mut answers = Vec::new();
        for client in clients {
            answers.extend(client.await??);
        }
        Ok::<_, Box<dyn Error>>(answers)
    })?;

    let mut largest: f64 = 0.0;
    for (seed, answer) in &answers {
        largest = largest.max(check(answer, &numbers(ROWS * side, *seed), &weights, &bias));
    }
    println!("{} requests: off by at most {largest:.0e}", answers.len());
    if largest > TOLERANCE || answers.len() != CLIENTS * REQUESTS {
        return Err(format!("an answer is wrong: off by more than {TOLERANCE:.0e}").into());
    }
    Ok(())
}

/// A seed, and the answer to the request that it stands for.
type Answer = (usize, Vec<f32>);

/// A client with a stream of its own.
async fn client(
    context: Arc<CudaContext>,
    layer: Arc<Layer>,
    id: usize,
) -> Result<Vec<Answer>, DriverError> {
    let stream = context.new_stream()?;
    // SAFETY: nobody reads it before `request` has filled it.
    let mut buffer = unsafe { context.alloc_pinned_with_flags(ROWS * layer.side, 0) }?;
    let mut answers = Vec::new();
    for n in 0..REQUESTS {
        let seed = 3 + id * REQUESTS + n;
        let rows = numbers(ROWS * layer.side, seed);
        request(&stream, &layer, &rows, &mut buffer).await?;
        answers.push((seed, buffer.as_slice()?.to_vec()));
    }
    Ok(answers)
}

/// One request from its rows to its answer in page-locked memory.
#[gpu_profile(items = rows.len() / layer.side)]
async fn request(
    stream: &Arc<CudaStream>,
    layer: &Layer,
    rows: &[f32],
    answer: &mut PinnedHostSlice<f32>,
) -> Result<(), DriverError> {
    let x = upload(stream, rows)?;
    let mut y = stream.alloc_zeros(rows.len())?;
    apply(stream, layer, &x, &mut y)?;
    download(stream, &y, answer)?;
    finished(stream).await
}

#[gpu_profile(bytes = 4 * host.len())]
fn upload(stream: &Arc<CudaStream>, host: &[f32]) -> Result<CudaSlice<f32>, DriverError> {
    stream.clone_htod(host)
}

#[gpu_profile(name = "layer", flops = kernels::matmul_flops(ROWS, layer.side, layer.side))]
fn apply(
    stream: &Arc<CudaStream>,
    layer: &Layer,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let (rows, side) = (ROWS as i32, layer.side as i32);
    let mut product = stream.launch_builder(&layer.product);
    product.arg(x).arg(&layer.weights).arg(&mut *y);
    product.arg(&rows).arg(&side).arg(&side);
    let geometry = kernels::matmul_geometry(ROWS as u32, layer.side as u32);
    // SAFETY: these are the kernel's parameters, and the matrices have these sizes.
    unsafe { product.launch(config(geometry)) }?;

    let mut bias_relu = stream.launch_builder(&layer.bias_relu);
    bias_relu.arg(&layer.bias).arg(y).arg(&rows).arg(&side);
    let geometry = kernels::elements_geometry((ROWS * layer.side) as u32);
    // SAFETY: these are the kernel's parameters, and the matrices have these sizes.
    unsafe { bias_relu.launch(config(geometry)) }?;
    Ok(())
}

/// Only queues the copy: into page-locked memory it is asynchronous, so the thread can serve
/// another request.
#[gpu_profile(bytes = from.num_bytes())]
fn download(
    stream: &Arc<CudaStream>,
    from: &CudaSlice<f32>,
    to: &mut PinnedHostSlice<f32>,
) -> Result<(), DriverError> {
    stream.memcpy_dtoh(from, to)
}

/// Completes when all work queued on the stream is done; it polls an event and sleeps 1 ms in
/// between.
#[gpu_profile(cpu)]
async fn finished(stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    let event = stream.record_event(None)?;
    while !event.try_is_complete()? {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// The largest error of a sample of the results against sums in double precision.
#[gpu_profile(cpu)]
fn check(answer: &[f32], rows: &[f32], weights: &[f32], bias: &[f32]) -> f64 {
    let side = bias.len();
    let error = |at: usize| {
        let (i, j) = (at / side, at % side);
        let term = |k| f64::from(rows[i * side + k]) * f64::from(weights[k * side + j]);
        let sum = (0..side).map(term).sum::<f64>() + f64::from(bias[j]);
        let error = (f64::from(answer[at]) - sum.max(0.0)).abs();
        if error.is_nan() { f64::INFINITY } else { error }
    };
    (0..rows.len()).step_by(97).map(error).fold(0.0, f64::max)
}

fn config(geometry: Geometry) -> LaunchConfig {
    LaunchConfig {
        grid_dim: geometry.grid,
        block_dim: geometry.block,
        shared_mem_bytes: 0,
    }
}

/// `count` numbers between -1 and 1, the same for the same seed.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let hash = |i: usize| ((i + seed * count) as u32).wrapping_mul(2_654_435_761) >> 8;
    (0..count)
        .map(|i| hash(i) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}
