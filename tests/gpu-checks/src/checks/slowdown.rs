//! How much longer whole programs take with gpuprof: a loop of launches, which is the worst case,
//! and an example.
//!
//! Each run is its own process, because gpuprof's settings apply to a process.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use gpuprof::profile::Diagnostics;
use serde::{Deserialize, Serialize};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel};
use crate::statistics::{Spread, figure, in_turn, performance, ratios};
use crate::{device, examples, process, runner};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "slow-down",
        promise: "Off, gpuprof costs nothing; on, every launch is timed or counted.",
        limit: Duration::from_secs(300),
        run: slow_down,
    },
    Check {
        name: "example-slow-down",
        promise: "A program's output is the same with gpuprof on and off.",
        limit: Duration::from_secs(300),
        run: example_slow_down,
    },
];

pub(crate) const PROGRAMS: &[TestProgram] = &[
    (PLAIN, |run_mode| back_to_back(run_mode, plain)),
    (ANNOTATED, |run_mode| back_to_back(run_mode, annotated)),
];

const PLAIN: &str = "launches";
pub(super) const ANNOTATED: &str = "annotated-launches";
const KERNEL_NS: u64 = 5_000;
/// Accepted duration of a loop with gpuprof off, relative to one without the attribute.
const OFF: f64 = 1.01;
/// Time limit per process.
const LIMIT: Duration = Duration::from_secs(60);
pub(super) const EXAMPLE: &str = "04_train_digits";

