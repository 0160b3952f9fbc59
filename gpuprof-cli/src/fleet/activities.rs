//! The tables of copies, CUDA calls and memory: of the whole process, and of each function.

use gpuprof_report::profile::{
    ApiStats, CopyStats, DurationStats, Function, FunctionMemory, MemoryTotals, MemoryUse, Profile,
};

use super::columns::{Cell, FleetColumn, OfProcess, Process, column, process_columns};
use super::functions::{Numbered, OfFunction, function_columns, numbered};

/// A row about a `T` of a process.
pub(super) struct InProcess<'a, T> {
    process: Process<'a>,
    of: &'a T,
}

/// A row about a `T` of a function.
pub(super) struct InFunction<'a, T> {
    in_process: InProcess<'a, T>,
    numbered: Numbered<'a>,
}

/// What a row is about.
trait About<T> {
    fn of(&self) -> &T;
}

impl<T> OfProcess for InProcess<'_, T> {
    fn process(&self) -> &Process<'_> {
        &self.process
    }
}

impl<T> About<T> for InProcess<'_, T> {
    fn of(&self) -> &T {
        self.of
    }
}

impl<T> OfProcess for InFunction<'_, T> {
    fn process(&self) -> &Process<'_> {
        &self.in_process.process
    }
}

impl<T> OfFunction for InFunction<'_, T> {
    fn numbered(&self) -> &Numbered<'_> {
        &self.numbered
    }
}

impl<T> About<T> for InFunction<'_, T> {
    fn of(&self) -> &T {
        self.in_process.of
    }
}

fn rows_of<'a, T>(process: Process<'a>, all: &'a [T]) -> Vec<InProcess<'a, T>> {
    let rows = all.iter().map(|of| InProcess { process, of });
    rows.collect()
}

fn rows_of_functions<'a, T>(
    process: Process<'a>,
    all: impl Fn(&'a Function) -> &'a [T],
) -> Vec<InFunction<'a, T>> {
    let functions = numbered(process.profile).into_iter();
    let rows = functions.flat_map(|numbered| {
        let rows = rows_of(process, all(numbered.function)).into_iter();
        rows.map(move |in_process| InFunction {
            in_process,
            numbered,
        })
    });
    rows.collect()
}

/// The columns of a table of processes.
fn of_process<'a, T>(
    columns: Vec<FleetColumn<InProcess<'a, T>>>,
) -> Vec<FleetColumn<InProcess<'a, T>>> {
    let mut all = process_columns();
    all.extend(columns);
    all
}

/// The columns of a table of functions.
fn of_function<'a, T>(
    columns: Vec<FleetColumn<InFunction<'a, T>>>,
) -> Vec<FleetColumn<InFunction<'a, T>>> {
    let mut all = process_columns();
    all.extend(function_columns());
    all.extend(columns);
    all
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
fn time_columns<T: HasTimes, R: About<T>>(calls: &'static str) -> Vec<FleetColumn<R>> {
    vec![
        column(
            "calls",
            calls,
            Cell::Number(|row: &R| row.of().times().calls),
        ),
        column(
            "total_ns",
            "sum of their times",
            Cell::Number(|row| row.of().times().total_ns),
        ),
        column(
            "min_ns",
            "shortest of them; NULL if there was none, as in the next columns",
            Cell::OptionalNumber(|row| ran(row.of()).map(|times| times.min_ns)),
        ),
        column(
            "max_ns",
            "longest of them",
            Cell::OptionalNumber(|row| ran(row.of()).map(|times| times.max_ns)),
        ),
        column(
            "p50_ns",
            "median of this process",
            Cell::OptionalNumber(|row| ran(row.of()).map(|times| times.p50_ns)),
        ),
        column(
            "p99_ns",
            "99th percentile of this process",
            Cell::OptionalNumber(|row| ran(row.of()).map(|times| times.p99_ns)),
        ),
    ]
}

fn ran(of: &impl HasTimes) -> Option<&DurationStats> {
    let times = of.times();
    (times.calls > 0).then_some(times)
}

fn copy_columns<R: About<CopyStats>>() -> Vec<FleetColumn<R>> {
    let mut columns = vec![
        column(
            "kind",
            "direction in CUPTI's terms, such as `HtoD`, or `memset`",
            Cell::Text(|row: &R| row.of().kind.as_str()),
        ),
        column(
            "device",
            "CUDA ordinal of its device in this process",
            Cell::Number(|row| u64::from(row.of().device)),
        ),
    ];
    columns.extend(time_columns("copies, or memsets"));
    columns.extend([
        column(
            "bytes",
            "sum of their sizes",
            Cell::Number(|row: &R| row.of().bytes),
        ),
        column(
            "pageable_calls",
            "of `calls`, those from or to pageable host memory",
            Cell::Number(|row| row.of().pageable_calls),
        ),
        column(
            "pageable_ns",
            "time of these",
            Cell::Number(|row| row.of().pageable_ns),
        ),
        column(
            "blocking_calls",
            "of `calls`, those whose CUDA call returns when the copy has ended",
            Cell::Number(|row| row.of().blocking_calls),
        ),
        column(
            "exposed_ns",
            "time in which no kernel ran on the device; NULL if unknown",
            Cell::OptionalNumber(|row| row.of().exposed_ns),
        ),
    ]);
    columns
}

