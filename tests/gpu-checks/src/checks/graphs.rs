//! Promise: a function marked `graph` is counted and timed at every replay, several launches under
//! way or not; and captures in GLOBAL mode succeed ten thousand times beside threads with spans.

mod capture_stress;

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream, DriverError};
use gpuprof::{Graph, Profile, gpu_profile};

use super::driver::{graph_costs, room};
use super::known_durations::{self, Wanted, function, longest, measured, row};
use super::raw_driver::Pair;
use super::statistics::time;
use crate::check::{Check, Row, World};
use crate::device::{Gpu, while_doing};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "graphs",
        promise: "Functions marked `graph` are counted and timed at every replay, also while \
            others are under way.",
        limit: Duration::from_secs(60),
        run,
    },
    Check {
        name: "graph-queue",
        promise: "A stream takes as many launches through gpuprof before one waits as it takes \
            past it.",
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

/// The kernel of a layer, and the one that its model adds, in ns.
const LAYER: u64 = 200_000;
const MODEL: u64 = 100_000;
/// Layers of a model.
const LAYERS: u64 = 2;
/// The resolution of events by the driver's reference (cuEventElapsedTime), in ns.
const RESOLUTION_NS: u64 = 500;
/// What may pass on a busy stream between the records around a launch and those inside its graph,
/// in ns.
const LAUNCH_NS: u64 = 100_000;

#[gpu_profile(graph, name = "layer")]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, LAYER)
}

#[gpu_profile(graph, name = "model")]
fn model(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    layer(gpu, stream)?;
    gpu.spin(stream, MODEL)?;
    layer(gpu, stream)
}

/// The nodes of a model, as `driver::replays` writes them: `r` an event record, `k` a kernel.
const MODEL_NODES: &str = "rrkrkrkrr";

/// What the GPU does in one replay of the model.
const WHOLE: u64 = LAYERS * LAYER + MODEL;

fn captured(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let inside = model(gpu, stream);
    let graph = stream.end_capture(Flags(0));
    inside?;
    Ok(graph?.expect("a stream that was being captured gives a graph"))
}

fn run(world: &World) -> Result<Vec<Row>, String> {
    let doing = while_doing("a graph");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = &gpu.context.new_stream().map_err(&doing)?;
    // A stream takes 113 such launches, and as many event records of the program's own beside them
    // (`graph-queue`).
    let launches = if world.short { 5 } else { 80 };
    let mut rows = Vec::new();

    // Captured before any session: an instantiation has no place behind a kernel, and between
    // sessions nothing is measured.
    let graph = Graph::new(captured(&gpu, stream).map_err(&doing)?);
    let mut graphs = Vec::new();
    for _ in 0..known_durations::TRIES {
        graphs.push(Graph::new(captured(&gpu, stream).map_err(&doing)?));
    }

    let profile = measured(&[(&gpu, stream)], |_| {
        (0..launches).try_for_each(|_| graph.launch())
    })?;
    let what = format!("{launches} launches of a graph, all under way at once");
    rows.push(row(what, &profile, &replays(launches)));

    rows.extend(beside_pairs(&gpu, stream, &graph, launches)?);

    let profile = measured(&[(&gpu, stream)], |_| {
        let graph = graphs.pop().expect("one for each try");
        (0..launches).try_for_each(|_| graph.launch())
    })?;
    let what = format!("{launches} launches of a graph that is dropped while they are under way");
    rows.push(row(what, &profile, &replays(launches)));
    rows.push(one_by_one(&gpu, stream, &graph, launches).map_err(&doing)?);
    Ok(rows)
}

