//! Promise: captures succeed in each mode beside threads with spans, captured calls are counted and
//! add nothing to the graph, and a replay is the GPU span of the function around its launch.

use std::time::Duration;

use cudarc::driver::CudaGraph;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use promises::captures::{Beside, succeed_beside_spans};
use promises::graphs;

use super::driver::measure_queue_room;
use crate::check::{Check, Row, RunMode, rows};
use crate::device::{Gpu, TOLERANCE, failed_in};
use crate::session::every_call;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "capture",
        promise: "Captures succeed in each mode while other threads run spans.",
        limit: Duration::from_secs(180),
        run: captures,
    },
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
        run: storm,
    },
];

const MODE: Mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;

fn captures(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the captures"))?;
    let times = if run_mode.short { 20 } else { 300 };
    let beside = Beside {
        threads: 3,
        is_paced: false,
    };
    rows([succeed_beside_spans(&gpu, &graphs::MODES, times, beside)])
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("a graph"))?;
    let launches = if run_mode.short { 5 } else { 80 };
    rows([graphs::replays_are_spans(&gpu, MODE, launches, TOLERANCE)])
}

fn storm(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the captures"))?;
    let times = if run_mode.short { 100 } else { 10_000 };
    let beside = Beside {
        threads: 2,
        is_paced: true,
    };
    rows([succeed_beside_spans(&gpu, &[MODE], times, beside)])
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
    let annotated =
        graphs::captured(stream, MODE, || graphs::model(&gpu, stream)).map_err(&failed)?;
    let plain =
        graphs::captured(stream, MODE, || graphs::plain_model(&gpu, stream)).map_err(&failed)?;
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
