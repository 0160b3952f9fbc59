//! Accuracy of GPU spans, compared with event pairs around the same launches and with nested spans.

mod event_overhead;
mod nested_spans;

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaStream;
use gpuprof::profile::GpuSpanStats;
use gpuprof::{Profile, gpu_profile};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel, Pair};
use crate::session::every_call;
use crate::statistics::{Spread, figure, off, percent, performance, time};

pub(crate) const PROGRAMS: &[TestProgram] = &[event_overhead::LOADED];

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "accuracy",
        promise: "A GPU span of over 100 µs is within 2 % of an event pair written by hand.",
        limit: Duration::from_secs(240),
        run: accuracy,
    },
    Check {
        name: "parts-and-whole",
        promise: "A caller's GPU span is no shorter than its nested spans.",
        limit: Duration::from_secs(60),
        run: nested_spans::parts_and_whole,
    },
    Check {
        name: "event-overhead",
        promise: "The reported event overhead equals the duration of empty event pairs.",
        limit: Duration::from_secs(60),
        run: event_overhead::run,
    },
    Check {
        name: "event-overhead-under-load",
        promise: "Work of the program's does not lengthen the reported event overhead.",
        limit: Duration::from_secs(60),
        run: event_overhead::under_load,
    },
];

/// Accepted relative difference between a span and its reference.
const WANTED: f64 = 0.02;
/// Shorter spans are not compared, because the events themselves are too large a share.
const LONG_NS: f64 = 100_000.0;
/// The minimum for a span around another event pair, which contains two more records of about 1 µs
/// each.
const VERY_LONG_NS: f64 = 250_000.0;
/// Resolution of events (cuEventElapsedTime), ns: a nested span may exceed its parent by this much.
const RESOLUTION_NS: f64 = 500.0;
/// Half a histogram bucket, the error of percentiles (docs/reading-the-table.md).
const BUCKET: f64 = 1.0 / 32.0;

const ANNOTATED: &str = "by the attribute";
const AROUND: &str = "with a pair inside";

#[gpu_profile(name = "by the attribute")]
fn annotated(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

#[gpu_profile(name = "with a pair inside")]
fn around(stream: &Arc<CudaStream>, kernel: &Kernel, pair: Pair) -> Answer {
    pair_around(stream, kernel, pair)
}

fn pair_around(stream: &CudaStream, kernel: &Kernel, pair: Pair) -> Answer {
    pair.start(stream)?;
    kernel.launch(stream)?;
    pair.end(stream)
}

/// Kernels by name: three with a given duration, one limited by memory and one by arithmetic.
fn subjects(stream: &Arc<CudaStream>, run_mode: &RunMode) -> Answer<Vec<(&'static str, Kernel)>> {
    let (elements, side) = if run_mode.simulated {
        // The simulated device computes results on the host, so the kernels are small.
        (1 << 12, 32)
    } else {
        (1 << 27, 1536)
    };
    Ok(vec![
        ("spin 150 µs", Kernel::spin(150_000)?),
        ("spin 300 µs", Kernel::spin(300_000)?),
        ("spin 1 ms", Kernel::spin(1_000_000)?),
        ("saxpy", Kernel::saxpy(stream, elements)?),
        ("matmul_tiled", Kernel::product(stream, side)?),
    ])
}

/// Whether the stream has work when a span begins.
#[derive(Clone, Copy)]
enum State<'a> {
    Idle,
    /// This kernel is queued first, so that start event, kernel and end event are queued before any
    /// of them executes.
    Busy(&'a Kernel),
}

impl State<'_> {
    fn prepare(self, stream: &CudaStream) -> Answer {
        match self {
            State::Idle => Ok(()),
            State::Busy(before) => before.launch(stream),
        }
    }

    fn name(self) -> &'static str {
        match self {
            State::Idle => "idle stream",
            State::Busy(_) => "busy stream",
        }
    }
}

/// The duration of every single call, ns.
#[derive(Default)]
struct Measured {
    annotated: Vec<f64>,
    by_hand: Vec<f64>,
    /// The GPU span of a function, and the event pair inside it.
    around: Vec<f64>,
    inside: Vec<f64>,
    /// Median and mean from the report.
    p50: f64,
    mean: f64,
}

impl Measured {
    /// How much longer each span is than the event pair inside it, ns.
    fn longer(&self) -> Vec<f64> {
        let calls = self.around.iter().zip(&self.inside);
        calls.map(|(around, inside)| around - inside).collect()
    }
}

fn accuracy(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let stream = hand_timed::stream().map_err(text)?;
    let subjects = subjects(&stream, run_mode).map_err(text)?;
    let before = Kernel::spin(100_000).map_err(text)?;
    let calls = if run_mode.short { 5 } else { 200 };
    let (mut rows, mut longer) = (Vec::new(), Vec::new());
    for state in [State::Idle, State::Busy(&before)] {
        for (name, kernel) in &subjects {
            let measured = measure(&stream, kernel, calls, state)?;
            let what = format!("{name}, {}, {calls} calls", state.name());
            rows.extend(compared(run_mode, &what, &measured));
            longer.extend(measured.longer());
        }
    }
    let least = Spread::of(&longer).least;
    rows.push(Row::judged(
        format!("least of the {} spans less the pair inside", longer.len()),
        marked(run_mode, time(least)),
        "at least -0.5 µs, the resolution of events",
        least >= -RESOLUTION_NS,
    ));
    Ok(rows)
}