/// How many launches a stream takes before one waits: of a graph that is launched through gpuprof,
/// and of one with the same nodes that it has no part in.
fn queue(_: &World) -> Result<Vec<Row>, String> {
    const ENOUGH: usize = 2_500;
    let doing = while_doing("launches of a graph");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = &gpu.context.new_stream().map_err(&doing)?;
    let graph = Graph::new(captured(&gpu, stream).map_err(&doing)?);
    // The first launch uploads it.
    graph.launch().map_err(&doing)?;
    let session = gpuprof::Session::builder().start();
    let session = session.map_err(while_doing("a session"))?;
    let ours = room(&gpu, stream, ENOUGH, || graph.launch()).map_err(&doing)?;
    drop(session.finish());
    let theirs = graph_costs::room(&gpu, stream, MODEL_NODES)?;
    Ok(vec![Row::held(
        "launches that a stream takes before one waits: through gpuprof, and of the same nodes \
         without it",
        format!("{ours} and {theirs}"),
        "as many, give or take 1",
        ours.abs_diff(theirs) <= 1,
    )])
}

/// What is wanted of so many launches.
fn replays(launches: u64) -> [Wanted; 2] {
    [
        Wanted {
            name: "layer",
            runs: LAYERS * launches,
            shortest: LAYER,
            longest: LAYER,
        },
        Wanted {
            name: "model",
            runs: launches,
            shortest: WHOLE,
            longest: WHOLE,
        },
    ]
}

/// The same launches by gpuprof and by a pair of events around each of them, which are outside of
/// the graph.
fn beside_pairs(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    graph: &Graph,
    launches: u64,
) -> Result<Vec<Row>, String> {
    let doing = while_doing("pairs around launches");
    let pairs = Pair::ring(launches as usize).map_err(&doing)?;
    let profile = measured(&[(gpu, stream)], |_| {
        for pair in &pairs {
            pair.start(stream)?;
            graph.launch()?;
            pair.end(stream)?;
        }
        Ok(())
    })?;
    let mut by_hand = 0.0;
    for pair in &pairs {
        by_hand += pair.read().map_err(&doing)?;
    }
    let by_hand = by_hand as u64;
    let ours = function(&profile, "model").and_then(|model| model.gpu.as_ref());
    let ours = ours.map_or(0, |gpu| gpu.times.total_ns);
    let (under, over) = (launches * LAUNCH_NS, launches * RESOLUTION_NS);
    Ok(vec![
        row(
            format!("{launches} launches, each between two events of the program's own"),
            &profile,
            &replays(launches),
        ),
        Row::held(
            "their time beside that of the pairs around them",
            format!("{} and {}", time(ours as f64), time(by_hand as f64)),
            format!(
                "no more than theirs, and at most {} a launch less",
                time(LAUNCH_NS as f64)
            ),
            ours <= by_hand + over && ours + under >= by_hand,
        ),
    ])
}

/// Launches that are waited for one by one: their events are used again and again.
fn one_by_one(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    graph: &Graph,
    launches: u64,
) -> Result<Row, DriverError> {
    let session = gpuprof::Session::builder().start();
    let session = session.expect("the only session");
    for _ in 0..launches {
        graph.launch()?;
        stream.synchronize()?;
    }
    gpu.context.synchronize()?;
    let profile = session.finish();
    Ok(counts(launches, &profile))
}

/// Counts alone, and that no time is too short: an idle stream's gaps are in the times.
fn counts(launches: u64, profile: &Profile) -> Row {
    let found = |name| {
        let found = function(profile, name);
        let gpu = found.and_then(|function| function.gpu.as_ref());
        (
            found.map_or(0, |function| function.replays),
            gpu.map_or(0, |gpu| gpu.timed_calls),
            gpu.map_or(0, |gpu| gpu.times.min_ns),
        )
    };
    let (layer, model) = (found("layer"), found("model"));
    let not_shorter = |least: u64, spun| longest(least) >= spun;
    Row::held(
        format!("{launches} launches, each waited for"),
        format!(
            "layer: {} replays, {} timed; model: {} replays, {} timed; {}",
            layer.0,
            layer.1,
            model.0,
            model.1,
            known_durations::errors(profile)
        ),
        format!(
            "layer: {0} replays, {0} timed; model: {launches} replays, {launches} timed; no error",
            LAYERS * launches
        ),
        (layer.0, layer.1) == (LAYERS * launches, LAYERS * launches)
            && (model.0, model.1) == (launches, launches)
            && not_shorter(layer.2, LAYER)
            && not_shorter(model.2, WHOLE)
            && profile.diagnostics.errors.is_empty(),
    )
}
