//! The reported event overhead, compared with empty event pairs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::Session;

use super::{RESOLUTION_NS, annotated, text};
use crate::check::{Row, RunMode};
use crate::hand_timed::{self, Kernel, Pair};
use crate::statistics::{Spread, figure, performance, time};

/// A context whose only call is short.
pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    measured_beside(run_mode, |stream, kernel| {
        annotated(stream, kernel).map_err(text)
    })
}

/// Short kernels on two streams from the first call on, as in training.
pub(super) fn under_load(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let beside = hand_timed::stream().map_err(text)?;
    measured_beside(run_mode, |stream, kernel| {
        for _ in 0..if run_mode.short { 2 } else { 200 } {
            for _ in 0..100 {
                annotated(stream, kernel).map_err(text)?;
                kernel.launch(&beside).map_err(text)?;
            }
            stream.synchronize().map_err(text)?;
        }
        Ok(())
    })
}

/// The rows of a session in which `work` runs.
fn measured_beside(
    run_mode: &RunMode,
    work: impl FnOnce(&Arc<CudaStream>, &Kernel) -> Result<(), String>,
) -> Result<Vec<Row>, String> {
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(1_000).map_err(text)?;
    let session = Session::builder().start().map_err(text)?;
    work(&stream, &kernel)?;
    let deadline = Instant::now() + Duration::from_secs(10);
    let overhead = loop {
        if let Some(overhead) = gpuprof::collect().diagnostics.event_overhead_ns {
            break overhead as f64;
        }
        if Instant::now() > deadline {
            return Err("the report has no event overhead after 10 s".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let _ = session.finish();
    let empty = Spread::of(&empty_pairs(
        &stream,
        if run_mode.short { 20 } else { 1_000 },
    )?);
    Ok(vec![
        figure(
            run_mode,
            "empty pairs by hand",
            format!("{}, least {}", empty.time(), time(empty.least)),
        ),
        performance(
            run_mode,
            "event overhead in the report",
            time(overhead),
            format!("over 0, at most {}", time(empty.median + RESOLUTION_NS)),
            overhead > 0.0 && overhead <= empty.median + RESOLUTION_NS,
        ),
    ])
}

/// The durations in ns of `count` empty event pairs on an idle stream.
fn empty_pairs(stream: &CudaStream, count: usize) -> Result<Vec<f64>, String> {
    // Less than the queue holds, so that no record waits.
    const AT_ONCE: usize = 100;
    let ring = Pair::ring(AT_ONCE).map_err(text)?;
    let mut read = Vec::new();
    while read.len() < count {
        stream.synchronize().map_err(text)?;
        for pair in &ring {
            pair.start(stream).map_err(text)?;
            pair.end(stream).map_err(text)?;
        }
        for pair in &ring {
            read.push(pair.read().map_err(text)?);
        }
    }
    Ok(read)
}
