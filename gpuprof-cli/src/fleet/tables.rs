//! The tables of an export.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::activities::{
    api_rows, api_table, copy_rows, copy_table, function_api_rows, function_api_table,
    function_copy_rows, function_copy_table, function_memory_rows, function_memory_table,
    memory_rows, memory_table,
};
use super::columns::{Process, batch, schema};
use super::functions::{
    function_bucket_rows, function_bucket_table, function_rows, function_table,
};
use super::kernels::{
    function_kernel_rows, function_kernel_table, kernel_bucket_rows, kernel_bucket_table,
    kernel_rows, kernel_table,
};
use super::processes::{device_rows, device_table, process_rows, process_table};
use super::steps::{step_window_rows, step_window_table};

/// One table: a folder with this name, and a file per job in it.
pub(super) struct FleetTable {
    pub(super) name: &'static str,
    pub(super) schema: fn() -> SchemaRef,
    /// The rows of a process.
    pub(super) batch: fn(Process<'_>) -> Result<RecordBatch, ArrowError>,
    /// What a row is, as docs/fleets/tables.md says it.
    #[cfg(test)]
    pub(super) about: &'static str,
    /// Name, type and meaning of the columns.
    #[cfg(test)]
    pub(super) columns: fn() -> Vec<(String, &'static str, &'static str)>,
}

/// A table of these columns and rows.
macro_rules! table {
    ($name:literal, $about:literal, $columns:path, $rows:path) => {
        FleetTable {
            name: $name,
            #[cfg(test)]
            about: $about,
            schema: || schema(&$columns()),
            batch: |process| {
                let columns = $columns();
                batch(&columns, &schema(&columns), &$rows(process))
            },
            #[cfg(test)]
            columns: || {
                let columns = $columns().into_iter().map(|column| {
                    let sql_type = column.cell.sql_type();
                    (column.name.into_owned(), sql_type, column.meaning)
                });
                columns.collect()
            },
        }
    };
}

/// All tables.
pub(super) const TABLES: [FleetTable; 14] = [
    table!(
        "processes",
        "One row for each process.",
        process_table,
        process_rows
    ),
    table!(
        "devices",
        "One row for each device that a process used.",
        device_table,
        device_rows
    ),
    table!(
        "step_windows",
        "One row for each window of consecutive steps (`gpuprof::step()`) of a process with \
         collectives of NCCL.",
        step_window_table,
        step_window_rows
    ),
    table!(
        "functions",
        "One row for each annotated function of a process, those that never ran included.",
        function_table,
        function_rows
    ),
    table!(
        "function_buckets",
        "One row for each bucket that is not empty, of each function of a process.",
        function_bucket_table,
        function_bucket_rows
    ),
    table!(
        "kernels",
        "One row for each kernel of a process on a device, inside and outside of its functions.",
        kernel_table,
        kernel_rows
    ),
    table!(
        "kernel_buckets",
        "One row for each bucket that is not empty, of each row of `kernels`.",
        kernel_bucket_table,
        kernel_bucket_rows
    ),
    table!(
        "function_kernels",
        "One row for each kernel that the calls of a function launched: a part of `kernels`.",
        function_kernel_table,
        function_kernel_rows
    ),
    table!(
        "copies",
        "One row for each direction of copies, or for memsets, of a process on a device.",
        copy_table,
        copy_rows
    ),
    table!(
        "function_copies",
        "One row for each direction of copies that the calls of a function made: a part of \
         `copies`.",
        function_copy_table,
        function_copy_rows
    ),
    table!(
        "api_calls",
        "One row for each function of CUDA that a process called.",
        api_table,
        api_rows
    ),
    table!(
        "function_api_calls",
        "One row for each function of CUDA that the calls of a function called: a part of \
         `api_calls`.",
        function_api_table,
        function_api_rows
    ),
    table!(
        "memory",
        "One row for each kind of memory of a process on a device, with `GPUPROF_MEMORY=on`.",
        memory_table,
        memory_rows
    ),
    table!(
        "function_memory",
        "One row for each kind of memory that a function itself allocated or freed: a part of \
         `memory`.",
        function_memory_table,
        function_memory_rows
    ),
];
