//! The tables of copies, CUDA calls and memory: of the whole process, and of each function.

use gpuprof_report::profile::{
    ApiStats, CopyStats, DurationStats, FunctionMemory, MemoryTotals, MemoryUse,
};

use super::columns::{Cell, FleetColumn, Process, Row, column, joined, process_columns, rows_of};
use super::functions::{Numbered, function_columns, rows_of_functions};

/// A row about a `T` of a process.
type InProcess<'a, T> = Row<'a, &'a T>;

/// A row about a `T` of a function.
type InFunction<'a, T> = Row<'a, &'a T, Numbered<'a>>;

/// Columns that a row about a `T` has in both tables.
type Columns<'a, T, N> = Vec<FleetColumn<Row<'a, &'a T, N>>>;

/// The columns of a table of functions.
fn of_function<'a, T>(
    columns: Vec<FleetColumn<InFunction<'a, T>>>,
) -> Vec<FleetColumn<InFunction<'a, T>>> {
    joined([process_columns(), function_columns(), columns])
}

/// Something with durations.
trait HasTimes {
    fn times(&self) -> &DurationStats;
}

impl HasTimes for CopyStats {
    fn times(&self) -> &DurationStats {
        &self.times
    }
}

impl HasTimes for ApiStats {
    fn times(&self) -> &DurationStats {
        &self.times
    }
}

/// The figures of durations, of which `calls` says what they are of.
fn time_columns<'a, T: HasTimes, N>(calls: &'static str) -> Columns<'a, T, N> {
    vec![
        column("calls", calls, Cell::Number(|row| row.of.times().calls)),
        column(
            "total_ns",
            "sum of their times",
            Cell::Number(|row| row.of.times().total_ns),
        ),
        column(
            "min_ns",
            "shortest of them; NULL if there was none, as in the next columns",
            Cell::OptionalNumber(|row| ran(row.of).map(|times| times.min_ns)),
        ),
        column(
            "max_ns",
            "longest of them",
            Cell::OptionalNumber(|row| ran(row.of).map(|times| times.max_ns)),
        ),
        column(
            "p50_ns",
            "median of this process",
            Cell::OptionalNumber(|row| ran(row.of).map(|times| times.p50_ns)),
        ),
        column(
            "p99_ns",
            "99th percentile of this process",
            Cell::OptionalNumber(|row| ran(row.of).map(|times| times.p99_ns)),
        ),
    ]
}

fn ran(of: &impl HasTimes) -> Option<&DurationStats> {
    let times = of.times();
    (times.calls > 0).then_some(times)
}

fn copy_columns<'a, N>() -> Columns<'a, CopyStats, N> {
    joined([
        vec![
            column(
                "kind",
                "direction in CUPTI's terms, such as `HtoD`, or `memset`",
                Cell::Text(|row| row.of.kind.as_str()),
            ),
            column(
                "device",
                "CUDA ordinal of its device in this process",
                Cell::Number(|row| u64::from(row.of.device)),
            ),
        ],
        time_columns("copies, or memsets"),
        vec![
            column(
                "bytes",
                "sum of their sizes",
                Cell::Number(|row| row.of.bytes),
            ),
            column(
                "pageable_calls",
                "of `calls`, those from or to pageable host memory",
                Cell::Number(|row| row.of.pageable_calls),
            ),
            column(
                "pageable_ns",
                "time of these",
                Cell::Number(|row| row.of.pageable_ns),
            ),
            column(
                "blocking_calls",
                "of `calls`, those whose CUDA call returns when the copy has ended",
                Cell::Number(|row| row.of.blocking_calls),
            ),
            column(
                "exposed_ns",
                "time in which no kernel ran on the device; NULL if unknown",
                Cell::OptionalNumber(|row| row.of.exposed_ns),
            ),
        ],
    ])
}

fn api_columns<'a, N>() -> Columns<'a, ApiStats, N> {
    joined([
        vec![
            column(
                "api",
                "name of the CUDA function, such as `cuLaunchKernel`",
                Cell::Text(|row| &row.of.name),
            ),
            column(
                "kind",
                "what it does: `launch`, `graph`, `copy`, `memset`, `sync`, `alloc`, `free`, \
                 `module` or `other`",
                Cell::Text(|row| row.of.kind.as_str()),
            ),
        ],
        time_columns("calls, whose times are of the CPU"),
        vec![column(
            "failed",
            "of `calls`, those that returned an error",
            Cell::Number(|row| row.of.failed),
        )],
    ])
}

/// The figures of allocations, and of those that are live.
fn allocation_columns<R>(of: [Cell<R>; 6]) -> Vec<FleetColumn<R>> {
    let [allocations, allocated, frees, freed, live, live_bytes] = of;
    vec![
        column("allocations", "number of allocations", allocations),
        column("allocated_bytes", "sum of their sizes", allocated),
        column("frees", "number of frees", frees),
        column("freed_bytes", "sum of what they freed", freed),
        column(
            "live_allocations",
            "allocations that were live when the profile was taken",
            live,
        ),
        column("live_bytes", "sum of their sizes", live_bytes),
    ]
}

