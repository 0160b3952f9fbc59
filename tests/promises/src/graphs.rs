//! Promise: captured calls are counted and not timed, and a replay is the GPU span of the function
//! around its launch.

use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream, DriverError};
use gpuprof::{Profile, Sampling, Session, gpu_profile};

use crate::blocked_streams::measured;
use crate::known_spans::{KnownSpans, errors, function, observe};
use crate::observation::{Observation, Observed};
use crate::tolerance::Tolerance;
use crate::world::{Done, World, failed_in};

/// The modes of captures.
pub const MODES: [Mode; 3] = [
    Mode::CU_STREAM_CAPTURE_MODE_GLOBAL,
    Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    Mode::CU_STREAM_CAPTURE_MODE_RELAXED,
];

/// Durations of a layer's kernel and of the kernel that the model adds, in ns.
const LAYER: u64 = 200_000;
const MODEL: u64 = 100_000;
/// Layers per model.
const LAYERS: u64 = 2;
/// Kernel time of one replay of the model, ns.
const WHOLE: u64 = LAYERS * LAYER + MODEL;

#[gpu_profile(name = "layer of a graph")]
fn layer(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, LAYER)
}

/// Three kernels, two of them of annotated functions.
///
/// # Errors
/// A driver error.
#[gpu_profile(name = "model of a graph")]
pub fn model(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    layer(world, stream)?;
    world.spin(stream, MODEL)?;
    layer(world, stream)
}

/// The model without annotated functions.
///
/// # Errors
/// A driver error.
pub fn plain_model(world: &dyn World, stream: &Arc<CudaStream>) -> Done {
    world.spin(stream, LAYER)?;
    world.spin(stream, MODEL)?;
    world.spin(stream, LAYER)
}

#[gpu_profile(name = "replayed")]
fn replay(graph: &CudaGraph, _stream: &Arc<CudaStream>) -> Done {
    graph.launch()
}

/// The graph of what `body` launches on `stream`.
///
/// # Errors
/// A driver error.
///
/// # Panics
/// If the capture gives no graph.
pub fn captured(
    stream: &Arc<CudaStream>,
    mode: Mode,
    body: impl FnOnce() -> Done,
) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(mode)?;
    let inside = body();
    let graph = stream.end_capture(Flags(0));
    inside?;
    Ok(graph?.expect("a stream that was being captured gives a graph"))
}

/// A capture, and launches of its graph that are pending all at once.
///
/// # Errors
/// A driver error as text.
pub fn replays_are_spans(
    world: &dyn World,
    mode: Mode,
    launches: u64,
    within: Tolerance,
) -> Observed {
    let failed = failed_in("a graph");
    let stream = &world.stream()?;
    // Captured before the sessions of `measured`: an instantiation must not wait behind a kernel.
    let session = Session::builder().sampling(Sampling::EveryCall).start();
    let session = session.map_err(failed_in("a session"))?;
    let graph = captured(stream, mode, || model(world, stream)).map_err(&failed)?;
    let profile = session.finish();
    world.accept(&profile);
    let counted = counts(&profile);
    let profile = measured(&[(world, stream)], |_| {
        (0..launches).try_for_each(|_| replay(&graph, stream))
    })?;
    let what = format!("{launches} launches of a graph, all pending at once");
    let expected = KnownSpans::new("replayed", vec![WHOLE; launches as usize]);
    Ok(vec![counted, observe(what, &profile, &[expected], within)])
}

/// Whether each captured call is counted, and none timed.
fn counts(profile: &Profile) -> Observation {
    let found = |name| {
        function(profile, name).map_or((0, 0, false), |function| {
            let is_timed = function.gpu.is_some() || function.untimed_calls > 0;
            (function.calls, function.captured_calls, is_timed)
        })
    };
    let (layer, model) = (found("layer of a graph"), found("model of a graph"));
    Observation::new(
        "calls in a capture",
        format!(
            "layer: {} of {} captured; model: {} of {}; {}",
            layer.1,
            layer.0,
            model.1,
            model.0,
            errors(profile)
        ),
        format!("layer: {LAYERS} of {LAYERS} captured; model: 1 of 1; no error"),
        layer == (LAYERS, LAYERS, false)
            && model == (1, 1, false)
            && profile.diagnostics.errors.is_empty(),
    )
}
