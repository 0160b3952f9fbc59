//! The reported event overhead, compared with empty event pairs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;

use super::{RESOLUTION_NS, annotated, text};
use crate::check::{Row, RunMode};
use crate::checks::TestProgram;
use crate::hand_timed::{self, Kernel, Pair};
use crate::session::every_call;
use crate::statistics::{Spread, figure, performance, time};
use crate::{device, process, runner};

pub(super) const LOADED: TestProgram = (PROGRAM, loaded);

const PROGRAM: &str = "loaded";
/// Processes that measure under load.
const RUNS: usize = 3;
const LIMIT: Duration = Duration::from_secs(15);
/// Accepted ratio of the event overhead under load to that of the idle device.
const WANTED: f64 = 2.0;

/// A context whose only call is short.
pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(1_000).map_err(text)?;
    let session = every_call().start().map_err(text)?;
    annotated(&stream, &kernel).map_err(text)?;
    let overhead = reported()?;
    let _ = session.finish();
    let empty = idle_pairs(run_mode, &stream)?;
    Ok(vec![
        figure(run_mode, "empty pairs by hand", shown(&empty)),
        performance(
            run_mode,
            "event overhead in the report",
            time(overhead),
            format!("over 0, at most {}", time(empty.median + RESOLUTION_NS)),
            overhead > 0.0 && overhead <= empty.median + RESOLUTION_NS,
        ),
    ])
}

/// The event overhead of processes under load, and empty pairs on the idle device.
pub(super) fn under_load(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let stream = hand_timed::stream().map_err(text)?;
    let empty = idle_pairs(run_mode, &stream)?;
    let mut rows = vec![figure(
        run_mode,
        "empty pairs by hand, idle device",
        shown(&empty),
    )];
    let most = WANTED * empty.median;
    let overheads = overheads(run_mode)?;
    let shown: Vec<_> = overheads.iter().map(|ns| time(*ns)).collect();
    rows.push(performance(
        run_mode,
        format!("{RUNS} programs, kernels on other streams from the first call on"),
        shown.join(", "),
        format!("over 0, at most {WANTED} times the median: {}", time(most)),
        overheads.iter().all(|ns| *ns > 0.0 && *ns <= most),
    ));
    Ok(rows)
}

fn shown(empty: &Spread) -> String {
    format!("{}, least {}", empty.time(), time(empty.least))
}

/// What each of the processes printed, ns.
fn overheads(run_mode: &RunMode) -> Result<Vec<f64>, String> {
    let run = |_| runner::answer(PROGRAM, run_mode, LIMIT, &[]);
    (0..RUNS).map(run).collect()
}

/// Annotated short kernels on one stream beside kernels of two other threads, each with a stream
/// of its own: short ones, and ones that fill the device. Prints the event overhead in ns.
fn loaded(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(1_000).map_err(text)?;
    let elements = if run_mode.simulated { 1 << 10 } else { 1 << 22 };
    let large = Kernel::saxpy(&stream, elements).map_err(text)?;
    stream.synchronize().map_err(text)?;
    let session = every_call().start().map_err(text)?;
    let is_over = AtomicBool::new(false);
    let load = |kernel: &Kernel| {
        let beside = hand_timed::stream().map_err(text)?;
        while !is_over.load(Ordering::Relaxed) {
            (0..100)
                .try_for_each(|_| kernel.launch(&beside))
                .map_err(text)?;
            beside.synchronize().map_err(text)?;
        }
        Ok(())
    };
    let work = || {
        let began = Instant::now();
        let length = Duration::from_millis(if run_mode.short { 100 } else { 1_500 });
        while began.elapsed() < length {
            for _ in 0..100 {
                annotated(&stream, &kernel).map_err(text)?;
            }
            stream.synchronize().map_err(text)?;
        }
        Ok(())
    };
    let worked: Result<(), String> = thread::scope(|scope| {
        annotated(&stream, &kernel).map_err(text)?;
        let threads = [&kernel, &large].map(|kernel| scope.spawn(|| load(kernel)));
        let worked = work();
        is_over.store(true, Ordering::Relaxed);
        let [a, b]: [Result<(), String>; 2] =
            threads.map(|thread| thread.join().expect("it does not panic"));
        worked.and(a).and(b)
    });
    worked?;
    let overhead = reported()?;
    let _ = session.finish();
    process::print(&overhead)
}

/// The event overhead of the session so far, ns.
fn reported() -> Result<f64, String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(overhead) = gpuprof::collect().diagnostics.event_overhead_ns {
            return Ok(overhead as f64);
        }
        if Instant::now() > deadline {
            return Err("the report has no event overhead after 10 s".into());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn idle_pairs(run_mode: &RunMode, stream: &CudaStream) -> Result<Spread, String> {
    let count = if run_mode.short { 20 } else { 1_000 };
    Ok(Spread::of(&empty_pairs(stream, count)?))
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
