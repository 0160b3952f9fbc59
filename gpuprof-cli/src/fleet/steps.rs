//! The table of the windows of steps.

use gpuprof_report::profile::StepWindow;

use super::columns::{Cell, FleetColumn, Process, Row, column, joined, process_columns, rows_of};

pub(super) fn step_window_rows<'a>(process: Process<'a>) -> Vec<Row<'a, &'a StepWindow>> {
    let steps = process.profile.steps.iter();
    rows_of(process, steps.flat_map(|steps| &steps.windows))
}

/// The columns of `step_windows`.
pub(super) fn step_window_table<'a>() -> Vec<FleetColumn<Row<'a, &'a StepWindow>>> {
    let own = vec![
        column(
            "first_step",
            "number of its first step, from 1",
            Cell::Number(|row: &Row<'a, &'a StepWindow>| row.of.first_step),
        ),
        column(
            "steps",
            "its steps: as many in each window of a process, a power of two, and in the last one \
             perhaps fewer",
            Cell::Number(|row| row.of.steps),
        ),
        column(
            "wall_ns",
            "wall time of these steps",
            Cell::Number(|row| row.of.wall_ns),
        ),
        column(
            "collectives",
            "AllReduce, AllGather and ReduceScatter of NCCL that they launched",
            Cell::Number(|row| row.of.collectives),
        ),
        column(
            "collective_ns",
            "time of these",
            Cell::Number(|row| row.of.collective_ns),
        ),
    ];
    joined([process_columns(), own])
}
