//! The tables of functions and of their histograms.

use std::borrow::Cow;
use std::collections::HashMap;

use gpuprof_report::columns::{ColumnGroup, HasColumns};
use gpuprof_report::profile::{Function, GpuActivity, GpuSpanStats, Profile, SpanStats};

use super::buckets::{InRange, bucket_columns, filled};
use super::columns::{Cell, FleetColumn, Process, Row, column, joined, process_columns};

/// Functions of one name and place in a profile that are told apart, as in `gpuprof merge`.
const MAX_NAMESAKES: u64 = 64;

/// A function, and its number among those of its name and place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered<'a> {
    pub(super) function: &'a Function,
    namesake: u64,
}

/// The functions of a profile.
fn numbered(profile: &Profile) -> Vec<Numbered<'_>> {
    let mut seen: HashMap<_, u64> = HashMap::new();
    let functions = profile.functions.iter().map(|function| {
        let place = (
            &function.module,
            &function.name,
            &function.file,
            function.line,
        );
        let count = seen.entry(place).or_default();
        let namesake = (*count).min(MAX_NAMESAKES - 1);
        *count += 1;
        Numbered { function, namesake }
    });
    functions.collect()
}

/// A row for each of `all` of each function.
pub(super) fn rows_of_functions<'a, I: IntoIterator>(
    process: Process<'a>,
    all: impl Fn(&'a Function) -> I,
) -> Vec<Row<'a, I::Item, Numbered<'a>>> {
    let functions = numbered(process.profile).into_iter();
    let rows = functions.flat_map(|numbered| {
        all(numbered.function).into_iter().map(move |of| Row {
            process,
            numbered,
            of,
            in_range: (),
        })
    });
    rows.collect()
}

/// The columns that say which function a row is about.
pub(super) fn function_columns<'a, T, B>() -> Vec<FleetColumn<Row<'a, T, Numbered<'a>, B>>> {
    vec![
        column(
            "function",
            "name of the function",
            Cell::Text(|row| &row.numbered.function.name),
        ),
        column(
            "module",
            "its module path, including the crate",
            Cell::Text(|row| &row.numbered.function.module),
        ),
        column(
            "file",
            "its source file",
            Cell::Text(|row| &row.numbered.function.file),
        ),
        column(
            "line",
            "its line in `file`",
            Cell::Number(|row| u64::from(row.numbered.function.line)),
        ),
        column(
            "namesake",
            "number among the functions of one process that share the four columns before, from 0",
            Cell::Number(|row| row.numbered.namesake),
        ),
    ]
}

/// A function of a process, with the name of the device of its GPU spans.
type FunctionRow<'a> = Row<'a, Option<Cow<'a, str>>, Numbered<'a>>;

impl FunctionRow<'_> {
    fn function(&self) -> &Function {
        self.numbered.function
    }

    fn activity(&self) -> &GpuActivity {
        &self.function().activity
    }

    fn gpu(&self) -> Option<&GpuSpanStats> {
        self.function().gpu.as_ref()
    }
}

pub(super) fn function_rows<'a>(process: Process<'a>) -> Vec<FunctionRow<'a>> {
    let devices = &process.profile.devices;
    rows_of_functions(process, |function| {
        let ordinal = function.gpu.as_ref().and_then(|gpu| gpu.device);
        let device = devices
            .iter()
            .find(|device| Some(device.ordinal) == ordinal);
        [device.map(|device| device.shown_name())]
    })
}

/// The columns of `functions`: one row for each function of a process.
pub(super) fn function_table<'a>() -> Vec<FleetColumn<FunctionRow<'a>>> {
    let mut columns = joined([process_columns(), function_columns()]);
    columns.extend(figures(ColumnGroup::Calls));
    columns.extend(span_columns(
        ("cpu", SUM_OF_CALLS),
        |row| Some(&row.function().cpu),
        |row| measured(&row.function().cpu, row.function().calls),
    ));
    columns.extend(span_columns(
        ("wall", SUM_OF_CALLS),
        |row| row.function().wall.as_ref(),
        |row| measured(row.function().wall.as_ref()?, row.function().calls),
    ));
    columns.push(column(
        "gpu_timed_calls",
        "calls that were GPU-timed; NULL if none was, as in the next columns",
        Cell::OptionalNumber(|row| Some(row.gpu()?.timed_calls)),
    ));
    columns.extend(span_columns(
        ("gpu", "sum over the calls that the histogram counts"),
        |row| Some(&row.gpu()?.times),
        |row| {
            let gpu = row.gpu()?;
            measured(&gpu.times, gpu.timed_calls)
        },
    ));
    columns.push(column(
        "gpu_total_ci95_ns",
        "half the 95 % interval of `gpu_total_ns`; NULL if it has none",
        Cell::OptionalNumber(|row| row.gpu()?.estimate.as_ref()?.total_ci95_ns),
    ));
    columns.extend(figures(ColumnGroup::Spans));
    columns.extend(device_columns());
    columns.extend(figures(ColumnGroup::Untimed));
    columns.extend(GpuActivity::columns(ColumnGroup::Records).map(|figure| {
        let cell = Cell::OfActivity(figure.kind, FunctionRow::activity, figure.value);
        column(figure.name, figure.meaning, cell)
    }));
    columns.extend(figures(ColumnGroup::Work));
    columns
}

