//! A matrix product in pieces, copied in, computed and copied out: on one stream, then on three
//! that overlap.
//!
//! Run `cargo run --release --example 03_streams`; the table comes on standard error at exit.
//!
//! Look at the GPU total of `on_three_streams` against `on_one_stream`: the same pieces, the same
//! bytes, but while one stream computes another copies. A span of several streams reaches from the
//! first start to the last end. The CPU time of `multiply` and `copy_out` is a small part of their
//! GPU time: the host's memory is page-locked, so that copies are queued like launches, and all
//! waiting is in `wait`. (The simulated device reads the source of `copy_in` at once, which takes
//! its host's time.) On a GPU the pieces of the second run may take longer each, as they share the
//! device: that is the price of the shorter whole.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::gpu_profile;
use simcuda::Device;

/// Pieces of the left factor, and of the result.
const PIECES: usize = 12;
/// Every so many-th result is compared with the reference.
const STEP: usize = 997;
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
    let f = module.load_function(kernels::MATMUL_TILED)?;
    let mut lanes = [
        Lane::new(&context, side)?,
        Lane::new(&context, side)?,
        Lane::new(&context, side)?,
    ];
    let right = numbers(side * side, 1);
    let job = Job {
        f,
        side,
        right: lanes[0].stream.clone_htod(&right)?,
    };
    let mut pieces = Vec::new();
    for seed in 0..PIECES {
        pieces.push(Piece::new(&context, &numbers(side * side, 2 + seed))?);
    }
    context.synchronize()?;

    on_one_stream(&job, &mut lanes[0], &mut pieces)?;
    let first = check(&pieces, &right, side)?;
    for piece in &mut pieces {
        piece.result.as_mut_slice()?.fill(f32::NAN);
    }
    on_three_streams(&job, &mut lanes, &mut pieces)?;
    let second = check(&pieces, &right, side)?;
    println!("{PIECES} products of {side}×{side}: off by at most {first:.0e} and {second:.0e}");
    if first.max(second) > TOLERANCE {
        return Err(format!("a product is wrong: off by more than {TOLERANCE:.0e}").into());
    }
    Ok(())
}

/// One piece after the other: the device either copies or computes.
#[gpu_profile(stream = lane.stream, items = pieces.len())]
fn on_one_stream(job: &Job, lane: &mut Lane, pieces: &mut [Piece]) -> Result<(), DriverError> {
    for piece in pieces {
        run(job, lane, piece)?;
    }
    wait(&lane.stream)
}

/// The pieces in turn on three streams: what one copies overlaps with what another computes.
#[gpu_profile(stream = [lanes[0].stream, lanes[1].stream, lanes[2].stream], items = pieces.len())]
fn on_three_streams(
    job: &Job,
    lanes: &mut [Lane; 3],
    pieces: &mut [Piece],
) -> Result<(), DriverError> {
    for (n, piece) in pieces.iter_mut().enumerate() {
        run(job, &mut lanes[n % 3], piece)?;
    }
    lanes.iter().try_for_each(|lane| wait(&lane.stream))
}

/// Queues all of one piece; nothing here waits.
fn run(job: &Job, lane: &mut Lane, piece: &mut Piece) -> Result<(), DriverError> {
    copy_in(&lane.stream, &piece.left, &mut lane.left)?;
    multiply(&lane.stream, job, &lane.left, &mut lane.result)?;
    copy_out(&lane.stream, &lane.result, &mut piece.result)
}

#[gpu_profile(bytes = from.num_bytes())]
fn copy_in(
    stream: &Arc<CudaStream>,
    from: &PinnedHostSlice<f32>,
    to: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    stream.memcpy_htod(from, to)
}

#[gpu_profile(flops = kernels::matmul_flops(job.side, job.side, job.side))]
fn multiply(
    stream: &Arc<CudaStream>,
    job: &Job,
    left: &CudaSlice<f32>,
    result: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let side = job.side as i32;
    let geometry = kernels::matmul_geometry(job.side as u32, job.side as u32);
    let mut launch = stream.launch_builder(&job.f);
    launch.arg(left).arg(&job.right).arg(result);
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

#[gpu_profile(bytes = from.num_bytes())]
fn copy_out(
    stream: &Arc<CudaStream>,
    from: &CudaSlice<f32>,
    to: &mut PinnedHostSlice<f32>,
) -> Result<(), DriverError> {
    stream.memcpy_dtoh(from, to)
}

/// The only place where the host waits.
#[gpu_profile(cpu)]
fn wait(stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    stream.synchronize()
}

/// The largest error of a sample of all results against sums in double precision.
#[gpu_profile(cpu)]
fn check(pieces: &[Piece], right_matrix: &[f32], side: usize) -> Result<f64, DriverError> {
    let mut largest: f64 = 0.0;
    for piece in pieces {
        let (left, result) = (piece.left.as_slice()?, piece.result.as_slice()?);
        for at in (0..side * side).step_by(STEP) {
            let (i, j) = (at / side, at % side);
            let term = |k| f64::from(left[i * side + k]) * f64::from(right_matrix[k * side + j]);
            let error = (f64::from(result[at]) - (0..side).map(term).sum::<f64>()).abs();
            largest = largest.max(if error.is_nan() { f64::INFINITY } else { error });
        }
    }
    Ok(largest)
}

/// What all pieces share.
struct Job {
    f: CudaFunction,
    side: usize,
    right: CudaSlice<f32>,
}

/// A stream with device memory of its own for one piece.
struct Lane {
    stream: Arc<CudaStream>,
    left: CudaSlice<f32>,
    result: CudaSlice<f32>,
}

impl Lane {
    fn new(context: &Arc<CudaContext>, side: usize) -> Result<Self, DriverError> {
        let stream = context.new_stream()?;
        Ok(Self {
            left: stream.alloc_zeros(side * side)?,
            result: stream.alloc_zeros(side * side)?,
            stream,
        })
    }
}

/// One piece in page-locked memory of the host.
struct Piece {
    left: PinnedHostSlice<f32>,
    result: PinnedHostSlice<f32>,
}

impl Piece {
    fn new(context: &Arc<CudaContext>, numbers: &[f32]) -> Result<Self, DriverError> {
        // Flags 0: the default of cudarc, write-combined, is slow to read for the check.
        // SAFETY: written just below.
        let mut left = unsafe { context.alloc_pinned_with_flags(numbers.len(), 0) }?;
        // SAFETY: filled just below.
        let mut result = unsafe { context.alloc_pinned_with_flags(numbers.len(), 0) }?;
        left.as_mut_slice()?.copy_from_slice(numbers);
        result.as_mut_slice()?.fill(f32::NAN);
        Ok(Self { left, result })
    }
}

/// `count` numbers between -1 and 1, the same for the same seed.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let hash = |i: usize| ((i + seed * count) as u32).wrapping_mul(2_654_435_761) >> 8;
    (0..count)
        .map(|i| hash(i) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}
