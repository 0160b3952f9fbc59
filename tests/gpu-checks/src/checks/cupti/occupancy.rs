//! Theoretical occupancy against what the driver works out for the same kernel and launch shape.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::{Profile, gpu_profile};

use super::refusal;
use crate::check::{Row, World};
use crate::device::{self, while_doing};

pub(super) const NAME: &str = "kernels-limits";

/// Threads of a block, and its dynamic shared memory in bytes.
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
    // SAFETY: this is the kernel's one parameter.
    unsafe { launch.launch(config) }.map(drop)
}

/// What is worked out for one launch shape.
#[derive(serde::Serialize, serde::Deserialize)]
struct Shape {
    threads: u32,
    shared: u32,
    /// Blocks that a multiprocessor holds, by the driver.
    blocks: u32,
    profile: Profile,
}

/// Each shape in a window of its own; prints what was found.
pub(super) fn play(world: &World) -> Result<ExitCode, String> {
    device::open(world)?;
    let doing = while_doing("a launch");
    let context = CudaContext::new(0).map_err(&doing)?;
    let stream = context.new_stream().map_err(&doing)?;
    let module = context
        .load_module(Ptx::from_src(kernels::SPIN_PTX))
        .map_err(&doing)?;
    let function = module.load_function(kernels::SPIN).map_err(&doing)?;
    let mut shapes = Vec::new();
    for (threads, shared) in SHAPES {
        gpuprof::reset();
        spin(&stream, &function, (threads, shared)).map_err(&doing)?;
        stream.synchronize().map_err(&doing)?;
        let blocks = function
            .occupancy_max_active_blocks_per_multiprocessor(threads, shared as usize, None)
            .map_err(&doing)?;
        shapes.push(Shape {
            threads,
            shared,
            blocks,
            profile: gpuprof::collect(),
        });
    }
    let printed = serde_json::to_string(&shapes).map_err(|error| error.to_string())?;
    println!("{printed}");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let mut command = crate::runner::itself(&["play", NAME], world)?;
    command.env("GPUPROF_CUPTI", "on");
    command.env("GPUPROF_REPORT", "none");
    let ended = crate::process::run(command, super::LIMIT).map_err(|error| error.to_string())?;
    if let Some(trouble) = ended.trouble() {
        return Err(format!("{trouble}\n{}", ended.tail()));
    }
    let printed = ended.stdout.lines().last().unwrap_or_default();
    let shapes: Vec<Shape> = serde_json::from_str(printed).map_err(|error| error.to_string())?;
    Ok(shapes.iter().map(row).collect())
}

fn row(shape: &Shape) -> Row {
    let what = format!(
        "occupancy of {} threads a block and {} B of shared memory",
        shape.threads, shape.shared
    );
    if let Some(why) = refusal(&shape.profile) {
        return Row::not_here(what, why);
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
    Row::held(
        what,
        ours.map_or("none".into(), |ours| format!("{:.1} %", 100.0 * ours)),
        format!("{:.1} %, as the driver says", 100.0 * theirs),
        ours.is_some_and(|ours| (ours - theirs).abs() < 1e-9),
    )
}