/// What `cpu_sum_ns` and `wall_sum_ns` are.
const SUM_OF_CALLS: &str = "sum over all calls, nested calls of the function too";

/// The durations, if there are any.
fn measured(times: &SpanStats, calls: u64) -> Option<&SpanStats> {
    (calls > 0 || filled(&times.histogram).next().is_some()).then_some(times)
}

/// The columns of CPU times, of times from first poll to completion, or of GPU spans. `sums` gives
/// what is added even if there was no call, `range` only what was measured.
fn span_columns<'a>(
    (prefix, sum_meaning): (&str, &'static str),
    sums: for<'r> fn(&'r FunctionRow<'a>) -> Option<&'r SpanStats>,
    range: for<'r> fn(&'r FunctionRow<'a>) -> Option<&'r SpanStats>,
) -> Vec<FleetColumn<FunctionRow<'a>>> {
    let name = |name: &str| format!("{prefix}_{name}");
    vec![
        column(
            name("total_ns"),
            "sum over the outermost calls",
            Cell::OfSpans(sums, |times| times.total_ns),
        ),
        column(
            name("self_ns"),
            "the same without nested spans",
            Cell::OfSpans(sums, |times| times.self_ns),
        ),
        column(
            name("sum_ns"),
            sum_meaning,
            Cell::OfSpans(sums, |times| times.sum_ns),
        ),
        column(
            name("min_ns"),
            "shortest call; NULL if there was none, as in the next columns",
            Cell::OfSpans(range, |times| times.min_ns),
        ),
        column(
            name("max_ns"),
            "longest call",
            Cell::OfSpans(range, |times| times.max_ns),
        ),
        column(
            name("p50_ns"),
            "median of this process",
            Cell::OfSpans(range, |times| times.p50_ns),
        ),
        column(
            name("p99_ns"),
            "99th percentile of this process",
            Cell::OfSpans(range, |times| times.p99_ns),
        ),
    ]
}

/// The figures of a function that are columns of this group.
fn figures<'a>(group: ColumnGroup) -> impl Iterator<Item = FleetColumn<FunctionRow<'a>>> {
    Function::columns(group).map(|figure| {
        let cell = Cell::OfFunction(figure.kind, FunctionRow::function, figure.value);
        column(figure.name, figure.meaning, cell)
    })
}

fn device_columns<'a>() -> [FleetColumn<FunctionRow<'a>>; 2] {
    [
        column(
            "device",
            "CUDA ordinal of the device of the GPU spans; NULL if there are several or none",
            Cell::OptionalNumber(|row| Some(u64::from(row.gpu()?.device?))),
        ),
        column(
            "device_name",
            "name of the device; that of a simulated device says so; NULL if `device` is",
            Cell::OptionalText(|row| row.of.as_deref()),
        ),
    ]
}

/// A bucket of a function's histogram of this kind.
type FunctionBucketRow<'a> = Row<'a, &'static str, Numbered<'a>, InRange>;

pub(super) fn function_bucket_rows<'a>(process: Process<'a>) -> Vec<FunctionBucketRow<'a>> {
    let mut rows = Vec::new();
    for numbered in numbered(process.profile) {
        let function = numbered.function;
        let kinds = [
            ("cpu", Some(&function.cpu)),
            ("wall", function.wall.as_ref()),
            ("gpu", function.gpu.as_ref().map(|gpu| &gpu.times)),
        ];
        for (kind, times) in kinds {
            let Some(times) = times else { continue };
            let range = (times.min_ns, times.max_ns);
            rows.extend(filled(&times.histogram).map(|bucket| Row {
                process,
                numbered,
                of: kind,
                in_range: InRange { bucket, range },
            }));
        }
    }
    rows
}

/// The columns of `function_buckets`: one row for each bucket that is not empty.
pub(super) fn function_bucket_table<'a>() -> Vec<FleetColumn<FunctionBucketRow<'a>>> {
    let kind = column(
        "kind",
        "which durations: `cpu` (CPU time), `wall` (of an async function, from first poll to \
         completion) or `gpu` (GPU spans)",
        Cell::Text(|row: &FunctionBucketRow<'a>| row.of),
    );
    joined([
        process_columns(),
        function_columns(),
        vec![kind],
        bucket_columns(),
    ])
}
