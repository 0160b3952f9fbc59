//! How much longer whole programs take with gpuprof: one of launches back to back, which is the
//! worst case, and an example.
//!
//! Each run is a process of its own, because gpuprof's settings hold for a process.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use gpuprof::profile::Diagnostics;
use serde::{Deserialize, Serialize};

use super::Scene;
use super::raw_driver::{self, Answer, Kernel};
use super::statistics::{Spread, figure, performance};
use crate::check::{Check, Row, World};
use crate::{device, process, runner};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "slow-down",
        promise: "Switched off, gpuprof costs nothing; switched on, every launch is timed or \
            counted as not.",
        limit: Duration::from_secs(300),
        run: slow_down,
    },
    Check {
        name: "example-slow-down",
        promise: "A program prints the same with gpuprof on and off.",
        limit: Duration::from_secs(300),
        run: example_slow_down,
    },
];

pub(crate) const SCENES: &[Scene] = &[
    (PLAIN, |world| back_to_back(world, plain)),
    (ANNOTATED, |world| back_to_back(world, annotated)),
];

const PLAIN: &str = "launches";
pub(super) const ANNOTATED: &str = "annotated-launches";
const KERNEL_NS: u64 = 5_000;
/// The most that a loop may take longer with gpuprof off than without the attribute.
const OFF: f64 = 1.01;
/// How long one process may take.
const LIMIT: Duration = Duration::from_secs(60);
pub(super) const EXAMPLE: &str = "04_train_digits";

