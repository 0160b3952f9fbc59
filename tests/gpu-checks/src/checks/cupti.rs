//! Promise: with `GPUPROF_CUPTI=on` every kernel, copy and CUDA call is counted, belongs to the
//! function around it, and takes the time that other tools say it takes; the program goes on as
//! without.
//!
//! The program under test is a process of its own, because CUPTI stays in a process for good, and
//! other tools run it as well.

mod exit_and_other_tools;
mod nsight_compute;
mod nsight_tools;
mod occupancy;
mod overhead;
mod test_program;

use std::process::Command;
use std::time::Duration;

use gpuprof::Profile;
use gpuprof::profile::{CopyStats, Function, KernelStats};

use super::Scene;
use crate::check::{Check, Row, World};
use crate::{process, runner};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "kernels",
        promise: "Kernels, copies and graph replays are counted exactly, under the function around \
            their launch.",
        limit: Duration::from_secs(90),
        run: counted,
    },
    Check {
        name: "kernels-tools",
        promise: "Kernel counts and times are those that Nsight Compute and Nsight Systems see, \
            where they are.",
        limit: Duration::from_secs(300),
        run: nsight_compute::run,
    },
    Check {
        name: "kernels-limits",
        promise: "Theoretical occupancy is what the driver works out.",
        limit: Duration::from_secs(60),
        run: occupancy::run,
    },
    Check {
        name: "kernels-ends",
        promise: "Under another profiler and at an end with work queued the program goes on, and \
            what is missing is told.",
        limit: Duration::from_secs(180),
        run: exit_and_other_tools::run,
    },
    Check {
        name: "kernels-cost",
        promise: "CUPTI in gpuprof slows a program down no more than Nsight Systems does.",
        limit: Duration::from_secs(300),
        run: overhead::run,
    },
];

pub(crate) const SCENES: &[Scene] = &[
    (test_program::NAME, test_program::play),
    (exit_and_other_tools::QUEUED, exit_and_other_tools::play),
    (occupancy::NAME, occupancy::play),
];

/// The longest that one process may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What a scene with CUPTI prints: its profile.
fn profiled(name: &str, world: &World) -> Result<Profile, String> {
    let mut command = runner::itself(&["play", name], world)?;
    command.env("GPUPROF_CUPTI", "on");
    command.env("GPUPROF_REPORT", "none");
    profile_of(command)
}

fn profile_of(command: Command) -> Result<Profile, String> {
    let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
    if let Some(trouble) = ended.trouble() {
        return Err(format!("{trouble}\n{}", ended.tail()));
    }
    let printed = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(printed).map_err(|error| format!("{error} in `{printed}`"))
}

/// Why there is no CUPTI, in gpuprof's words.
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

/// Launches of one kernel among `kernels`.
fn launches(kernels: &[KernelStats], symbol: &str) -> u64 {
    let named = kernels.iter().filter(|kernel| kernel.symbol == symbol);
    named.map(|kernel| kernel.times.calls).sum()
}

/// Copies of one kind, and their bytes.
fn copied(copies: &[CopyStats], kind: &str) -> (u64, u64) {
    let of_kind = copies.iter().filter(|copies| copies.kind.as_str() == kind);
    of_kind.fold((0, 0), |(calls, bytes), copies| {
        (calls + copies.times.calls, bytes + copies.bytes)
    })
}

fn counted(world: &World) -> Result<Vec<Row>, String> {
    let profile = profiled(test_program::NAME, world)?;
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::not_here("kernels inside functions", why)]);
    }
    let mut rows: Vec<Row> = test_program::WANTED
        .iter()
        .map(|wanted| wanted.row(&profile))
        .collect();
    rows.push(test_program::outside(&profile));
    rows.extend(test_program::products(&profile));
    rows.extend(test_program::times(world, &profile));
    rows.push(test_program::complete(&profile));
    Ok(rows)
}
