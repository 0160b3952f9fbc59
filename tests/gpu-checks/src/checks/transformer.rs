//! gpuprof in a program of realistic size: a decoder-only transformer that reads token sequences,
//! with matrix products by cuBLAS if it can be loaded.
//!
//! It runs in separate processes with gpuprof on and off, whose results must be bit-identical.

mod matrix_products;
mod model;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use gpuprof::Profile;
use serde::{Deserialize, Serialize};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::statistics::{Spread, figure, time};
use crate::{device, process, runner};
use model::{Model, Shape};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "transformer",
    promise: "In a real program every call is timed and no result changes.",
    limit: Duration::from_secs(240),
    run: transformer,
}];

pub(crate) const PROGRAMS: &[TestProgram] = &[(PROGRAM, run_program)];

const PROGRAM: &str = "transformer";
const LIMIT: Duration = Duration::from_secs(60);
/// Where the CUDA toolkit installs its libraries, which may be unknown to the loader.
const LIBRARIES: &str = "/usr/local/cuda/lib64";
/// Resolution of events (cuEventElapsedTime), ns.
const RESOLUTION_NS: u64 = 500;

fn shape(run_mode: &RunMode) -> Shape {
    if run_mode.short {
        Shape {
            layers: 2,
            width: 32,
            heads: 4,
            vocabulary: 50,
            sequences: 2,
            length: 12,
            steps: 2,
        }
    } else {
        Shape {
            layers: 6,
            width: 512,
            heads: 8,
            vocabulary: 4_096,
            sequences: 8,
            length: 128,
            steps: 50,
        }
    }
}

/// The result of a run of the program.
#[derive(Serialize, Deserialize)]
struct Played {
    /// What computed the matrix products.
    products: String,
    /// A checksum over the bits of all logits.
    checksum: u64,
    /// The mean absolute logit, which is 0 for a model that computes nothing.
    mean_magnitude: f64,
    /// Time from the first step until the last logits had been copied.
    wall_ns: f64,
    profile: Profile,
}

fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let shape = shape(run_mode);
    let text = |error: Box<dyn std::error::Error>| error.to_string();
    let model = Model::new(&shape, run_mode.simulated).map_err(text)?;
    // A run before the measurement: libraries and kernels are loaded by their first use.
    model.step(0).map_err(text)?;
    let _ = gpuprof::collect();
    gpuprof::reset();
    let (mut checksum, mut sum, mut count) = (FNV_START, 0.0, 0_usize);
    let began = Instant::now();
    for step in 0..shape.steps {
        let logits = model.step(step).map_err(text)?;
        checksum = logits
            .iter()
            .fold(checksum, |sum, logit| fnv(sum, logit.to_bits()));
        sum += logits
            .iter()
            .map(|logit| f64::from(logit.abs()))
            .sum::<f64>();
        count += logits.len();
    }
    let played = Played {
        products: model.products().into(),
        checksum,
        mean_magnitude: sum / count as f64,
        wall_ns: began.elapsed().as_nanos() as f64,
        profile: gpuprof::collect(),
    };
    println!(
        "{}",
        serde_json::to_string(&played).map_err(|error| error.to_string())?
    );
    Ok(ExitCode::SUCCESS)
}

/// The Fowler–Noll–Vo hash, 64 bits, variant 1a, word by word.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(sum: u64, word: u32) -> u64 {
    (sum ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3)
}

fn transformer(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let repeats = if run_mode.short { 1 } else { 5 };
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        off.push(played(run_mode, "off")?);
        on.push(played(run_mode, "on")?);
    }
    let shape = shape(run_mode);
    let what = format!(
        "{} layers, width {}, {} heads, {} tokens, {} steps, products by {}",
        shape.layers,
        shape.width,
        shape.heads,
        shape.tokens(),
        shape.steps,
        on[0].products
    );
    let mut rows = vec![same_results(&on, &off)];
    for run in &on {
        if let Some(wrong) = wrong_counts(&shape, &run.profile) {
            rows.push(Row::judged(
                COUNTED,
                wrong,
                "layers times steps, all timed",
                false,
            ));
            return Ok(rows);
        }
    }
    rows.push(Row::judged(
        COUNTED,
        format!(
            "all of {} in each of {repeats} runs",
            on[0].profile.diagnostics.calls
        ),
        "layers times steps, all timed",
        true,
    ));
    rows.push(wholes(&on));
    rows.push(walls(run_mode, &what, &on, &off));
    rows.extend(table(run_mode, &on[0].profile));
    Ok(rows)
}

const COUNTED: &str = "calls counted and timed";

fn played(run_mode: &RunMode, mode: &str) -> Result<Played, String> {
    let mut command: Command = runner::own_command(&["program", PROGRAM], run_mode)?;
    command.env("GPUPROF", mode).env("GPUPROF_REPORT", "none");
    let known = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = [known.as_str(), LIBRARIES].join(":");
    command.env("LD_LIBRARY_PATH", folders.trim_start_matches(':'));
    let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
    match ended.failure() {
        Some(trouble) => Err(format!("gpuprof {mode}: {trouble}\n{}", ended.tail())),
        None => serde_json::from_str(&ended.stdout).map_err(|error| error.to_string()),
    }
}

