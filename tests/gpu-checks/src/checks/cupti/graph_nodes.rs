//! What replayed CUDA graphs run, attributed to the functions that captured it.

use std::process::ExitCode;

use cudarc::driver::DriverError;
use gpuprof::Profile;
use promises::graph_nodes::{SCENARIOS, Scenario, Work};
use serde::{Deserialize, Serialize};

use super::refusal;
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process;

pub(super) const NAME: &str = "kernels-graphs";

/// A scenario's profile, or why it could not be run.
#[derive(Serialize, Deserialize)]
struct Outcome {
    error: Option<String>,
    profile: Profile,
}

fn outcomes() -> Result<Vec<Outcome>, DriverError> {
    let gpu = Gpu::new()?;
    // CUPTI starts with the first profiled call.
    let work = Work::new(&gpu)?;
    let outcomes = SCENARIOS.iter().map(|scenario| {
        gpuprof::reset();
        let error = (scenario.run)(&work).err().map(|error| error.to_string());
        gpu.context.synchronize()?;
        let profile = gpuprof::collect();
        Ok(Outcome { error, profile })
    });
    outcomes.collect()
}

/// Runs the scenarios and prints their profiles.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let outcomes = outcomes().map_err(failed_in("a graph"))?;
    process::print(&outcomes)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let outcomes: Vec<Outcome> = super::with_cupti(NAME, run_mode)?;
    Ok(SCENARIOS.iter().zip(&outcomes).map(row).collect())
}

fn row((scenario, outcome): (&Scenario, &Outcome)) -> Row {
    let refused = refusal(&outcome.profile);
    match outcome.error.clone().or(refused) {
        Some(why) => Row::unavailable(scenario.what(), why),
        None => scenario.observe(&outcome.profile).into(),
    }
}
