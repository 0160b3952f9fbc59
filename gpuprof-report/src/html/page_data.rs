//! What the script of the page draws from, as JSON. `assets/data.js` reads it.
//!
//! Records are arrays in the order of their field names, which stand once before them: an object
//! for each function would repeat the names a thousand times.

use std::collections::HashMap;

use super::function_records::{self, KernelNumbers};
use super::json_text::JsonText;
use super::source_texts::SourceTexts;
use super::{peaks, source, steps};
use crate::profile::{Finding, Function, GpuBusy, KernelStats, Profile};
use crate::sanitize;
use crate::table::page_parts::{
    self, FigureFormat, PageCell, PageColumn, PageTable, PageTreeRow, PageValue, gpu_inclusive,
};

/// Characters of evidence, advice and a full kernel name that are shown.
const LONG_TEXT: usize = 1_000;
/// Characters of a command line that are shown.
const COMMAND_LINE: usize = 6_000;

pub(super) fn to_json(profile: &Profile, texts: &SourceTexts) -> String {
    let mut json = JsonText::default();
    json.object(|json| {
        run(profile, json);
        json.key("busy")
            .array(|json| (profile.gpu_busy.iter()).for_each(|busy| busy_times(busy, json)));
        json.key("findings").array(|json| {
            for finding in &profile.findings {
                advice(finding, &profile.functions, json);
            }
        });
        json.key("remarks").strings(page_parts::remarks(profile));
        json.key("commands").array(|json| {
            for command in &profile.commands {
                json.object(|json| {
                    json.key("what").string(&sanitize::name(&command.what));
                    let line = sanitize::short(&command.line, COMMAND_LINE);
                    json.key("line").string(&line);
                });
            }
        });
        json.key("functions").object(|json| {
            let numbers = KernelNumbers::of(profile);
            function_records::write(&profile.functions, &numbers, json);
        });
        json.key("nodes").object(|json| nodes(profile, json));
        json.key("kernels").object(|json| kernels(profile, json));
        json.key("tables").object(|json| tables(profile, json));
        peaks::write(profile, json);
        source::write(profile, texts, json);
        if let Some(times) = &profile.steps {
            steps::write(times, json.key("steps"));
        }
    });
    json.into_string()
}

/// Machine, devices and times.
fn run(profile: &Profile, json: &mut JsonText) {
    json.key("host").string(&sanitize::name(&profile.host));
    if let Some(rank) = profile.rank {
        json.key("rank").integer(rank.into());
    }
    json.key("started_at")
        .string(&sanitize::name(&profile.started_at));
    json.key("wall_ns").integer(profile.wall_ns);
    let simulated = profile.devices.iter().any(|device| device.simulated);
    json.key("simulated").boolean(simulated);
    json.key("devices")
        .strings(page_parts::device_names(profile));
    let drivers = profile.devices.iter().map(|device| &device.driver);
    let driver = drivers.max().map_or("", String::as_str);
    json.key("driver").string(&sanitize::name(driver));
    if let Some(text) = page_parts::gpu_time(profile) {
        json.key("gpu_time").string(&text);
    }
    json.key("has_cupti").boolean(profile.cupti.is_some());
    let is_unavailable = profile.diagnostics.cupti_unavailable().is_some();
    json.key("is_cupti_unavailable").boolean(is_unavailable);
    json.key("header").strings(page_parts::header(profile));
}

fn busy_times(busy: &GpuBusy, json: &mut JsonText) {
    json.object(|json| {
        json.key("device").integer(busy.device.into());
        json.key("busy_ns").integer(busy.busy_ns);
        let Some(records) = busy.records else {
            return;
        };
        json.key("kernel_ns").integer(records.kernel_ns);
        json.key("copy_only_ns").integer(records.copy_only_ns);
        json.key("idle_launch_ns").integer(records.idle_launch_ns);
        json.key("idle_host_ns").integer(records.idle_host_ns);
        json.key("idle_queued_ns").integer(records.idle_queued_ns);
    });
}

fn advice(finding: &Finding, functions: &[Function], json: &mut JsonText) {
    json.object(|json| {
        if let Some(name) = &finding.function {
            json.key("name").string(&sanitize::name(name));
            let is_it = |function: &Function| function.name == *name && function.has_run();
            if let Some(at) = functions.iter().position(is_it) {
                json.key("function").integer(at as u64);
            }
        }
        json.key("gain_ns").integer(finding.gain_ns);
        let evidence = sanitize::short(&finding.evidence, LONG_TEXT);
        json.key("evidence").string(&evidence);
        let advice = sanitize::short(&finding.advice, LONG_TEXT);
        json.key("advice").string(&advice);
    });
}

fn fields(names: &[&str], json: &mut JsonText) {
    json.key("fields").strings(names);
}

/// The call tree: the positions of the parent and of the function, and the inclusive times that the
/// flame graphs draw, in ns.
fn nodes(profile: &Profile, json: &mut JsonText) {
    fields(&["parent", "function", "gpu_ns", "cpu_ns"], json);
    json.key("rows").array(|json| {
        for (node, parent) in profile.tree.iter().zip(profile.parents()) {
            json.array(|json| {
                json.integer_or_null(parent.map(|parent| parent as u64));
                json.integer_or_null(node.function.map(u64::from));
                json.integer(gpu_inclusive(node));
                json.integer(node.cpu_total_ns);
            });
        }
    });
}

