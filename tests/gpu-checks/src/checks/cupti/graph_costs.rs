//! How much longer launches of a graph of many small nodes take with CUPTI, which writes a record
//! for each node, and under Nsight Systems' trace of graph nodes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DriverError};
use gpuprof::gpu_profile;

use super::nsight_tools;
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::runner;
use crate::statistics::{Spread, figure, in_turn, ratios};

pub(super) const NAME: &str = "small-graph-nodes";

const METHODS: [&str; 3] = [
    "off",
    "on, with CUPTI",
    "off, under nsys --cuda-graph-trace=node",
];

/// Nodes of the graph, launches, and runs per method.
fn counts(run_mode: &RunMode) -> (usize, usize, usize) {
    if run_mode.short {
        (50, 5, 1)
    } else {
        (1_000, 200, 7)
    }
}

#[gpu_profile(name = "small layer")]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>) -> Done {
    (0..10).try_for_each(|_| gpu.saxpy(stream, 0.0, x, y))
}

type Done = Result<(), DriverError>;

#[gpu_profile(name = "small replay")]
fn replay(stream: &Arc<CudaStream>, graph: &CudaGraph) -> Done {
    let _ = stream;
    graph.launch()
}

/// Prints the time from the first launch until the GPU was idle, ns.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let ns = launches(run_mode).map_err(failed_in("a graph"))?;
    println!("{ns}");
    Ok(ExitCode::SUCCESS)
}

fn launches(run_mode: &RunMode) -> Result<u128, DriverError> {
    let (nodes, launches, _) = counts(run_mode);
    let gpu = Gpu::new()?;
    let stream = gpu.context.new_stream()?;
    let (x, mut y) = (stream.alloc_zeros(32)?, stream.alloc_zeros(32)?);
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let inside = (0..nodes / 10).try_for_each(|_| layer(&gpu, &stream, &x, &mut y));
    let graph = stream.end_capture(Flags(0));
    inside?;
    let graph = graph?.expect("a stream that was being captured gives a graph");
    (0..3).try_for_each(|_| replay(&stream, &graph))?;
    stream.synchronize()?;
    let began = Instant::now();
    (0..launches).try_for_each(|_| replay(&stream, &graph))?;
    stream.synchronize()?;
    Ok(began.elapsed().as_nanos())
}

/// The rows: about these times nothing is promised.
pub(super) fn rows(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let (nodes, launches, repeats) = counts(run_mode);
    let nsys = nsight_tools::find("nsys").filter(|_| !run_mode.simulated);
    let methods = if nsys.is_some() { 3 } else { 2 };
    let walls = in_turn(methods, repeats, |index| {
        let mut command = runner::own_command(&["program", NAME], run_mode)?;
        command.env("GPUPROF_REPORT", "none");
        match index {
            1 => command.env("GPUPROF_CUPTI", "on"),
            _ => command.env("GPUPROF", "off"),
        };
        if let (2, Some(nsys)) = (index, &nsys) {
            let report = std::env::temp_dir().join(format!("graphs-{}", std::process::id()));
            let options = ["--cuda-graph-trace=node"];
            command = nsight_tools::under_nsys(nsys, &command, &report, &options);
        }
        super::printed_time(command).map_err(|error| format!("{}: {error}", METHODS[index]))
    })?;
    let rows = METHODS.iter().zip(&walls).map(|(method, wall)| {
        let shown = format!(
            "{}: {} times off",
            Spread::of(wall).time(),
            Spread::of(&ratios(wall, &walls[0])).ratio()
        );
        let what = format!("{launches} launches of a graph of {nodes} small kernels, {method}");
        figure(run_mode, what, shown)
    });
    Ok(rows.collect())
}
