//! Theoretical occupancy compared with the driver's result for the same kernel and launch
//! configuration.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::{Profile, gpu_profile};

use super::refusal;
use crate::check::{Row, RunMode};
use crate::device::{self, failed_in};
use crate::process;

pub(super) const NAME: &str = "kernels-limits";

/// Threads per block, and dynamic shared memory in bytes.
const SHAPES: [(u32, u32); 6] = [
    (32, 0),
    (96, 0),
    (128, 20_000),
    (256, 0),
    (512, 30_000),
    (1024, 0),
];

#[gpu_profile(name = "spin")]
fn spin(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    (threads, shared): (u32, u32),
) -> Result<(), DriverError> {
    let mut launch = stream.launch_builder(function);
    launch.arg(&1_000_u64);
    let config = LaunchConfig {
        grid_dim: (1, 1, 1),
        block_dim: (threads, 1, 1),
        shared_mem_bytes: shared,
    };
    // SAFETY: this is the kernel's only parameter.
    unsafe { launch.launch(config) }.map(drop)
}

/// The occupancy of one launch configuration.
#[derive(serde::Serialize, serde::Deserialize)]
struct Shape {
    threads: u32,
    shared: u32,
    /// Blocks per multiprocessor, from the driver.
    blocks: u32,
    profile: Profile,
}

/// Measures each configuration in its own window and prints the results.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("a launch");
    let context = CudaContext::new(0).map_err(&failed)?;
    let stream = context.new_stream().map_err(&failed)?;
    let module = context
        .load_module(Ptx::from_src(kernels::SPIN_PTX))
        .map_err(&failed)?;
    let function = module.load_function(kernels::SPIN).map_err(&failed)?;
    let mut shapes = Vec::new();
    for (threads, shared) in SHAPES {
        gpuprof::reset();
        spin(&stream, &function, (threads, shared)).map_err(&failed)?;
        stream.synchronize().map_err(&failed)?;
        let blocks = function
            .occupancy_max_active_blocks_per_multiprocessor(threads, shared as usize, None)
            .map_err(&failed)?;
        shapes.push(Shape {
            threads,
            shared,
            blocks,
            profile: gpuprof::collect(),
        });
    }
    process::print(&shapes)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let shapes: Vec<Shape> = super::with_cupti(NAME, run_mode)?;
    Ok(shapes.iter().map(row).collect())
}

fn row(shape: &Shape) -> Row {
    let what = format!(
        "occupancy of {} threads a block and {} B of shared memory",
        shape.threads, shape.shared
    );
    if let Some(why) = refusal(&shape.profile) {
        return Row::unavailable(what, why);
    }
    let most = shape
        .profile
        .devices
        .first()
        .and_then(|device| device.threads_per_sm)
        .unwrap_or(0);
    let warps = shape.threads.div_ceil(32) * 32;
    let theirs = f64::from(shape.blocks * warps) / f64::from(most);
    let ours = shape
        .profile
        .kernels
        .first()
        .and_then(|kernel| kernel.occupancy);
    Row::judged(
        what,
        ours.map_or("none".into(), |ours| format!("{:.1} %", 100.0 * ours)),
        format!("{:.1} %, as the driver says", 100.0 * theirs),
        ours.is_some_and(|ours| (ours - theirs).abs() < 1e-9),
    )
}
