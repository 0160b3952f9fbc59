//! Tables of functions, threads and devices, as cells of text.

use std::fmt::Write as _;

use gpuprof_report::live::{DeviceRow, FunctionRow, ThreadRow};
use gpuprof_report::sanitize;

use super::numbers::{count, duration, percent, rate, spark_line};
use super::top_model::{TopModel, TopSort, Tracked};

/// Characters of a name.
const MAX_NAME: usize = 200;

/// A column's title, and whether its cells are texts, which are cut to the room that is left.
pub(super) struct TopColumn {
    pub(super) title: &'static str,
    pub(super) is_text: bool,
}

pub(super) struct TopTable {
    pub(super) columns: Vec<TopColumn>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Which columns there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// 80 columns.
    Narrow,
    /// 120 columns and more.
    Wide,
}

impl Width {
    fn is_wide(self) -> bool {
        self == Self::Wide
    }

    fn spark(self) -> usize {
        match self {
            Self::Narrow => 8,
            Self::Wide => 30,
        }
    }
}

const fn text(title: &'static str) -> TopColumn {
    TopColumn {
        title,
        is_text: true,
    }
}

const fn number(title: &'static str) -> TopColumn {
    TopColumn {
        title,
        is_text: false,
    }
}

/// The cells that `is_shown` says.
fn shown<T>(items: impl IntoIterator<Item = (bool, T)>) -> Vec<T> {
    let items = items.into_iter().filter(|(is_shown, _)| *is_shown);
    items.map(|(_, item)| item).collect()
}

pub(super) fn functions(model: &TopModel, sort: TopSort, width: Width) -> TopTable {
    let wide = width.is_wide();
    let rows = model.functions(sort);
    let has_busy = wide && rows.iter().any(|one| one.row.busy_ns.is_some());
    let sorted = |by: TopSort, column: TopColumn, title| {
        if by == sort {
            TopColumn { title, ..column }
        } else {
            column
        }
    };
    let columns = shown([
        (true, sorted(TopSort::Name, text("Function"), "Function▾")),
        (true, sorted(TopSort::Calls, number("Calls"), "Calls▾")),
        (true, sorted(TopSort::Rate, number("Calls/s"), "Calls/s▾")),
        (true, sorted(TopSort::Gpu, number("GPU"), "GPU▾")),
        (true, number("GPU %")),
        (wide, number("GPU/call")),
        (has_busy, number("GPU busy")),
        (true, sorted(TopSort::Cpu, number("CPU"), "CPU▾")),
        (wide, number("CPU %")),
        (wide, number("CPU/call")),
        (true, number("Open")),
        (true, number("Trend")),
    ]);
    let cells = |one: &&Tracked<FunctionRow>| {
        let (row, rates) = (&one.row, &one.rates);
        let optional = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), duration);
        let mean = |ns: u64| ns.checked_div(row.calls);
        shown([
            (true, name(&row.name)),
            (true, count(row.calls)),
            (true, rate(rates.calls_per_s)),
            (true, optional(row.gpu_ns)),
            (
                true,
                row.gpu_ns.map_or("-".to_owned(), |_| percent(rates.gpu)),
            ),
            (wide, optional(row.gpu_ns.and_then(mean))),
            (has_busy, optional(row.busy_ns)),
            (true, duration(row.cpu_ns)),
            (wide, percent(rates.cpu)),
            (wide, optional(mean(row.cpu_ns))),
            (true, open(row.open_calls)),
            (true, spark(one, width)),
        ])
    };
    TopTable {
        columns,
        rows: rows.iter().map(cells).collect(),
    }
}

fn open(calls: u64) -> String {
    match calls {
        0 => String::new(),
        calls => count(calls),
    }
}

