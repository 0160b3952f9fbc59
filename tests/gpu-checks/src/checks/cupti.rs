//! Promise: with `GPUPROF_CUPTI=on` every kernel, copy and CUDA call is counted, attributed to the
//! function around it, and timed as other tools time it, and the program is unaffected.
//!
//! The program under test is its own process, because CUPTI cannot be unloaded, and because other
//! tools run it as well.

mod bare_cupti;
mod counters;
mod cuda_source;
mod exit_and_other_tools;
mod findings;
mod graph_costs;
mod graph_nodes;
mod late_records;
mod long_run;
mod memory;
mod nsight_compute;
mod nsight_tools;
mod occupancy;
mod overhead;
mod pipes;
mod stacks;
mod stalls;
mod steps;
mod test_program;
mod timed_streams;
mod token_costs;

use std::process::Command;
use std::time::Duration;

use gpuprof::Profile;
use gpuprof::profile::{Function, KernelStats};
use promises::attribution::{self, Margins};
use serde::de::DeserializeOwned;

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::device::{SIMULATED_OVERHEAD_NS, TOLERANCE};
use crate::{process, runner};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "kernels",
        promise: "Kernels and copies are counted exactly, under the launching function.",
        limit: Duration::from_secs(90),
        run: counted,
    },
    Check {
        name: "kernels-tools",
        promise: "Kernel counts and times agree with Nsight Compute and Nsight Systems.",
        limit: Duration::from_secs(300),
        run: nsight_compute::run,
    },
    Check {
        name: "counters",
        promise: "Hardware counters agree with Nsight Compute's.",
        limit: Duration::from_secs(300),
        run: counters::run,
    },
    Check {
        name: "pipes",
        promise: "The shares of each unit's peak agree with Nsight Compute's.",
        limit: Duration::from_secs(600),
        run: pipes::run,
    },
    Check {
        name: "stalls",
        promise: "Samples of program counters agree with Nsight Compute's: reasons and lines.",
        limit: Duration::from_secs(420),
        run: stalls::run,
    },
    Check {
        name: "findings",
        promise: "Each finding by measurement is found in one kernel, and not in its twin.",
        limit: Duration::from_secs(420),
        run: findings::run,
    },
    Check {
        name: "kernels-limits",
        promise: "Theoretical occupancy equals the driver's.",
        limit: Duration::from_secs(60),
        run: occupancy::run,
    },
    Check {
        name: "kernels-graphs",
        promise: "Kernels of replayed graphs belong to the functions that captured them.",
        limit: Duration::from_secs(180),
        run: graphs,
    },
    Check {
        name: "kernels-streams",
        promise: "Kernels outside their function's GPU span are reported; helpers have none.",
        limit: Duration::from_secs(60),
        run: timed_streams::run,
    },
    Check {
        name: "kernels-late",
        promise: "A record belongs to the function of its launch, however late it arrives.",
        limit: Duration::from_secs(90),
        run: late_records::run,
    },
    Check {
        name: "steps",
        promise: "A collective counts in the step that launched it, however late it runs.",
        limit: Duration::from_secs(90),
        run: steps::run,
    },
    Check {
        name: "cupti-long",
        promise: "Over millions of records memory is flat and none is lost uncounted.",
        limit: Duration::from_secs(500),
        run: long_run::run,
    },
    Check {
        name: "kernels-ends",
        promise: "Under another profiler and at exit, missing records are reported.",
        limit: Duration::from_secs(180),
        run: exit_and_other_tools::run,
    },
    Check {
        name: "memory",
        promise: "Allocations and frees have exact counts and bytes, by function and kind.",
        limit: Duration::from_secs(60),
        run: memory::run,
    },
    Check {
        name: "stacks",
        promise: "Kernels have the source lines that launched them, within the budget.",
        limit: Duration::from_secs(120),
        run: stacks::run,
    },
    Check {
        name: "kernels-cost",
        promise: "gpuprof with CUPTI costs no more than Nsight Systems.",
        limit: Duration::from_secs(300),
        run: overhead::run,
    },
    Check {
        name: "kernels-token-cost",
        promise: "gpuprof adds little to what CUPTI's own records cost.",
        limit: Duration::from_secs(180),
        run: token_costs::rows,
    },
];

pub(crate) const PROGRAMS: &[TestProgram] = &[
    (test_program::NAME, test_program::run_program),
    (
        exit_and_other_tools::QUEUED,
        exit_and_other_tools::run_program,
    ),
    (occupancy::NAME, occupancy::run_program),
    (graph_nodes::NAME, graph_nodes::run_program),
    (timed_streams::NAME, timed_streams::run_program),
    (late_records::NAME, late_records::run_program),
    (steps::NAME, steps::run_program),
    (long_run::NAME, long_run::run_program),
    (memory::NAME, memory::run_program),
    (stacks::NAME, stacks::run_program),
    (graph_costs::NAME, graph_costs::run_program),
    (token_costs::NAME, token_costs::run_program),
    (counters::NAME, counters::run_program),
];

/// Of the check `kernels`.
const MARGINS: Margins = Margins {
    busy: 0.01,
    events_ns: 6_000,
    host: TOLERANCE,
    // cuBLAS's operands.
    buffers: 2,
};

/// Time limit per process.
const LIMIT: Duration = Duration::from_secs(60);

/// What a test program prints with CUPTI on.
fn with_cupti<T: DeserializeOwned>(name: &str, run_mode: &RunMode) -> Result<T, String> {
    runner::answer(name, run_mode, LIMIT, &[("GPUPROF_CUPTI", "on")])
}

/// Runs a program that prints a time alone, perhaps among lines of a tool.
fn printed_time(command: Command) -> Result<f64, String> {
    let ended = process::finished(command, LIMIT)?;
    let mut lines = ended.stdout.lines();
    let time = lines.find_map(|line| line.parse().ok());
    time.ok_or_else(|| "the program printed no time".to_owned())
}

/// Why CUPTI is unavailable, from the report.
fn refusal(profile: &Profile) -> Option<String> {
    match profile.cupti {
        Some(_) => None,
        None => Some(profile.diagnostics.notes.join("; ")),
    }
}

fn function<'a>(profile: &'a Profile, name: &str) -> Option<&'a Function> {
    let mut functions = profile.functions.iter();
    functions.find(|function| function.name == name)
}

/// The launches of one kernel among `kernels`.
fn launches(kernels: &[KernelStats], symbol: &str) -> u64 {
    let named = kernels.iter().filter(|kernel| kernel.symbol == symbol);
    named.map(|kernel| kernel.times.calls).sum()
}

fn graphs(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = graph_nodes::run(run_mode)?;
    rows.extend(graph_costs::rows(run_mode)?);
    Ok(rows)
}

fn counted(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let profile: Profile = with_cupti(test_program::NAME, run_mode)?;
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable("kernels inside functions", why)]);
    }
    let mut margins = MARGINS;
    if run_mode.simulated {
        margins.events_ns = SIMULATED_OVERHEAD_NS;
    }
    let observed = attribution::observe(&profile, margins);
    let mut rows: Vec<_> = observed.into_iter().map(Row::from).collect();
    rows.extend(test_program::check_products(&profile));
    rows.push(test_program::check_times(run_mode, &profile));
    rows.push(test_program::check_completeness(&profile));
    rows.push(test_program::check_clock(run_mode, &profile));
    Ok(rows)
}
