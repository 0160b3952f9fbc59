//! Tens of millions of kernel records in one process, half of them of replayed graphs: what the
//! records cost in memory, and whether all of them are in the report.
//!
//! The program prints a line at each part of the run, so that one that is killed shows how far it
//! came.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaGraph, CudaStream, DriverError};
use gpuprof::gpu_profile;
use gpuprof::profile::CuptiCompleteness;
use promises::kernels_of;
use serde::{Deserialize, Serialize};

use super::refusal;
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::statistics::{figure, performance};
use crate::{process, runner};

pub(super) const NAME: &str = "cupti-long";

/// The variable with another number of records.
const RECORDS: &str = "GPU_CHECKS_RECORDS";
/// Time limit of the program, and below that of the check.
const LIMIT: Duration = Duration::from_secs(480);
/// Kernel nodes of a graph.
const NODES: u64 = 100;
/// Graphs that are launched in turn.
const GRAPHS: u64 = 8;
/// Kernels in each call of an annotated function.
const PER_CALL: u64 = 1_000;
/// Accepted rate, kernels per second.
const WANTED_RATE: f64 = 100_000.0;
/// Accepted growth of memory after the first quarter, bytes.
const HOST_GROWTH: u64 = 32 << 20;
const DEVICE_GROWTH: u64 = 32 << 20;
/// What libcupti keeps for each two records, one of a launch and one of a graph, bytes: a program
/// in C that records the same kernels and does nothing else grows as much (docs/cupti.md).
const KEPT_BY_CUPTI: u64 = 33;

type Done = Result<(), DriverError>;

#[gpu_profile(name = "long: launches")]
fn launches(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    (0..PER_CALL).try_for_each(|_| gpu.spin(stream, 0))
}

#[gpu_profile(name = "long: captured")]
fn captured(gpu: &Gpu, stream: &Arc<CudaStream>) -> Done {
    (0..NODES).try_for_each(|_| gpu.spin(stream, 0))
}

#[gpu_profile(name = "long: replays")]
fn replays(stream: &Arc<CudaStream>, graph: &CudaGraph) -> Done {
    let _ = stream;
    (0..PER_CALL / NODES).try_for_each(|_| graph.launch())
}

fn capture(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(Mode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let inside = captured(gpu, stream);
    let graph = stream.end_capture(Flags(0));
    inside?;
    Ok(graph?.expect("a stream that was being captured gives a graph"))
}

/// The state after one part of the run.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Sample {
    /// Kernels launched so far, those of graphs included.
    launched: u64,
    /// Of this part, its report included.
    seconds: f64,
    report_ns: u64,
    host_bytes: u64,
    /// Used by all programs.
    device_bytes: u64,
    counts: Counts,
}

/// What the report counts so far.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Counts {
    direct: u64,
    replayed: u64,
    dropped: u64,
    invalid: u64,
    unfinished: u64,
    unattributed_nodes: u64,
}

/// The number of records, and of those between two samples.
fn records(run_mode: &RunMode) -> Result<(u64, u64), String> {
    let asked = match std::env::var(RECORDS) {
        Ok(text) => text
            .parse::<u64>()
            .map_err(|_| format!("{RECORDS}: `{text}` is not a number of records"))?,
        Err(_) if run_mode.short => 16_000,
        Err(_) => 30_000_000,
    };
    let part = if asked < 4_000_000 {
        asked / 8
    } else {
        1_000_000
    };
    let part = (part / (2 * PER_CALL)).max(1) * 2 * PER_CALL;
    Ok((asked.div_ceil(part) * part, part))
}

