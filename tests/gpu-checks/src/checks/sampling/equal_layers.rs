//! The default table: programs of equal layers, as somebody runs them who has set nothing. Each row
//! is compared with the same row of a run that times every call.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use crate::check::{Row, RunMode, Verdict};
use crate::device::{self, Gpu, failed_in};
use crate::process;
use crate::runner::own_command;
use crate::statistics::time;

/// By row, ns.
type Averages = BTreeMap<String, f64>;

const LIMIT: Duration = Duration::from_secs(30);
const RUNS: usize = 10;
/// Of a layer, ns.
const LAYER_NS: u64 = 41_500;
/// How far a row may be off.
const FAR: f64 = 0.1;
/// Forward passes until the program waits for the GPU.
const QUEUED: u64 = 20;
const PAUSE: Duration = Duration::from_millis(2);
/// A kernel behind which a batch is queued: on an idle stream the spans have host time, which
/// differs between runs.
const HOLD_NS: u64 = 300_000;

#[gpu_profile(label = number)]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>, number: u64) -> Result<(), DriverError> {
    gpu.spin(stream, LAYER_NS)
}

#[gpu_profile]
fn forward(gpu: &Gpu, stream: &Arc<CudaStream>, layers: u64) -> Result<(), DriverError> {
    (0..layers).try_for_each(|number| layer(gpu, stream, number))
}

/// Five hundred passes through eight layers.
pub(super) fn model(run_mode: &RunMode) -> Result<ExitCode, String> {
    program(run_mode, |gpu, stream| {
        (0..500).try_for_each(|pass| {
            forward(gpu, stream, 8)?;
            match pass % QUEUED {
                0 => stream.synchronize(),
                _ => Ok(()),
            }
        })
    })
}

/// A server: 46 batches with pauses between them, each through three layers.
pub(super) fn server(run_mode: &RunMode) -> Result<ExitCode, String> {
    program(run_mode, |gpu, stream| {
        (0..46).try_for_each(|_| {
            gpu.spin(stream, HOLD_NS)?;
            forward(gpu, stream, 3)?;
            stream.synchronize()?;
            std::thread::sleep(PAUSE);
            Ok(())
        })
    })
}

fn program(
    run_mode: &RunMode,
    work: impl FnOnce(&Gpu, &Arc<CudaStream>) -> Result<(), DriverError>,
) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("the layers");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    // One-time work is before the window.
    gpu.spin(&stream, LAYER_NS).map_err(&failed)?;
    stream.synchronize().map_err(&failed)?;
    gpuprof::reset();
    work(&gpu, &stream).map_err(&failed)?;
    stream.synchronize().map_err(&failed)?;
    let profile = gpuprof::collect();
    // As it is shown at exit.
    eprintln!("{profile}");
    process::print(&averages_of(&profile))
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (program, what) in [
        ("layers", "500 passes through 8 equal layers"),
        ("server", "46 batches through 3 equal layers"),
    ] {
        let whole = averages(run_mode, program, Some("1"))?;
        let runs = if run_mode.short { 2 } else { RUNS };
        let mut worst = (0.0_f64, String::new());
        for _ in 0..runs {
            let found = averages(run_mode, program, None)?;
            if found.len() != whole.len() {
                return Err(format!(
                    "{program}: {} of {} rows",
                    found.len(),
                    whole.len()
                ));
            }
            for (name, ns) in found {
                let truth = whole.get(&name).copied().unwrap_or(f64::NAN);
                let off = ((ns - truth) / truth).abs();
                if off.is_nan() || off > worst.0 {
                    worst = (off, format!("{name}: {} for {}", time(ns), time(truth)));
                }
            }
        }
        let mut row = Row::judged(
            format!("{what}, {runs} runs, the row that is furthest off"),
            format!("{:.1} % ({})", 100.0 * worst.0, worst.1),
            format!("at most {:.0} % off GPUPROF_SAMPLE=1", 100.0 * FAR),
            worst.0 <= FAR,
        );
        if run_mode.simulated {
            // Of host clocks: the machine's noise is in them.
            row.verdict = Verdict::Info;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The average of each row of the program's report, ns.
fn averages(run_mode: &RunMode, program: &str, sample: Option<&str>) -> Result<Averages, String> {
    let mut command = own_command(&["program", program], run_mode)?;
    command.env("GPUPROF_REPORT", "none");
    match sample {
        Some(sample) => command.env("GPUPROF_SAMPLE", sample),
        // `own_command` has every call timed.
        None => command.env_remove("GPUPROF_SAMPLE"),
    };
    let ended = process::finished(command, LIMIT);
    let averages = ended.and_then(|ended| ended.answer());
    averages.map_err(failed_in(program))
}

fn averages_of(profile: &Profile) -> Averages {
    let rows = profile.tree.iter().filter(|row| row.calls > 0);
    let average = rows.map(|row| {
        let label = row.label.as_deref().unwrap_or_default();
        let total_ns = row.gpu_total_ns.unwrap_or(0) as f64;
        (format!("{} {label}", row.name), total_ns / row.calls as f64)
    });
    average.collect()
}