fn api_columns<R: About<ApiStats>>() -> Vec<FleetColumn<R>> {
    let mut columns = vec![
        column(
            "api",
            "name of the CUDA function, such as `cuLaunchKernel`",
            Cell::Text(|row: &R| &row.of().name),
        ),
        column(
            "kind",
            "what it does: `launch`, `graph`, `copy`, `memset`, `sync`, `alloc`, `free`, `module` \
             or `other`",
            Cell::Text(|row| row.of().kind.as_str()),
        ),
    ];
    columns.extend(time_columns("calls, whose times are of the CPU"));
    columns.push(column(
        "failed",
        "of `calls`, those that returned an error",
        Cell::Number(|row| row.of().failed),
    ));
    columns
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

fn memory_columns<R: About<MemoryUse>>() -> Vec<FleetColumn<R>> {
    let mut columns = vec![
        column(
            "kind",
            MEMORY_KIND,
            Cell::Text(|row: &R| row.of().kind.as_str()),
        ),
        column(
            "device",
            "CUDA ordinal of its device in this process; NULL for host memory",
            Cell::OptionalNumber(|row| row.of().device.map(u64::from)),
        ),
    ];
    columns.extend(allocation_columns([
        Cell::Number(|row: &R| row.of().totals.allocations),
        Cell::Number(|row| row.of().totals.allocated_bytes),
        Cell::Number(|row| row.of().totals.frees),
        Cell::Number(|row| row.of().totals.freed_bytes),
        Cell::Number(|row| row.of().live_allocations),
        Cell::Number(|row| row.of().live_bytes),
    ]));
    columns.extend([
        column(
            "peak_bytes",
            "the most that was live at once",
            Cell::Number(|row: &R| row.of().peak_bytes),
        ),
        column(
            "peak_function",
            "function whose allocation reached the peak; NULL if none or unknown",
            Cell::OptionalText(|row| row.of().peak_function.as_deref()),
        ),
    ]);
    columns
}

fn function_memory_columns<R: About<FunctionMemory>>() -> Vec<FleetColumn<R>> {
    fn own<R: About<FunctionMemory>>(row: &R) -> &MemoryTotals {
        &row.of().exclusive
    }
    let mut columns = vec![column(
        "kind",
        MEMORY_KIND,
        Cell::Text(|row: &R| row.of().kind.as_str()),
    )];
    columns.extend(allocation_columns([
        Cell::Number(|row: &R| own(row).allocations),
        Cell::Number(|row| own(row).allocated_bytes),
        Cell::Number(|row| own(row).frees),
        Cell::Number(|row| own(row).freed_bytes),
        Cell::Number(|row| row.of().live_allocations),
        Cell::Number(|row| row.of().live_bytes),
    ]));
    columns.push(column(
        "peak_growth_bytes",
        "by how much its own allocations raised the program's peak",
        Cell::Number(|row: &R| row.of().peak_growth_bytes),
    ));
    columns
}

pub(super) fn copy_rows(process: Process<'_>) -> Vec<InProcess<'_, CopyStats>> {
    rows_of(process, &process.profile.copies)
}

/// The columns of `copies`: one row for each direction of copies of a process on a device.
pub(super) fn copy_table<'a>() -> Vec<FleetColumn<InProcess<'a, CopyStats>>> {
    of_process(copy_columns())
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
    of_process(api_columns())
}

pub(super) fn function_api_rows(process: Process<'_>) -> Vec<InFunction<'_, ApiStats>> {
    rows_of_functions(process, |function| &function.activity.api)
}

/// The columns of `function_api_calls`.
pub(super) fn function_api_table<'a>() -> Vec<FleetColumn<InFunction<'a, ApiStats>>> {
    of_function(api_columns())
}

pub(super) fn memory_rows(process: Process<'_>) -> Vec<InProcess<'_, MemoryUse>> {
    rows_of(process, uses(process.profile))
}

fn uses(profile: &Profile) -> &[MemoryUse] {
    profile.memory.as_ref().map_or(&[], |memory| &memory.uses)
}

/// The columns of `memory`: one row for each kind of memory of a process on a device.
pub(super) fn memory_table<'a>() -> Vec<FleetColumn<InProcess<'a, MemoryUse>>> {
    of_process(memory_columns())
}

pub(super) fn function_memory_rows(process: Process<'_>) -> Vec<InFunction<'_, FunctionMemory>> {
    rows_of_functions(process, |function| &function.memory)
}

/// The columns of `function_memory`.
pub(super) fn function_memory_table<'a>() -> Vec<FleetColumn<InFunction<'a, FunctionMemory>>> {
    of_function(function_memory_columns())
}