/// Prints a [`Sample`] after each part, or why CUPTI is unavailable.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let (total, part) = records(run_mode)?;
    let failed = failed_in("a launch");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    // The first annotated call starts CUPTI: the kernels before are not in the records.
    let graphs: Result<Vec<_>, _> = (0..GRAPHS).map(|_| capture(&gpu, &stream)).collect();
    let graphs = graphs.map_err(&failed)?;
    let mut launched = 0;
    while launched < total {
        let began = Instant::now();
        for call in 0..part / (2 * PER_CALL) {
            let graph = &graphs[(call % GRAPHS) as usize];
            launches(&gpu, &stream)
                .and_then(|()| replays(&stream, graph))
                .map_err(&failed)?;
        }
        stream.synchronize().map_err(&failed)?;
        launched += part;
        let report = Instant::now();
        let profile = gpuprof::collect();
        let report_ns = report.elapsed().as_nanos() as u64;
        let Some(cupti) = &profile.cupti else {
            process::print(&refusal(&profile))?;
            return Ok(ExitCode::SUCCESS);
        };
        let (free, all) = gpu.context.mem_get_info().map_err(&failed)?;
        let sample = Sample {
            launched,
            seconds: began.elapsed().as_secs_f64(),
            report_ns,
            host_bytes: resident()?,
            device_bytes: all.saturating_sub(free) as u64,
            counts: Counts {
                direct: kernels_of(&profile, "long: launches").launches,
                replayed: kernels_of(&profile, "long: captured").launches,
                ..Counts::of(cupti)
            },
        };
        process::print(&sample)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Counts {
    fn of(cupti: &CuptiCompleteness) -> Self {
        Self {
            direct: 0,
            replayed: 0,
            dropped: cupti.dropped_records,
            invalid: cupti.invalid_records,
            unfinished: cupti.unfinished,
            unattributed_nodes: cupti.unattributed_graph_nodes,
        }
    }
}

/// Resident bytes of this process.
fn resident() -> Result<u64, String> {
    let file = "/proc/self/smaps_rollup";
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib = kib.and_then(|kib| kib.trim().parse::<u64>().ok());
    Ok(kib.ok_or_else(|| format!("{file} has no Rss"))? << 10)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let (total, part) = records(run_mode)?;
    let mut command = runner::own_command(&["program", NAME], run_mode)?;
    command
        .env("GPUPROF_CUPTI", "on")
        .env("GPUPROF_REPORT", "none");
    let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
    let lines = ended.stdout.lines();
    let samples: Vec<Sample> = lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let last = ended.stdout.lines().last().unwrap_or_default();
    if let (true, Ok(why)) = (samples.is_empty(), serde_json::from_str::<String>(last)) {
        return Ok(vec![Row::unavailable("records of a long run", why)]);
    }
    let mut rows: Vec<_> = samples
        .iter()
        .map(|sample| row_of(run_mode, sample, part))
        .collect();
    if let Some(last) = samples.last() {
        rows.extend([
            counts_row(last, total),
            missing_row(last),
            rate_row(run_mode, &samples, part),
        ]);
        rows.extend(memory_rows(run_mode, &samples));
    }
    if let Some(trouble) = ended.failure() {
        let measured = format!("{trouble}\n{}", ended.tail());
        rows.push(Row::judged(
            "the program",
            measured,
            "exit status: 0",
            false,
        ));
    }
    Ok(rows)
}

/// A quarter of the run is warm-up: buffers and tables reach their size.
fn warm_up(samples: &[Sample]) -> &Sample {
    &samples[(samples.len() - 1) / 4]
}

fn row_of(run_mode: &RunMode, sample: &Sample, part: u64) -> Row {
    let Counts {
        direct,
        replayed,
        dropped,
        invalid,
        unfinished,
        unattributed_nodes,
    } = sample.counts;
    let measured = format!(
        "{:.0} a second; host {:.1} MiB, device {:.1} MiB; {direct} + {replayed} counted, \
         {dropped} dropped, {invalid} invalid, {unfinished} unfinished, {unattributed_nodes} of \
         no capturing function; report in {:.1} ms",
        part as f64 / sample.seconds,
        mib(sample.host_bytes),
        mib(sample.device_bytes),
        sample.report_ns as f64 / 1e6,
    );
    figure(run_mode, format!("at {}", sample.launched), measured)
}

/// Nothing is lost uncounted.
fn counts_row(last: &Sample, total: u64) -> Row {
    let counts = last.counts;
    let counted = counts.direct + counts.replayed;
    let missing = counts.dropped + counts.invalid + counts.unfinished;
    Row::judged(
        format!("kernels of {total} in the report, and those that it says are missing"),
        format!("{counted} + {missing}"),
        format!("{total} in sum"),
        last.launched == total && counted + missing == total,
    )
}

fn missing_row(last: &Sample) -> Row {
    let counts = last.counts;
    let half = last.launched / 2;
    let shown = |direct, replayed, others: [u64; 4]| {
        let [dropped, invalid, unfinished, nodes] = others;
        format!(
            "{direct} launched and {replayed} replayed; {dropped} dropped, {invalid} invalid, \
             {unfinished} unfinished, {nodes} of no capturing function"
        )
    };
    let Counts {
        dropped,
        invalid,
        unfinished,
        unattributed_nodes,
        ..
    } = counts;
    let others = [dropped, invalid, unfinished, unattributed_nodes];
    let measured = shown(counts.direct, counts.replayed, others);
    let wanted = shown(half, half, [0; 4]);
    let is_kept = measured == wanted;
    Row::judged("kernels in the report", measured, wanted, is_kept)
}

fn rate_row(run_mode: &RunMode, samples: &[Sample], part: u64) -> Row {
    let rates = samples.iter().map(|sample| part as f64 / sample.seconds);
    let slowest = rates.fold(f64::INFINITY, f64::min);
    performance(
        run_mode,
        "slowest part",
        format!("{slowest:.0} kernels a second"),
        format!("at least {WANTED_RATE:.0}"),
        slowest >= WANTED_RATE,
    )
}

fn memory_rows(run_mode: &RunMode, samples: &[Sample]) -> Vec<Row> {
    let warm = warm_up(samples);
    let Some(last) = samples.last() else {
        return Vec::new();
    };
    let records = last.launched - warm.launched;
    [
        (
            "host",
            warm.host_bytes,
            last.host_bytes,
            HOST_GROWTH + records / 2 * KEPT_BY_CUPTI,
        ),
        (
            "device",
            warm.device_bytes,
            last.device_bytes,
            DEVICE_GROWTH,
        ),
    ]
    .map(|(of, from, to, allowed)| {
        performance(
            run_mode,
            format!("growth of {of} memory over the last {records} records"),
            format!(
                "{:+.1} MiB, {:+.2} bytes a record",
                mib(to) - mib(from),
                (to as f64 - from as f64) / records.max(1) as f64
            ),
            format!("at most {:.0} MiB", mib(allowed)),
            to <= from + allowed,
        )
    })
    .into()
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
