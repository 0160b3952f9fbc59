//! The functions of a profile as CSV, for spreadsheets and data frames.
//!
//! One row per annotated function, by name, including those that were never called. The first row
//! names the columns; the end of a name is its unit: `_ns` is nanoseconds, `_per_s` per second. A
//! cell without a value is empty. Rows end with a line feed, and cells are quoted as in RFC 4180.
//!
//! | columns | meaning |
//! |---|---|
//! | `function`, `module`, `file`, `line` | where the function is |
//! | `calls`, `open_calls`, … | as in [`Function`] |
//! | `cpu_…` | CPU time per call, of an async function that of its polls |
//! | `wall_total_ns`, `wall_mean_ns` | of an async function, from its first poll to completion |
//! | `gpu_timed_calls`, `gpu_…_ns` | GPU spans |
//! | `gpu_total_ci95_ns` | half the 95 % interval of `gpu_total_ns`, if the estimate has one |
//! | `gpu_nested_ns`, … | as in [`Function`] |
//! | `busy_ns`, `idle_ns`, … | as in [`GpuActivity`]; empty without CUPTI |
//! | `gpu_launches` | kernels of the calls and their nested spans; empty without CUPTI |
//! | `captured_calls`, `untimed_calls`, … | calls without a GPU time, as in [`Function`] |
//! | `bytes`, `flops`, `items` | stated work of all calls |
//! | `bytes_per_s`, `flops_per_s`, `items_per_s` | stated work of the timed calls over their time |
//! | `measured_…` | means of hardware counters while the kernels ran; shares are from 0 to 1 |
//! | `measured_UNIT__…` | of listed metrics, such as `measured_lts__t_sectors.sum_per_s` |
//! | `device_…_bytes`, `pinned_…_bytes` | memory by CUPTI's records; empty without them |
//! | `gpu_marks` | what restricts the GPU times, see below |
//! | `device` | `simulated device` in every row of a profile that was made on one |
//!
//! A profile without functions, of a program that does not use gpuprof, has a row for each kernel
//! and kind of copy, with its GPU times, and for each CUDA call, with its CPU times. The name is in
//! the column `function`; columns that only functions have are empty. A call has no `cpu_self_ns`,
//! because calls of the driver inside those of the runtime are rows too.
//!
//! The marks are `estimated` (scaled up from a sample), `partial` (calls are missing), `self time
//! is an upper bound`, `self time is divided` (spans shared the stream) and `counters are divided`
//! (other functions or copies ran in the same samples).
//!
//! Text from names is escaped as in every output. A spreadsheet would compute a cell that begins
//! with `=`, `+`, `-` or `@`: such a text has an apostrophe before it.

mod activity_rows;
mod cells;

use std::io::{self, Write};

pub use cells::text_cell;
use cells::{Listed, amount, counter_columns, device_cell, measured};

use crate::columns::{ColumnGroup, ColumnValue, HasColumns};
use crate::profile::{Device, Function, GpuActivity, GpuSpanStats, MemoryKind, Profile, SpanStats};

/// The columns of a function's CPU times and GPU spans, after their prefix.
const TIMES: [&str; 10] = [
    "total_ns",
    "self_ns",
    "mean_ns",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p95_ns",
    "p99_ns",
    "max_ns",
    "stddev_ns",
];

/// The columns of memory.
const MEMORY: [&str; 8] = [
    "device_allocations",
    "device_allocated_bytes",
    "device_frees",
    "device_freed_bytes",
    "device_live_bytes",
    "device_peak_growth_bytes",
    "pinned_allocated_bytes",
    "pinned_live_bytes",
];

/// Writes the functions of the profile, or its kernels, copies and CUDA calls if it has none.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// use gpuprof_report::profile::{Function, Profile};
///
/// let mut step = Function::default();
/// (step.name, step.calls) = ("train::step".into(), 3);
/// let mut profile = Profile::default();
/// profile.functions = vec![step];
/// let mut csv = Vec::new();
/// gpuprof_report::csv::write(&profile, &mut csv)?;
/// let csv = String::from_utf8(csv).unwrap();
/// assert!(csv.starts_with("function,module,file,line,calls,"));
/// assert_eq!(csv.lines().nth(1).unwrap().split(',').next(), Some("train::step"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let listed = Listed::new(profile);
    let header = header(&listed);
    let mut text = header.join(",");
    text.push('\n');
    for function in &profile.functions {
        text.push_str(&cells(function, &listed, &profile.devices).join(","));
        text.push('\n');
    }
    if profile.functions.is_empty() {
        activity_rows::write(profile, &listed, &header, &mut text);
    }
    out.write_all(text.as_bytes())
}

fn header(listed: &Listed<'_>) -> Vec<String> {
    let times = |prefix: &'static str| TIMES.map(|name| format!("{prefix}_{name}"));
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    [
        names(&["function", "module", "file", "line"]),
        figure_names::<Function>(ColumnGroup::Calls),
        times("cpu").to_vec(),
        names(&["wall_total_ns", "wall_mean_ns", "gpu_timed_calls"]),
        times("gpu").to_vec(),
        names(&["gpu_total_ci95_ns"]),
        figure_names::<Function>(ColumnGroup::Spans),
        figure_names::<GpuActivity>(ColumnGroup::Records),
        names(&["gpu_launches"]),
        figure_names::<Function>(ColumnGroup::Untimed),
        figure_names::<Function>(ColumnGroup::Work),
        names(&["bytes_per_s", "flops_per_s", "items_per_s"]),
        counter_columns(listed),
        MEMORY.map(str::to_owned).to_vec(),
        names(&["gpu_marks", "device"]),
    ]
    .concat()
}