pub(super) fn threads(model: &TopModel, width: Width) -> TopTable {
    let cells = |one: &Tracked<ThreadRow>| {
        let (row, rates) = (&one.row, &one.rates);
        let running = row.running.as_deref();
        vec![
            row.tid.to_string(),
            name(&row.name),
            count(row.calls),
            rate(rates.calls_per_s),
            duration(row.cpu_ns),
            percent(rates.cpu),
            spark(one, width),
            running.map_or_else(String::new, |_| duration(model.running_ns(one))),
            running.map_or_else(String::new, name),
        ]
    };
    TopTable {
        columns: vec![
            number("Thread"),
            text("Name"),
            number("Calls"),
            number("Calls/s"),
            number("CPU"),
            number("CPU %"),
            number("Trend"),
            number("For"),
            text("Running"),
        ],
        rows: model.threads.values().map(cells).collect(),
    }
}

pub(super) fn devices(model: &TopModel, width: Width) -> TopTable {
    let wide = width.is_wide();
    let cells = |one: &Tracked<DeviceRow>| {
        let (row, rates) = (&one.row, &one.rates);
        shown([
            (true, row.device.to_string()),
            (true, name(&row.name)),
            (true, count(row.timed_calls)),
            (wide, rate(rates.calls_per_s)),
            (true, duration(row.gpu_ns)),
            (true, duration(row.busy_ns)),
            (true, percent(rates.gpu)),
            (true, spark(one, width)),
        ])
    };
    TopTable {
        columns: shown([
            (true, number("Device")),
            (true, text("Name")),
            (true, number("Timed")),
            (wide, number("Timed/s")),
            (true, number("Spans")),
            (true, number("Busy")),
            (true, number("Busy %")),
            (true, number("Trend")),
        ]),
        rows: model.devices.values().map(cells).collect(),
    }
}

fn spark<Row>(one: &Tracked<Row>, width: Width) -> String {
    let width = width.spark();
    let line = spark_line(one.history.iter().copied(), width);
    format!("{line:>width$}")
}

pub(super) fn name(name: &str) -> String {
    sanitize::short(name, MAX_NAME).into_owned()
}

/// The line of the program and of what watching it costs.
pub(super) fn status(model: &TopModel) -> String {
    let share = model.live_ns as f64 / model.offered_ns.max(1) as f64;
    let mut devices = model.devices.values();
    let is_simulated = devices.any(|one| one.row.name.contains("simulated device"));
    format!(
        "{} {}{} · wall {} · refresh {:.0} s · cost {} %",
        name(&model.program),
        model.pid,
        if is_simulated {
            " · simulated device"
        } else {
            ""
        },
        duration(model.wall_ns),
        model.interval().as_secs_f64(),
        percent(share),
    )
}

/// All tables as plain text.
pub(super) fn to_text(model: &TopModel, sort: TopSort) -> String {
    let mut all = status(model);
    all.push('\n');
    for table in [
        functions(model, sort, Width::Wide),
        threads(model, Width::Narrow),
        devices(model, Width::Narrow),
    ] {
        all.push('\n');
        write_table(&table, &mut all);
    }
    all
}

fn write_table(table: &TopTable, out: &mut String) {
    let widths = widths(table);
    let titles = table.columns.iter().map(|column| column.title);
    write_row(table, &widths, titles, out);
    for row in &table.rows {
        write_row(table, &widths, row.iter().map(String::as_str), out);
    }
}

fn write_row<'a>(
    table: &TopTable,
    widths: &[usize],
    cells: impl Iterator<Item = &'a str>,
    out: &mut String,
) {
    let mut line = String::new();
    for ((cell, width), column) in cells.zip(widths).zip(&table.columns) {
        // Writing to a String cannot fail.
        let _ = if column.is_text {
            write!(line, "{cell:<width$}  ")
        } else {
            write!(line, "{cell:>width$}  ")
        };
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The widest cell of each column.
pub(super) fn widths(table: &TopTable) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    let width = |(index, column): (usize, &TopColumn)| {
        let cells = table
            .rows
            .iter()
            .filter_map(|row| row.get(index))
            .map(|cell| cell.chars().count());
        cells.fold(column.title.chars().count(), usize::max)
    };
    columns.map(width).collect()
}
