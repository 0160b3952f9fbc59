//! Results as a table: as aligned text, Markdown, or CSV.

use std::fmt::{self, Write as _};

use gpuprof_report::csv::text_cell;
use gpuprof_report::profile::{Device, Precision};

use crate::measurement::{Measurement, Results, Stopped};

/// The headings. Names are left-aligned, figures right-aligned; empty columns are omitted.
const HEADINGS: [&str; 13] = [
    "benchmark",
    "mode",
    "samples",
    "min",
    "median",
    "± (95 %)",
    "p95",
    "noise",
    "CPU",
    "GB/s",
    "TFLOP/s",
    "of peak",
    "baseline",
];
/// Columns that are left-aligned.
const LEFT: usize = 2;

type ResultRow = [String; HEADINGS.len()];

/// Results, and what is said of each measurement beside them; it may be missing.
pub(crate) type ResultRows<'a> = [(&'a Results, &'a [String])];

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(&[(self, &[])]))
    }
}

/// As aligned text, with what must be known of it below.
pub(crate) fn text(all: &ResultRows<'_>) -> String {
    let rows = rows(all);
    let used = used_columns(&rows);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let mut out = String::new();
    // The first one has the headings.
    for row in rows.iter().filter(|_| rows.len() > 1) {
        let mut line = String::new();
        for &column in &used {
            let (cell, width) = (&row[column], width(column));
            // Writing to a String cannot fail.
            let _ = if column < LEFT {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for (number, line) in notes(all).iter().enumerate() {
        if number == 0 && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// As a Markdown table, with the notes as a list.
pub(crate) fn markdown(all: &ResultRows<'_>) -> String {
    let rows = rows(all);
    let used = used_columns(&rows);
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = used
            .iter()
            .map(|&column| row[column].replace('|', "\\|"))
            .collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
        if number == 0 {
            let rules = used
                .iter()
                .map(|&column| if column < LEFT { "---" } else { "--:" });
            let _ = writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"));
        }
    }
    out.push('\n');
    for line in notes(all) {
        let _ = writeln!(out, "- {line}");
    }
    out
}

/// As CSV, with units in the headings and full precision.
pub(crate) fn csv(all: &ResultRows<'_>) -> String {
    let mut out = String::from(
        "benchmark,mode,samples,calls_per_sample,min_ns,median_ns,median_low_ns,median_high_ns,\
         p95_ns,noise,cpu_ns,event_overhead_ns,bytes_per_s,flops_per_s,items_per_s,\
         throttled_samples,converged,device,sm_clock_mhz,notes,baseline\n",
    );
    for (results, compared) in all {
        for (at, one) in results.measurements.iter().enumerate() {
            let clock = one
                .sm_clock_mhz
                .map_or_else(String::new, |mhz| mhz.to_string());
            let compared = compared.get(at).map_or("", String::as_str);
            let bound = |bound: Option<f64>| bound.map_or_else(String::new, |ns| ns.to_string());
            let rate = |rate: Option<f64>| rate.map_or_else(String::new, |rate| rate.to_string());
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{clock},{},{}",
                text_cell(&results.name),
                one.mode,
                one.samples.len(),
                one.calls_per_sample,
                one.min_ns,
                one.median_ns,
                bound(one.median_ci95_ns.map(|(low, _)| low)),
                bound(one.median_ci95_ns.map(|(_, high)| high)),
                one.p95_ns,
                one.noise,
                one.cpu_ns,
                one.event_overhead_ns,
                rate(one.bytes_per_s()),
                rate(one.flops_per_s()),
                rate(one.items_per_s()),
                one.throttled_samples,
                one.stopped == Stopped::Converged,
                text_cell(&device(&results.device)),
                text_cell(&one.notes.join("; ")),
                text_cell(compared),
            );
        }
    }
    out
}

fn rows(all: &ResultRows<'_>) -> Vec<ResultRow> {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    for (results, compared) in all {
        for (number, measured) in results.measurements.iter().enumerate() {
            let compared = compared.get(number).cloned().unwrap_or_default();
            rows.push(row(results, measured, compared));
        }
    }
    rows
}

fn row(results: &Results, measured: &Measurement, compared: String) -> ResultRow {
    let rate = |rate: Option<f64>, unit: f64| {
        rate.map_or_else(String::new, |rate| significant(rate / unit))
    };
    [
        results.name.clone(),
        measured.mode.name().to_owned(),
        measured.samples.len().to_string(),
        duration(measured.min_ns),
        duration(measured.median_ns),
        error(measured),
        duration(measured.p95_ns),
        percent(measured.noise),
        duration(measured.cpu_ns),
        rate(measured.bytes_per_s(), 1e9),
        rate(measured.flops_per_s(), 1e12),
        share_of_peak(&results.device, measured),
        compared,
    ]
}

/// The larger share of the device's peaks: of memory, or of arithmetic in the stated precision.
fn share_of_peak(device: &Device, measured: &Measurement) -> String {
    let precision = measured.precision.unwrap_or(Precision::F32);
    let share =
        |rate: Option<f64>, peak: Option<u64>| Some(rate? / peak.filter(|&peak| peak > 0)? as f64);
    let memory = share(measured.bytes_per_s(), device.peak_bytes_per_s);
    let arithmetic = share(measured.flops_per_s(), device.peak_flops(precision));
    let memory = memory.map(|share| (share, "mem"));
    let arithmetic = arithmetic.map(|share| (share, precision.as_str()));
    let larger = match (memory, arithmetic) {
        (Some(memory), Some(arithmetic)) if arithmetic.0 > memory.0 => Some(arithmetic),
        (memory, arithmetic) => memory.or(arithmetic),
    };
    larger.map_or_else(String::new, |(share, name)| {
        format!("{:.1} % {name}", share * 100.0)
    })
}

fn used_columns(rows: &[ResultRow]) -> Vec<usize> {
    let is_used = |&column: &usize| rows.iter().skip(1).any(|row| !row[column].is_empty());
    (0..HEADINGS.len()).filter(is_used).collect()
}

/// What must be known of the figures: devices, clocks, the cost of events, and each note.
pub(crate) fn notes(all: &ResultRows<'_>) -> Vec<String> {
    let mut lines = facts(all);
    for (results, _) in all {
        for measured in &results.measurements {
            let place = format!("{}, {}", results.name, measured.mode);
            let own = measured.notes.iter().cloned().chain(stopped(measured));
            lines.extend(own.map(|note| format!("{place}: {note}")));
            if let dropped @ 1.. = measured.throttled_samples {
                lines.push(format!(
                    "{place}: {dropped} samples dropped, the device was throttled"
                ));
            }
        }
        for (mode, why) in &results.not_measured {
            lines.push(format!("{}, {mode}: not measured: {why}", results.name));
        }
    }
    lines
}

/// Why a measurement ended before it was good enough.
fn stopped(measured: &Measurement) -> Option<String> {
    let (limit, samples) = (measured.stopped.limit()?, measured.samples.len());
    Some(match measured.relative_error() {
        Some(_) => format!(
            "ended by {limit} after {samples} samples, with the median known to ±{}",
            error(measured)
        ),
        None => format!(
            "ended by {limit} after {samples} samples, too few to say how well the median is known"
        ),
    })
}

/// The devices with the clocks and event overheads of all that ran on them, a line each.
fn facts(all: &ResultRows<'_>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let measured = |results: &Results| !results.measurements.is_empty();
    let mut devices: Vec<&Device> = Vec::new();
    for (results, _) in all.iter().filter(|(results, _)| measured(results)) {
        if !devices.contains(&&results.device) {
            devices.push(&results.device);
        }
    }
    for device in devices {
        let of_it = all.iter().filter(|(results, _)| results.device == *device);
        let measured: Vec<&Measurement> = of_it
            .flat_map(|(results, _)| &results.measurements)
            .collect();
        let mut line = self::device(device);
        let range = |values: Vec<f64>, shown: &dyn Fn(f64) -> String| {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if shown(least) == shown(most) {
                shown(least)
            } else {
                format!("{} to {}", shown(least), shown(most))
            }
        };
        let overheads = measured.iter().map(|one| one.event_overhead_ns).collect();
        let _ = write!(
            line,
            "; an empty event pair, a part of each sample: {}",
            range(overheads, &duration)
        );
        let clocks: Vec<f64> = measured
            .iter()
            .filter_map(|one| one.sm_clock_mhz)
            .map(f64::from)
            .collect();
        if !clocks.is_empty() {
            let shown = range(clocks, &|mhz| format!("{mhz:.0}"));
            let _ = write!(line, "; SM clock {shown} MHz");
        }
        lines.push(line);
    }
    lines
}

fn device(device: &Device) -> String {
    format!("{}, driver CUDA {}", device.shown_name(), device.driver)
}

/// How well the median is known.
fn error(measured: &Measurement) -> String {
    let error = measured.relative_error();
    error.map_or_else(|| "–".to_owned(), |error| format!("{:.2} %", error * 100.0))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn duration(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{} µs", significant(ns / 1e3)),
        ..1e9 => format!("{} ms", significant(ns / 1e6)),
        _ => format!("{} s", significant(ns / 1e9)),
    }
}

/// An amount of memory.
pub(crate) fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        ..1024.0 => format!("{bytes} B"),
        ..1_048_576.0 => format!("{} KiB", significant(bytes / 1024.0)),
        ..1_073_741_824.0 => format!("{} MiB", significant(bytes / 1_048_576.0)),
        _ => format!("{} GiB", significant(bytes / 1_073_741_824.0)),
    }
}

/// Four digits, at most six of them after the point.
fn significant(value: f64) -> String {
    let before = value.abs().log10().floor();
    let digits = if before.is_finite() {
        (3.0 - before).clamp(0.0, 6.0)
    } else {
        3.0
    };
    format!("{value:.*}", digits as usize)
}