/// Measures the three methods in turn, so that drift affects all of them equally.
fn measure(
    stream: &Arc<CudaStream>,
    kernel: &Kernel,
    calls: usize,
    before: State<'_>,
) -> Result<Measured, String> {
    let session = every_call().start().map_err(text)?;
    let pair = Pair::new().map_err(text)?;
    let mut measured = Measured::default();
    for round in 0..calls + 3 {
        if round == 3 {
            // The first calls load the kernel and create events.
            measured = Measured::default();
            gpuprof::reset();
        }
        for method in 0..3 {
            before.prepare(stream).map_err(text)?;
            match (round + method) % 3 {
                0 => {
                    annotated(stream, kernel).map_err(text)?;
                    measured
                        .annotated
                        .push(one_more(stream, ANNOTATED, &measured.annotated)?);
                }
                1 => {
                    pair_around(stream, kernel, pair).map_err(text)?;
                    measured.by_hand.push(pair.read().map_err(text)?);
                }
                _ => {
                    around(stream, kernel, pair).map_err(text)?;
                    measured
                        .around
                        .push(one_more(stream, AROUND, &measured.around)?);
                    measured.inside.push(pair.read().map_err(text)?);
                }
            }
            stream.synchronize().map_err(text)?;
        }
    }
    let profile = session.finish();
    let gpu = gpu_times(&profile, ANNOTATED)?;
    measured.p50 = gpu.times.p50_ns as f64;
    measured.mean = gpu.times.mean_ns as f64;
    Ok(measured)
}

/// The span of the latest call: the increase of the function's total since the calls in `before`.
fn one_more(stream: &CudaStream, name: &str, before: &[f64]) -> Result<f64, String> {
    stream.synchronize().map_err(text)?;
    let profile = gpuprof::collect();
    let gpu = gpu_times(&profile, name)?;
    if gpu.timed_calls == before.len() as u64 + 1 {
        Ok(gpu.times.total_ns as f64 - before.iter().sum::<f64>())
    } else {
        Err(format!(
            "{} calls of `{name}` are timed instead of {}",
            gpu.timed_calls,
            before.len() + 1
        ))
    }
}

fn compared(run_mode: &RunMode, what: &str, measured: &Measured) -> Vec<Row> {
    let hand = Spread::of(&measured.by_hand);
    let ours = Spread::of(&measured.annotated);
    let row = |name: &str, shown: String, apart: f64, wanted: f64| {
        let (what, shown) = (
            format!("{what}: {name}"),
            format!("{shown}: {}", percent(apart)),
        );
        let limit = format!("within {:.1} %", 100.0 * wanted);
        if hand.median >= LONG_NS {
            performance(run_mode, what, shown, limit, apart.abs() <= wanted)
        } else {
            figure(run_mode, what, shown)
        }
    };
    let shown = |is: f64, reference: f64| format!("{}, by hand {}", time(is), time(reference));
    vec![
        row(
            "avg in the report",
            shown(measured.mean, hand.mean),
            off(measured.mean, hand.mean),
            WANTED,
        ),
        row(
            "p50 in the report",
            shown(measured.p50, hand.median),
            off(measured.p50, hand.median),
            WANTED + BUCKET,
        ),
        row(
            "median of calls",
            format!("{}, by hand {}", ours.time(), hand.time()),
            off(ours.median, hand.median),
            WANTED,
        ),
        enclosed(run_mode, what, measured),
    ]
}

/// Compares a span with the event pair inside the same call: it is slightly longer.
fn enclosed(run_mode: &RunMode, what: &str, measured: &Measured) -> Row {
    let (longer, inside) = (Spread::of(&measured.longer()), Spread::of(&measured.inside));
    let share = longer.median / inside.median;
    let what = format!("{what}: span less the pair inside the same call");
    let shown = format!("{}: {}", longer.time(), percent(share));
    if inside.median >= VERY_LONG_NS {
        performance(run_mode, what, shown, "at most 2 %", share <= WANTED)
    } else {
        figure(run_mode, what, shown)
    }
}

/// The GPU times of the function `name`.
fn gpu_times<'a>(profile: &'a Profile, name: &str) -> Result<&'a GpuSpanStats, String> {
    let mut functions = profile.functions.iter();
    let function = functions.find(|function| function.name == name);
    function
        .and_then(|function| function.gpu.as_ref())
        .ok_or_else(|| format!("no call of `{name}` was timed: {:?}", profile.diagnostics))
}

fn marked(run_mode: &RunMode, figure: String) -> String {
    if run_mode.simulated {
        format!("simulated device: {figure}")
    } else {
        figure
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
