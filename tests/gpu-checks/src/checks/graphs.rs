//! Promise: a function marked `graph` is counted and timed at every replay, with one or several
//! launches pending, and 10,000 captures in GLOBAL mode succeed beside threads with spans.

mod capture_stress;

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream, DriverError};
use gpuprof::{Graph, Profile, gpu_profile};

use super::driver::{graph_costs, measure_queue_room};
use crate::check::{Check, Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::hand_timed::Pair;
use crate::known_durations::{self, Wanted, function, longest, measured, row};
use crate::statistics::time;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "graphs",
        promise: "Functions marked `graph` are counted and timed at every replay.",
        limit: Duration::from_secs(60),
        run,
    },
    Check {
        name: "graph-queue",
        promise: "A stream takes as many launches through gpuprof as without it.",
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
/// Resolution of events (cuEventElapsedTime), in ns.
const RESOLUTION_NS: u64 = 500;
/// Accepted time on a busy stream between the records around a launch and those inside its graph,
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

/// The nodes of a model as in `driver::graph_costs`: `r` is an event record, `k` a kernel.
const MODEL_NODES: &str = "rrkrkrkrr";

/// Kernel time of one replay of the model, ns.
const WHOLE: u64 = LAYERS * LAYER + MODEL;

fn captured(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)?;
    let inside = model(gpu, stream);
    let graph = stream.end_capture(Flags(0));
    inside?;
    Ok(graph?.expect("a stream that was being captured gives a graph"))
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("a graph");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = &gpu.context.new_stream().map_err(&failed)?;
    // A stream takes 113 such launches, and as many event records of the program besides
    // (`graph-queue`).
    let launches = if run_mode.short { 5 } else { 80 };
    let mut rows = Vec::new();

    // Captured before any session: nothing is measured between sessions, and an instantiation must
    // not wait behind a kernel.
    let graph = Graph::new(captured(&gpu, stream).map_err(&failed)?);
    let mut graphs = Vec::new();
    for _ in 0..known_durations::TRIES {
        graphs.push(Graph::new(captured(&gpu, stream).map_err(&failed)?));
    }

    let profile = measured(&[(&gpu, stream)], |_| {
        (0..launches).try_for_each(|_| graph.launch())
    })?;
    let what = format!("{launches} launches of a graph, all pending at once");
    rows.push(row(what, &profile, &replays(launches)));

    rows.extend(beside_pairs(&gpu, stream, &graph, launches)?);

    let profile = measured(&[(&gpu, stream)], |_| {
        let graph = graphs.pop().expect("one for each try");
        (0..launches).try_for_each(|_| graph.launch())
    })?;
    let what = format!("{launches} launches of a graph that is dropped while they are pending");
    rows.push(row(what, &profile, &replays(launches)));
    rows.push(one_by_one(&gpu, stream, &graph, launches).map_err(&failed)?);
    Ok(rows)
}

/// The number of launches that a stream takes before one waits: of a graph launched through
/// gpuprof, and of a graph with the same nodes without gpuprof.
fn queue(_: &RunMode) -> Result<Vec<Row>, String> {
    const ENOUGH: usize = 2_500;
    let failed = failed_in("launches of a graph");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = &gpu.context.new_stream().map_err(&failed)?;
    let graph = Graph::new(captured(&gpu, stream).map_err(&failed)?);
    // The first launch uploads the graph.
    graph.launch().map_err(&failed)?;
    let session = gpuprof::Session::builder().start();
    let session = session.map_err(failed_in("a session"))?;
    let ours = measure_queue_room(&gpu, stream, ENOUGH, || graph.launch()).map_err(&failed)?;
    drop(session.finish());
    let theirs = graph_costs::measure_queue_room(&gpu, stream, MODEL_NODES)?;
    Ok(vec![Row::judged(
        "launches before one waits: through gpuprof, and of the same nodes without",
        format!("{ours} and {theirs}"),
        "as many, ± 1",
        ours.abs_diff(theirs) <= 1,
    )])
}

/// The expected result of `launches` launches.
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

/// Compares gpuprof's times with those of event pairs outside the graph around each launch.
fn beside_pairs(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    graph: &Graph,
    launches: u64,
) -> Result<Vec<Row>, String> {
    let failed = failed_in("pairs around launches");
    let pairs = Pair::ring(launches as usize).map_err(&failed)?;
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
        by_hand += pair.read().map_err(&failed)?;
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
        Row::judged(
            "their time compared with the pairs around them",
            format!("{} and {}", time(ours as f64), time(by_hand as f64)),
            format!(
                "no more than theirs, and at most {} a launch less",
                time(LAUNCH_NS as f64)
            ),
            ours <= by_hand + over && ours + under >= by_hand,
        ),
    ])
}

/// Launches that are awaited one by one, so that their events are reused.
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

/// Checks the counts, and that no time is too short. Times include the gaps of an idle stream.
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
    Row::judged(
        format!("{launches} launches, each awaited"),
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
