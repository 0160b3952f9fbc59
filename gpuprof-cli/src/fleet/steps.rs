//! The table of the windows of steps.

use gpuprof_report::profile::StepWindow;

use super::columns::{Cell, FleetColumn, OfProcess, Process, column, process_columns};

/// A window of steps of a process.
pub(super) struct FleetStepWindow<'a> {
    process: Process<'a>,
    window: &'a StepWindow,
}

impl OfProcess for FleetStepWindow<'_> {
    fn process(&self) -> &Process<'_> {
        &self.process
    }
}

pub(super) fn step_window_rows<'a>(process: Process<'a>) -> Vec<FleetStepWindow<'a>> {
    let steps = process.profile.steps.iter();
    let windows = steps.flat_map(|steps| &steps.windows);
    let rows = windows.map(|window| FleetStepWindow { process, window });
    rows.collect()
}

/// The columns of `step_windows`.
pub(super) fn step_window_table<'a>() -> Vec<FleetColumn<FleetStepWindow<'a>>> {
    let mut columns = process_columns();
    let own: [FleetColumn<FleetStepWindow<'a>>; 5] = [
        column(
            "first_step",
            "number of its first step, from 1",
            Cell::Number(|row| row.window.first_step),
        ),
        column(
            "steps",
            "its steps: as many in each window of a process, a power of two, and in the last one \
             perhaps fewer",
            Cell::Number(|row| row.window.steps),
        ),
        column(
            "wall_ns",
            "wall time of these steps",
            Cell::Number(|row| row.window.wall_ns),
        ),
        column(
            "collectives",
            "AllReduce, AllGather and ReduceScatter of NCCL that they launched",
            Cell::Number(|row| row.window.collectives),
        ),
        column(
            "collective_ns",
            "time of these",
            Cell::Number(|row| row.window.collective_ns),
        ),
    ];
    columns.extend(own);
    columns
}