/// The cells of a row, in the order of [`header`].
fn cells(function: &Function, listed: &Listed<'_>, devices: &[Device]) -> Vec<String> {
    let gpu = function.gpu.as_ref();
    let ran = (function.calls > 0).then_some(&function.cpu);
    let wall = function.wall.as_ref().filter(|_| ran.is_some());
    let activity = &function.activity;
    let has_records = activity.busy_ns.is_some();
    [
        vec![
            text_cell(&function.name),
            text_cell(&function.module),
            text_cell(&function.file),
            function.line.to_string(),
        ],
        figures(function, ColumnGroup::Calls),
        times(ran).to_vec(),
        vec![
            optional(wall.map(|wall| wall.total_ns)),
            optional(wall.map(|wall| wall.mean_ns)),
            optional(gpu.map(|gpu| gpu.timed_calls)),
        ],
        times(gpu.map(|gpu| &gpu.times)).to_vec(),
        vec![optional(
            gpu.and_then(|gpu| gpu.estimate.as_ref()?.total_ci95_ns),
        )],
        figures(function, ColumnGroup::Spans),
        figures(activity, ColumnGroup::Records),
        vec![optional(has_records.then_some(activity.launches))],
        figures(function, ColumnGroup::Untimed),
        figures(function, ColumnGroup::Work),
        rates(gpu).to_vec(),
        measured(activity.counters.as_deref(), listed),
        memory(function).to_vec(),
        vec![
            marks(function, gpu).join("; "),
            device_names(function, devices),
        ],
    ]
    .concat()
}

/// The names of the figures that are columns of this group.
fn figure_names<T: HasColumns>(group: ColumnGroup) -> Vec<String> {
    T::columns(group)
        .map(|column| column.name.to_owned())
        .collect()
}

/// Their values.
fn figures<T: HasColumns>(row: &T, group: ColumnGroup) -> Vec<String> {
    let values = T::columns(group).map(|column| (column.value)(row));
    let cells = values.map(|value| match value {
        ColumnValue::Whole(number) => number.to_string(),
        ColumnValue::Real(number) => amount(Some(number)),
        ColumnValue::Unknown => String::new(),
    });
    cells.collect()
}

/// Device memory, and then pinned memory; empty where none was recorded.
fn memory(function: &Function) -> [String; MEMORY.len()] {
    let of = |kind| function.memory.iter().find(|memory| memory.kind == kind);
    let (device, pinned) = (of(MemoryKind::Device), of(MemoryKind::Pinned));
    [
        device.map(|of| of.inclusive.allocations),
        device.map(|of| of.inclusive.allocated_bytes),
        device.map(|of| of.inclusive.frees),
        device.map(|of| of.inclusive.freed_bytes),
        device.map(|of| of.live_bytes),
        device.map(|of| of.peak_growth_bytes),
        pinned.map(|of| of.inclusive.allocated_bytes),
        pinned.map(|of| of.live_bytes),
    ]
    .map(optional)
}

fn times(stats: Option<&SpanStats>) -> [String; TIMES.len()] {
    let times = stats.map(SpanStats::times);
    times.map_or_else(Default::default, |times| times.map(|ns| ns.to_string()))
}

fn optional(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Bytes, floating-point operations and items per second.
fn rates(gpu: Option<&GpuSpanStats>) -> [String; 3] {
    let Some(gpu) = gpu.filter(|gpu| gpu.timed_ns > 0) else {
        return Default::default();
    };
    [gpu.timed_bytes, gpu.timed_flops, gpu.timed_items]
        .map(|work| amount(work.map(|work| work / gpu.timed_ns as f64 * 1e9)))
}

/// What restricts the GPU times.
fn marks(function: &Function, gpu: Option<&GpuSpanStats>) -> Vec<&'static str> {
    let untimed = &function.untimed;
    let is_partial = function.captured_calls > 0 || untimed.sum() > untimed.sampled_out;
    let mut marks = Vec::new();
    if gpu.is_some_and(|gpu| gpu.estimate.is_some()) {
        marks.push("estimated");
    }
    if gpu.is_some() && is_partial {
        marks.push("partial");
    }
    if gpu.is_some() && (function.gpu_overlaps || function.gpu_nested_partial) {
        marks.push("self time is an upper bound");
    }
    if function.gpu_divided_calls > 0 {
        marks.push("self time is divided");
    }
    let counters = function.activity.counters.as_ref();
    if counters.is_some_and(|counters| counters.is_divided) {
        marks.push("counters are divided");
    }
    marks
}

/// The devices that timed the function's calls.
fn device_names(function: &Function, devices: &[Device]) -> String {
    let ordinals = function.gpu_on_each_device().iter();
    device_cell(ordinals.filter_map(|gpu| gpu.device), devices)
}