fn plain(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

#[gpu_profile]
fn annotated(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

/// What a run of launches found.
#[derive(Serialize, Deserialize)]
struct Looped {
    /// From the first launch until the GPU was through.
    wall_ns: f64,
    /// From the first launch until the last had returned.
    host_ns: f64,
    diagnostics: Diagnostics,
}

/// From the first launch until the GPU was through, by what the program printed; ns.
pub(super) fn wall_of(printed: &str) -> Result<f64, String> {
    let found = printed.lines().find(|line| line.starts_with('{'));
    let looped: Result<Looped, _> = serde_json::from_str(found.unwrap_or_default());
    looped
        .map(|looped| looped.wall_ns)
        .map_err(|error| error.to_string())
}

fn launches(world: &World) -> u64 {
    if world.short { 500 } else { 100_000 }
}

/// The program: launches until the GPU is through, and what gpuprof says of them.
fn back_to_back(
    world: &World,
    launch: fn(&Arc<CudaStream>, &Kernel) -> Answer,
) -> Result<ExitCode, String> {
    device::open(world)?;
    let text = |error| format!("launching: {error}");
    let stream = raw_driver::stream().map_err(text)?;
    let kernel = Kernel::spin(KERNEL_NS).map_err(text)?;
    // The first ones load the kernel and make events.
    let warm = launches(world) / 100;
    (0..warm)
        .try_for_each(|_| launch(&stream, &kernel))
        .map_err(text)?;
    stream.synchronize().map_err(text)?;
    let _ = gpuprof::collect();
    gpuprof::reset();
    let began = Instant::now();
    (0..launches(world))
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
    println!(
        "{}",
        serde_json::to_string(&found).map_err(|error| error.to_string())?
    );
    Ok(ExitCode::SUCCESS)
}

/// One way of running a program, and its settings.
struct Way {
    name: &'static str,
    scene: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

/// The first is what the others are compared with.
const WAYS: [Way; 5] = [
    Way {
        name: "off",
        scene: ANNOTATED,
        settings: &[("GPUPROF", "off")],
    },
    Way {
        name: "without the attribute",
        scene: PLAIN,
        settings: &[("GPUPROF", "off")],
    },
    Way {
        name: "on",
        scene: ANNOTATED,
        settings: &[("GPUPROF", "on")],
    },
    Way {
        name: "nvtx",
        scene: ANNOTATED,
        settings: &[("GPUPROF", "nvtx")],
    },
    Way {
        name: "on, 1 call in 100 timed",
        scene: ANNOTATED,
        settings: &[("GPUPROF", "on"), ("GPUPROF_SAMPLE", "100")],
    },
];

fn repeats(world: &World) -> usize {
    if world.short { 2 } else { 7 }
}

/// The command with one way's settings and without a report.
fn set(mut command: Command, way: &Way) -> Command {
    command.env("GPUPROF_REPORT", "none");
    command.envs(way.settings.iter().copied());
    command
}

fn ended_well(command: Command) -> Result<process::Ended, String> {
    let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
    match ended.trouble() {
        Some(trouble) => Err(format!("{trouble}\n{}", ended.tail())),
        None => Ok(ended),
    }
}

fn slow_down(world: &World) -> Result<Vec<Row>, String> {
    let mut runs: Vec<Vec<Looped>> = WAYS.iter().map(|_| Vec::new()).collect();
    for repeat in 0..repeats(world) {
        for at in 0..WAYS.len() {
            let at = (at + repeat) % WAYS.len();
            let way = &WAYS[at];
            let command = set(runner::itself(&["play", way.scene], world)?, way);
            let ended = ended_well(command).map_err(|error| format!("{}: {error}", way.name))?;
            runs[at].push(serde_json::from_str(&ended.stdout).map_err(|error| error.to_string())?);
        }
    }
    let launches = launches(world);
    let walls = |at: usize| runs[at].iter().map(|run| run.wall_ns).collect::<Vec<_>>();
    let mut rows = vec![figure(
        world,
        format!("{launches} launches of 5 µs back to back, off"),
        Spread::of(&walls(0)).time(),
    )];
    for (at, way) in WAYS.iter().enumerate().skip(1) {
        let hosts: Vec<f64> = runs[at].iter().map(|run| run.host_ns).collect();
        let shown = format!(
            "{} times off: {}; the host was through after {}",
            Spread::of(&ratios(&walls(at), &walls(0))).ratio(),
            Spread::of(&walls(at)).time(),
            Spread::of(&hosts).time()
        );
        rows.push(figure(world, format!("the same, {}", way.name), shown));
    }
    let off = Spread::of(&ratios(&walls(0), &walls(1)));
    rows.push(performance(
        world,
        "off against without the attribute",
        off.ratio(),
        format!("at most {OFF}"),
        off.median <= OFF,
    ));
    for at in [2, 4] {
        let all_diagnostics = runs[at].iter().map(|run| &run.diagnostics);
        rows.extend(accounted(
            WAYS[at].name,
            launches,
            &all_diagnostics.collect::<Vec<_>>(),
        ));
    }
    Ok(rows)
}

/// Run by run: runs of one repeat lie beside each other in time.
fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

/// Every launch is timed or has its reason.
fn accounted(way: &str, launches: u64, all_diagnostics: &[&Diagnostics]) -> [Row; 2] {
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
    // What sampling leaves out, it leaves out on purpose.
    let lost =
        |diagnostics: &&&Diagnostics| diagnostics.untimed.sum() - diagnostics.untimed.sampled_out;
    let most = all_diagnostics.iter().max_by_key(lost);
    let shown = most.map_or("no run".into(), |diagnostics| {
        let untimed = &diagnostics.untimed;
        format!(
            "{} timed, {} left out by sampling, {} with no event free, {} with a full queue to the \
             resolver, {} otherwise",
            diagnostics.timed_calls,
            untimed.sampled_out,
            untimed.pool_exhausted,
            untimed.queue_full,
            lost(&diagnostics) - untimed.pool_exhausted - untimed.queue_full
        )
    });
    [
        Row::held(
            format!(
                "{way}: runs in which timed and untimed calls are all launches, without an error"
            ),
            format!("{right} of {}", all_diagnostics.len()),
            format!("{} of {}", all_diagnostics.len(), all_diagnostics.len()),
            right == all_diagnostics.len() && !all_diagnostics.is_empty(),
        ),
        Row::told(
            format!("{way}: the run with most calls that could not be timed"),
            shown,
        ),
    ]
}

fn example_slow_down(world: &World) -> Result<Vec<Row>, String> {
    let what = format!("{EXAMPLE}, the whole process");
    let Some(path) = example() else {
        let why = format!("{EXAMPLE} does not stand beside this program");
        return Ok(vec![Row::not_here(what, why)]);
    };
    let ways: Vec<&Way> = WAYS.iter().filter(|way| way.scene == ANNOTATED).collect();
    let mut walls: Vec<Vec<f64>> = ways.iter().map(|_| Vec::new()).collect();
    let mut printed = Vec::new();
    for repeat in 0..repeats(world) {
        for at in 0..ways.len() {
            let at = (at + repeat) % ways.len();
            let mut command = Command::new(&path);
            process::neutral(&mut command);
            if world.simulated {
                command.env("GPUPROF_SIM", "1");
            }
            let ended = ended_well(set(command, ways[at]))
                .map_err(|error| format!("{EXAMPLE}, {}: {error}", ways[at].name))?;
            walls[at].push(ended.took.as_nanos() as f64);
            printed.push(ended.stdout);
        }
    }
    let shown = |at: usize| {
        let wall = Spread::of(&walls[at]).time();
        match at {
            0 => wall,
            _ => format!(
                "{} times off: {wall}",
                Spread::of(&ratios(&walls[at], &walls[0])).ratio()
            ),
        }
    };
    let mut rows: Vec<Row> = (0..ways.len())
        .map(|at| figure(world, format!("{what}, {}", ways[at].name), shown(at)))
        .collect();
    let same = printed.iter().filter(|text| **text == printed[0]).count();
    rows.push(Row::held(
        format!("{EXAMPLE}: runs that print what the first printed"),
        format!("{same} of {}", printed.len()),
        format!("{} of {}", printed.len(), printed.len()),
        same == printed.len() && !printed[0].is_empty(),
    ));
    Ok(rows)
}

/// Beside this program, as in the pack, or where cargo builds it.
pub(super) fn example() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let folder = here.parent()?;
    let mut places = [folder.join(EXAMPLE), folder.join("examples").join(EXAMPLE)].into_iter();
    places.find(|place| place.is_file())
}
