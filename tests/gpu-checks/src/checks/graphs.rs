//! Promise: captured calls are counted and add nothing to the graph, a replay is the GPU span of
//! the function around its launch, and 10,000 captures in GLOBAL mode succeed beside threads with
//! spans.

mod capture_stress;

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use super::driver::measure_queue_room;
use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::known_durations::{self, Wanted, function, measured, row};
use crate::session::every_call;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "graphs",
        promise: "A replay is the GPU span of the function around its launch.",
        limit: Duration::from_secs(60),
        run,
    },
    Check {
        name: "graph-queue",
        promise: "A stream takes as many launches of a graph of annotated functions as of the \
                  same graph without them.",
        limit: Duration::from_secs(60),
        run: queue,
    },
    Check {
        name: "capture-storm",
        promise: "Ten thousand GLOBAL captures in a row succeed beside threads with spans.",
        limit: Duration::from_secs(120),
        run: capture_stress::run,
    },
];

/// Durations of a layer's kernel and of the kernel that the model adds, in ns.
const LAYER: u64 = 200_000;
const MODEL: u64 = 100_000;
/// Layers per model.
const LAYERS: u64 = 2;
/// Kernel time of one replay of the model, ns.
const WHOLE: u64 = LAYERS * LAYER + MODEL;

#[gpu_profile(name = "layer")]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, LAYER)
}

#[gpu_profile(name = "model")]
fn model(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    layer(gpu, stream)?;
    gpu.spin(stream, MODEL)?;
    layer(gpu, stream)
}

/// The model without annotated functions.
fn plain_model(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, LAYER)?;
    gpu.spin(stream, MODEL)?;
    gpu.spin(stream, LAYER)
}

#[gpu_profile(name = "replayed")]
fn replay(graph: &CudaGraph, _stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    graph.launch()
}

fn captured(
    stream: &Arc<CudaStream>,
    body: impl FnOnce() -> Result<(), DriverError>,
) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let inside = body();
    let graph = stream.end_capture(Flags(0));
    inside?;
    Ok(graph?.expect("a stream that was being captured gives a graph"))
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("a graph");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = &gpu.context.new_stream().map_err(&failed)?;
    let launches = if run_mode.short { 5 } else { 80 };
    // Captured before the sessions of `measured`: an instantiation must not wait behind a kernel.
    let session = every_call().start();
    let session = session.map_err(failed_in("a session"))?;
    let graph = captured(stream, || model(&gpu, stream)).map_err(&failed)?;
    let counted = counts(&session.finish());
    let profile = measured(&[(&gpu, stream)], |_| {
        (0..launches).try_for_each(|_| replay(&graph, stream))
    })?;
    let what = format!("{launches} launches of a graph, all pending at once");
    let wanted = Wanted {
        name: "replayed",
        runs: launches,
        shortest: WHOLE,
        longest: WHOLE,
    };
    Ok(vec![counted, row(what, &profile, &[wanted])])
}

/// Checks that each captured call is counted, and none timed.
fn counts(profile: &Profile) -> Row {
    let found = |name| {
        function(profile, name).map_or((0, 0, false), |function| {
            let timed = function.gpu.is_some();
            (function.calls, function.captured_calls, timed)
        })
    };
    let (layer, model) = (found("layer"), found("model"));
    Row::judged(
        "calls in a capture",
        format!(
            "layer: {} of {} captured; model: {} of {}; {}",
            layer.1,
            layer.0,
            model.1,
            model.0,
            known_durations::errors(profile)
        ),
        format!("layer: {LAYERS} of {LAYERS} captured; model: 1 of 1; no error"),
        layer == (LAYERS, LAYERS, false)
            && model == (1, 1, false)
            && profile.diagnostics.errors.is_empty(),
    )
}

/// The number of launches that a stream takes before one waits: of a graph of annotated functions,
/// and of a graph with the same kernels without them.
fn queue(_: &RunMode) -> Result<Vec<Row>, String> {
    const ENOUGH: usize = 2_500;
    let failed = failed_in("launches of a graph");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = &gpu.context.new_stream().map_err(&failed)?;
    let session = every_call().start();
    let session = session.map_err(failed_in("a session"))?;
    let annotated = captured(stream, || model(&gpu, stream)).map_err(&failed)?;
    let plain = captured(stream, || plain_model(&gpu, stream)).map_err(&failed)?;
    let room = |graph: &CudaGraph| {
        // The first launch uploads the graph.
        graph.launch()?;
        measure_queue_room(&gpu, stream, ENOUGH, || graph.launch())
    };
    let ours = room(&annotated).map_err(&failed)?;
    let theirs = room(&plain).map_err(&failed)?;
    drop(session.finish());
    Ok(vec![Row::judged(
        "launches before one waits: of annotated functions, and of the same kernels without",
        format!("{ours} and {theirs}"),
        "as many, ± 1",
        ours.abs_diff(theirs) <= 1,
    )])
}