fn same_results(on: &[Played], off: &[Played]) -> Row {
    let reference = off.first().map(|run| run.checksum);
    let all = on.iter().chain(off);
    let differing = all
        .clone()
        .filter(|run| Some(run.checksum) != reference)
        .count();
    // Expected for normalized activations and weights of unit variance; a model that computes
    // nothing, or overflows, is outside.
    let sound = all
        .clone()
        .all(|run| (1e-3..1e3).contains(&run.mean_magnitude));
    let shown = all.clone().map(|run| format!("{:016x}", run.checksum));
    let mut shown: Vec<_> = shown.collect();
    shown.dedup();
    Row::judged(
        "checksum of all logits, gpuprof on and off",
        format!(
            "{} runs: {}; mean magnitude {:.3}",
            all.count(),
            shown.join(", "),
            on.first().map_or(f64::NAN, |run| run.mean_magnitude)
        ),
        "one checksum, of numbers",
        differing == 0 && sound,
    )
}

/// The first wrong count.
fn wrong_counts(shape: &Shape, profile: &Profile) -> Option<String> {
    for (name, calls) in shape.calls() {
        let mut functions = profile.functions.iter();
        let Some(function) = functions.find(|function| function.name == name) else {
            return Some(format!("there is no {name}"));
        };
        let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        if [function.calls, timed] != [calls; 2] {
            let counted = function.calls;
            return Some(format!(
                "{name}: {counted} calls, {timed} timed, {calls} made"
            ));
        }
    }
    let wanted: u64 = shape.calls().iter().map(|(_, calls)| calls).sum();
    if profile.diagnostics.calls == wanted && profile.diagnostics.errors.is_empty() {
        None
    } else {
        Some(format!(
            "{} calls in all: {:?}",
            profile.diagnostics.calls, profile.diagnostics
        ))
    }
}

/// Compares each node of the call tree with its children, which are all on its stream.
fn wholes(on: &[Played]) -> Row {
    let (mut places, mut least) = (0, f64::INFINITY);
    let mut shorter = Vec::new();
    for profile in on.iter().map(|run| &run.profile) {
        for node in &profile.tree {
            let below = || {
                profile
                    .tree
                    .iter()
                    .filter(|below| below.parent == Some(node.id))
            };
            let parts: u64 = below().filter_map(|below| below.gpu_total_ns).sum();
            let (Some(whole), true) = (node.gpu_total_ns, parts > 0) else {
                continue;
            };
            let calls: u64 = below().map(|below| below.calls).sum();
            places += 1;
            least = least.min(whole as f64 - parts as f64);
            if whole + calls * RESOLUTION_NS < parts {
                shorter.push(node.name.clone());
            }
        }
    }
    let names = if shorter.is_empty() {
        String::new()
    } else {
        format!(" ({})", shorter.join(", "))
    };
    Row::judged(
        "callers whose GPU span is shorter than the sum of those inside",
        format!(
            "{} of {places}{names}; least rest {}",
            shorter.len(),
            time(least)
        ),
        "0, with 0.5 µs for each call inside",
        shorter.is_empty() && places > 0,
    )
}

fn walls(run_mode: &RunMode, what: &str, on: &[Played], off: &[Played]) -> Row {
    let walls = |runs: &[Played]| runs.iter().map(|run| run.wall_ns).collect::<Vec<_>>();
    let (on, off) = (walls(on), walls(off));
    let ratios: Vec<f64> = on.iter().zip(&off).map(|(on, off)| on / off).collect();
    figure(
        run_mode,
        format!("{what}: time with gpuprof against without"),
        format!(
            "{}: {} and {}",
            Spread::of(&ratios).ratio(),
            Spread::of(&on).time(),
            Spread::of(&off).time()
        ),
    )
}

/// The figures of the report's table, one row per function.
fn table(run_mode: &RunMode, profile: &Profile) -> Vec<Row> {
    let all: u64 = profile
        .functions
        .iter()
        .filter_map(|function| function.gpu.as_ref())
        .map(|gpu| gpu.times.self_ns)
        .sum();
    let row = |function: &gpuprof::profile::Function| {
        let times = &function.gpu.as_ref()?.times;
        let shown = format!(
            "{} calls, GPU avg {}, self {:.1} % of all; CPU avg {}",
            function.calls,
            time(times.mean_ns as f64),
            100.0 * times.self_ns as f64 / all as f64,
            time(function.cpu.mean_ns as f64)
        );
        Some(figure(
            run_mode,
            format!("report: {}", function.name),
            shown,
        ))
    };
    profile.functions.iter().filter_map(row).collect()
}
