//! The reported event overhead, compared with empty event pairs.

use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::Session;

use super::{RESOLUTION_NS, annotated, text};
use crate::check::{Row, RunMode};
use crate::hand_timed::{self, Kernel, Pair};
use crate::statistics::{Spread, figure, performance, time};

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(1_000).map_err(text)?;
    let session = Session::builder().start().map_err(text)?;
    annotated(&stream, &kernel).map_err(text)?;
    let deadline = Instant::now() + Duration::from_secs(10);
    let floor = loop {
        if let Some(floor) = gpuprof::collect().diagnostics.event_overhead_ns {
            break floor as f64;
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
            time(floor),
            format!("over 0, at most {}", time(empty.median + RESOLUTION_NS)),
            floor > 0.0 && floor <= empty.median + RESOLUTION_NS,
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