const MEMORY_KIND: &str = "kind of memory: `device`, `managed` or `pinned`";

fn memory_columns<'a, N>() -> Columns<'a, MemoryUse, N> {
    joined([
        vec![
            column("kind", MEMORY_KIND, Cell::Text(|row| row.of.kind.as_str())),
            column(
                "device",
                "CUDA ordinal of its device in this process; NULL for host memory",
                Cell::OptionalNumber(|row| row.of.device.map(u64::from)),
            ),
        ],
        allocation_columns([
            Cell::Number(|row| row.of.totals.allocations),
            Cell::Number(|row| row.of.totals.allocated_bytes),
            Cell::Number(|row| row.of.totals.frees),
            Cell::Number(|row| row.of.totals.freed_bytes),
            Cell::Number(|row| row.of.live_allocations),
            Cell::Number(|row| row.of.live_bytes),
        ]),
        vec![
            column(
                "peak_bytes",
                "the most that was live at once",
                Cell::Number(|row| row.of.peak_bytes),
            ),
            column(
                "peak_function",
                "function whose allocation reached the peak; NULL if none or unknown",
                Cell::OptionalText(|row| row.of.peak_function.as_deref()),
            ),
        ],
    ])
}

fn function_memory_columns<'a, N>() -> Columns<'a, FunctionMemory, N> {
    fn own<'a, N>(row: &Row<'a, &'a FunctionMemory, N>) -> &'a MemoryTotals {
        &row.of.exclusive
    }
    joined([
        vec![column(
            "kind",
            MEMORY_KIND,
            Cell::Text(|row| row.of.kind.as_str()),
        )],
        allocation_columns([
            Cell::Number(|row| own(row).allocations),
            Cell::Number(|row| own(row).allocated_bytes),
            Cell::Number(|row| own(row).frees),
            Cell::Number(|row| own(row).freed_bytes),
            Cell::Number(|row| row.of.live_allocations),
            Cell::Number(|row| row.of.live_bytes),
        ]),
        vec![column(
            "peak_growth_bytes",
            "by how much its own allocations raised the program's peak",
            Cell::Number(|row| row.of.peak_growth_bytes),
        )],
    ])
}

pub(super) fn copy_rows(process: Process<'_>) -> Vec<InProcess<'_, CopyStats>> {
    rows_of(process, &process.profile.copies)
}

/// The columns of `copies`: one row for each direction of copies of a process on a device.
pub(super) fn copy_table<'a>() -> Vec<FleetColumn<InProcess<'a, CopyStats>>> {
    joined([process_columns(), copy_columns()])
}

pub(super) fn function_copy_rows(process: Process<'_>) -> Vec<InFunction<'_, CopyStats>> {
    rows_of_functions(process, |function| &function.activity.copies)
}

/// The columns of `function_copies`.
pub(super) fn function_copy_table<'a>() -> Vec<FleetColumn<InFunction<'a, CopyStats>>> {
    of_function(copy_columns())
}

pub(super) fn api_rows(process: Process<'_>) -> Vec<InProcess<'_, ApiStats>> {
    rows_of(process, &process.profile.api)
}

/// The columns of `api_calls`: one row for each function of CUDA that a process called.
pub(super) fn api_table<'a>() -> Vec<FleetColumn<InProcess<'a, ApiStats>>> {
    joined([process_columns(), api_columns()])
}

pub(super) fn function_api_rows(process: Process<'_>) -> Vec<InFunction<'_, ApiStats>> {
    rows_of_functions(process, |function| &function.activity.api)
}

/// The columns of `function_api_calls`.
pub(super) fn function_api_table<'a>() -> Vec<FleetColumn<InFunction<'a, ApiStats>>> {
    of_function(api_columns())
}

pub(super) fn memory_rows(process: Process<'_>) -> Vec<InProcess<'_, MemoryUse>> {
    let memory = process.profile.memory.iter();
    rows_of(process, memory.flat_map(|memory| &memory.uses))
}

/// The columns of `memory`: one row for each kind of memory of a process on a device.
pub(super) fn memory_table<'a>() -> Vec<FleetColumn<InProcess<'a, MemoryUse>>> {
    joined([process_columns(), memory_columns()])
}

pub(super) fn function_memory_rows(process: Process<'_>) -> Vec<InFunction<'_, FunctionMemory>> {
    rows_of_functions(process, |function| &function.memory)
}

/// The columns of `function_memory`.
pub(super) fn function_memory_table<'a>() -> Vec<FleetColumn<InFunction<'a, FunctionMemory>>> {
    of_function(function_memory_columns())
}