/// What the tables do not have of the kernels.
fn kernels(profile: &Profile, json: &mut JsonText) {
    let names = [
        "full_name",
        "symbol",
        "graph_calls",
        "p99_ns",
        "registers",
        "static_shared_bytes",
        "dynamic_shared_bytes",
        "local_bytes_per_thread",
        "streams",
    ];
    fields(&names, json);
    let record = |kernel: &KernelStats, json: &mut JsonText| {
        json.string(&sanitize::short(&kernel.full_name, LONG_TEXT));
        json.string(&sanitize::short(&kernel.symbol, LONG_TEXT));
        json.integer(kernel.graph_calls);
        json.integer(kernel.times.p99_ns);
        for number in [
            kernel.registers,
            kernel.static_shared_bytes,
            kernel.dynamic_shared_bytes,
            kernel.local_bytes_per_thread,
            kernel.streams,
        ] {
            json.integer(number.into());
        }
    };
    json.key("rows").array(|json| {
        for kernel in &profile.kernels {
            json.array(|json| record(kernel, json));
        }
    });
}

fn tables(profile: &Profile, json: &mut JsonText) {
    let (rows, functions) = page_parts::functions(profile);
    json.key("functions").object(|json| {
        json.key("rows")
            .array(|json| rows.iter().for_each(|at| json.integer(*at as u64)));
        json.key("names").strings(&functions.names);
        table(&functions, json);
    });
    let known: HashMap<&String, usize> = (functions.names.iter().enumerate())
        .map(|(at, name)| (name, at))
        .collect();
    let (rows, tree) = page_parts::tree(profile);
    json.key("tree").object(|json| {
        // Node, kernel, copies: positions, as far as the row has them.
        json.key("rows").array(|json| {
            for row in &rows {
                tree_row(row, json);
            }
        });
        // A name that is a function's is its row in the table of functions.
        json.key("names").array(|json| {
            for name in &tree.names {
                match known.get(name) {
                    Some(at) => json.integer(*at as u64),
                    None => json.string(name),
                }
            }
        });
        table(&tree, json);
    });
    for (key, plain) in page_parts::plain_tables(profile) {
        json.key(key).object(|json| {
            json.key("names").strings(&plain.names);
            table(&plain, json);
        });
    }
}

fn tree_row(row: &PageTreeRow<'_>, json: &mut JsonText) {
    json.array(|json| match row {
        PageTreeRow::Node(node) => json.integer(*node as u64),
        PageTreeRow::Activity(node, activity) => {
            json.integer(*node as u64);
            json.integer_or_null(activity.kernel.map(u64::from));
            if let Some(copies) = activity.copies {
                json.integer(copies.into());
            }
        }
        PageTreeRow::Unattributed => {}
    });
}

/// The marks of rows, and the columns.
fn table(table: &PageTable, json: &mut JsonText) {
    json.key("marks")
        .object(|json| sparse(table.marks.iter().copied(), json));
    json.key("columns").array(|json| {
        for column in &table.columns {
            json.object(|json| page_column(column, json));
        }
    });
}

fn page_column(column: &PageColumn, json: &mut JsonText) {
    json.key("heading").string(&column.heading);
    json.key("format").string(match column.format {
        FigureFormat::Count => "count",
        FigureFormat::Share => "share",
        FigureFormat::Text => "text",
        FigureFormat::Decimal { .. } => "decimal",
    });
    if let FigureFormat::Decimal { scale, digits } = column.format {
        json.key("scale").number(scale);
        json.key("digits").integer(digits as u64);
    }
    let value = |cell: &PageCell, json: &mut JsonText| match &cell.value {
        PageValue::Number(number) => json.number(*number),
        PageValue::Text(text) => json.string(text),
    };
    let filled = column.cells.iter().flatten().count();
    // Rates and peaks are those of few rows.
    if filled * 2 < column.cells.len() {
        json.key("sparse").object(|json| {
            for (at, cell) in column.cells.iter().enumerate() {
                if let Some(cell) = cell {
                    value(cell, json.key(&at.to_string()));
                }
            }
        });
    } else {
        json.key("values").array(|json| {
            for cell in &column.cells {
                match cell {
                    Some(cell) => value(cell, json),
                    None => json.null(),
                }
            }
        });
    }
    let of_cells = |part: fn(&PageCell) -> &'static str| {
        let cells = column.cells.iter();
        cells.map(move |cell| cell.as_ref().map_or("", part))
    };
    json.key("marks")
        .object(|json| sparse(of_cells(|cell| cell.mark), json));
    json.key("suffixes")
        .object(|json| sparse(of_cells(|cell| cell.suffix), json));
}

/// The texts that are not empty, by row.
fn sparse(texts: impl Iterator<Item = &'static str>, json: &mut JsonText) {
    for (at, text) in texts.enumerate().filter(|(_, text)| !text.is_empty()) {
        json.key(&at.to_string()).string(text);
    }
}