fn plain(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

#[gpu_profile]
fn annotated(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

/// The result of a run of launches.
#[derive(Serialize, Deserialize)]
struct Looped {
    /// Time from the first launch until the GPU was idle, ns.
    wall_ns: f64,
    /// Time from the first launch until the last had returned, ns.
    host_ns: f64,
    diagnostics: Diagnostics,
}

/// Time from the first launch until the GPU was idle, as printed by the program; ns.
pub(super) fn wall_of(printed: &str) -> Result<f64, String> {
    let found = printed.lines().find(|line| line.starts_with('{'));
    let looped: Result<Looped, _> = serde_json::from_str(found.unwrap_or_default());
    looped
        .map(|looped| looped.wall_ns)
        .map_err(|error| error.to_string())
}

fn launches(run_mode: &RunMode) -> u64 {
    if run_mode.short { 500 } else { 100_000 }
}

/// The test program: makes the launches and prints the times and gpuprof's diagnostics.
fn back_to_back(
    run_mode: &RunMode,
    launch: fn(&Arc<CudaStream>, &Kernel) -> Answer,
) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let text = |error| format!("launching: {error}");
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(KERNEL_NS).map_err(text)?;
    // The first calls load the kernel and create events.
    let warm = launches(run_mode) / 100;
    (0..warm)
        .try_for_each(|_| launch(&stream, &kernel))
        .map_err(text)?;
    stream.synchronize().map_err(text)?;
    let _ = gpuprof::collect();
    gpuprof::reset();
    let began = Instant::now();
    (0..launches(run_mode))
        .try_for_each(|_| launch(&stream, &kernel))
        .map_err(text)?;
    let host_ns = began.elapsed().as_nanos() as f64;
    stream.synchronize().map_err(text)?;
    let wall_ns = began.elapsed().as_nanos() as f64;
    let diagnostics = gpuprof::collect().diagnostics;
    let found = Looped {
        wall_ns,
        host_ns,
        diagnostics,
    };
    process::print(&found)
}

/// One method of running a program, and its settings.
struct Method {
    name: &'static str,
    program: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

/// The others are compared with the first.
const METHODS: [Method; 5] = [
    Method {
        name: "off",
        program: ANNOTATED,
        settings: &[("GPUPROF", "off")],
    },
    Method {
        name: "without the attribute",
        program: PLAIN,
        settings: &[("GPUPROF", "off")],
    },
    Method {
        name: "every call timed",
        program: ANNOTATED,
        settings: &[("GPUPROF", "on"), ("GPUPROF_SAMPLE", "1")],
    },
    Method {
        name: "nvtx",
        program: ANNOTATED,
        settings: &[("GPUPROF", "nvtx")],
    },
    Method {
        name: "on, 1 call in 100 timed",
        program: ANNOTATED,
        settings: &[("GPUPROF", "on"), ("GPUPROF_SAMPLE", "100")],
    },
];

fn repeats(run_mode: &RunMode) -> usize {
    if run_mode.short { 2 } else { 7 }
}

fn slow_down(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let runs = in_turn(METHODS.len(), repeats(run_mode), |index| {
        let Method {
            name,
            program,
            settings,
        } = METHODS[index];
        let looped: Result<Looped, _> = runner::answer(program, run_mode, LIMIT, settings);
        looped.map_err(|error| format!("{name}: {error}"))
    })?;
    let launches = launches(run_mode);
    let walls = |index: usize| {
        runs[index]
            .iter()
            .map(|run| run.wall_ns)
            .collect::<Vec<_>>()
    };
    let mut rows = vec![figure(
        run_mode,
        format!("{launches} launches of 5 µs back to back, off"),
        Spread::of(&walls(0)).time(),
    )];
    for (index, method) in METHODS.iter().enumerate().skip(1) {
        let hosts: Vec<f64> = runs[index].iter().map(|run| run.host_ns).collect();
        let shown = format!(
            "{} times off: {}; the host had launched all after {}",
            Spread::of(&ratios(&walls(index), &walls(0))).ratio(),
            Spread::of(&walls(index)).time(),
            Spread::of(&hosts).time()
        );
        rows.push(figure(
            run_mode,
            format!("the same, {}", method.name),
            shown,
        ));
    }
    let off = Spread::of(&ratios(&walls(0), &walls(1)));
    rows.push(performance(
        run_mode,
        "off against without the attribute",
        off.ratio(),
        format!("at most {OFF}"),
        off.median <= OFF,
    ));
    for index in [2, 4] {
        let all_diagnostics = runs[index].iter().map(|run| &run.diagnostics);
        rows.extend(accounted(
            METHODS[index].name,
            launches,
            &all_diagnostics.collect::<Vec<_>>(),
        ));
    }
    Ok(rows)
}

/// Every launch is timed or has a reason why not.
fn accounted(method: &str, launches: u64, all_diagnostics: &[&Diagnostics]) -> [Row; 2] {
    let parts = |diagnostics: &Diagnostics| {
        diagnostics.timed_calls + diagnostics.captured_calls + diagnostics.untimed.sum()
    };
    let exact = |diagnostics: &&&Diagnostics| {
        [
            diagnostics.calls,
            diagnostics.calls_with_stream,
            parts(diagnostics),
        ] == [launches; 3]
            && diagnostics.dropped == 0
            && diagnostics.errors.is_empty()
    };
    let right = all_diagnostics.iter().filter(exact).count();
    // Calls skipped by sampling are intended.
    let lost =
        |diagnostics: &&&Diagnostics| diagnostics.untimed.sum() - diagnostics.untimed.sampled_out;
    let most = all_diagnostics.iter().max_by_key(lost);
    let shown = most.map_or("no run".into(), |diagnostics| {
        let untimed = &diagnostics.untimed;
        format!(
            "{} timed, {} not sampled, {} without a free event, {} with a full queue, {} otherwise",
            diagnostics.timed_calls,
            untimed.sampled_out,
            untimed.pool_exhausted,
            untimed.queue_full,
            lost(&diagnostics) - untimed.pool_exhausted - untimed.queue_full
        )
    });
    [
        Row::judged(
            format!(
                "{method}: runs in which timed and untimed calls are all launches, without an error"
            ),
            format!("{right} of {}", all_diagnostics.len()),
            format!("{} of {}", all_diagnostics.len(), all_diagnostics.len()),
            right == all_diagnostics.len() && !all_diagnostics.is_empty(),
        ),
        Row::info(
            format!("{method}: the run with most calls that could not be timed"),
            shown,
        ),
    ]
}

fn example_slow_down(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = format!("{EXAMPLE}, the whole process");
    let path = match examples::path(EXAMPLE) {
        Ok(path) => path,
        Err(why) => return Ok(vec![Row::unavailable(what, why)]),
    };
    let methods: Vec<&Method> = METHODS
        .iter()
        .filter(|method| method.program == ANNOTATED)
        .collect();
    let mut printed = Vec::new();
    let walls = in_turn(methods.len(), repeats(run_mode), |index| {
        let method = methods[index];
        let mut command = examples::command(&path, run_mode.simulated);
        // It prints the bits of its results too.
        command.arg("time").env("GPUPROF_REPORT", "none");
        command.envs(method.settings.iter().copied());
        let ended = process::finished(command, LIMIT)
            .map_err(|error| format!("{EXAMPLE}, {}: {error}", method.name))?;
        printed.push(ended.stdout);
        Ok(ended.elapsed.as_nanos() as f64)
    })?;
    let shown = |index: usize| {
        let wall = Spread::of(&walls[index]).time();
        match index {
            0 => wall,
            _ => format!(
                "{} times off: {wall}",
                Spread::of(&ratios(&walls[index], &walls[0])).ratio()
            ),
        }
    };
    let mut rows: Vec<Row> = (0..methods.len())
        .map(|index| {
            figure(
                run_mode,
                format!("{what}, {}", methods[index].name),
                shown(index),
            )
        })
        .collect();
    let same = printed.iter().filter(|text| **text == printed[0]).count();
    rows.push(Row::judged(
        format!("{EXAMPLE}: runs that print what the first printed"),
        format!("{same} of {}", printed.len()),
        format!("{} of {}", printed.len(), printed.len()),
        same == printed.len() && !printed[0].is_empty(),
    ));
    Ok(rows)
}
