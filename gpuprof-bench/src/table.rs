//! Results as a table.

use std::fmt::{self, Write as _};

use crate::measurement::{Measurement, Results, Stopped};

/// The headings; names are left-aligned, figures right-aligned.
const HEADINGS: [&str; 11] = [
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
];
/// Columns that are left-aligned.
const LEFT: usize = 2;

/// The table of several benchmarks, with what must be known of it below.
pub(crate) fn of(all: &[&Results]) -> String {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    let mut notes = Vec::new();
    for results in all {
        for measured in &results.measurements {
            rows.push(row(&results.name, measured));
            let place = format!("{}, {}", results.name, measured.mode);
            notes.extend(measured.notes.iter().map(|note| format!("{place}: {note}")));
            notes.extend(stopped(measured).map(|why| format!("{place}: {why}")));
        }
        for (mode, why) in &results.not_measured {
            notes.push(format!("{}, {mode}: not measured: {why}", results.name));
        }
    }
    let widths: [usize; HEADINGS.len()] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let is_used: [bool; HEADINGS.len()] =
        std::array::from_fn(|column| rows.iter().skip(1).any(|row| !row[column].is_empty()));
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row
            .iter()
            .enumerate()
            .filter(|(column, _)| is_used[*column])
        {
            let width = widths[column];
            // Writing to a String cannot fail.
            let _ = match column < LEFT {
                true => write!(line, "{cell:<width$}  "),
                false => write!(line, "{cell:>width$}  "),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push('\n');
    for line in facts(all).into_iter().chain(notes) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&of(&[self]))
    }
}

fn row(name: &str, measured: &Measurement) -> [String; HEADINGS.len()] {
    let peak = |rate: Option<f64>, unit: f64| {
        rate.map_or_else(String::new, |rate| significant(rate / unit))
    };
    [
        name.to_owned(),
        measured.mode.name().to_owned(),
        measured.samples.len().to_string(),
        duration(measured.min_ns),
        duration(measured.median_ns),
        percent(measured.relative_error()),
        duration(measured.p95_ns),
        percent(measured.noise),
        duration(measured.cpu_ns),
        peak(measured.bytes_per_s(), 1e9),
        peak(measured.flops_per_s(), 1e12),
    ]
}

/// Why a measurement ended before it was good enough.
fn stopped(measured: &Measurement) -> Option<String> {
    let limit = match measured.stopped {
        Stopped::Converged => return None,
        Stopped::TimeLimit => "the time limit",
        Stopped::SampleLimit => "the limit of samples",
    };
    let error = percent(measured.relative_error());
    Some(format!(
        "ended by {limit}, with the median known to ±{error}"
    ))
}

/// What holds for all of them: devices, clocks, the cost of events.
fn facts(all: &[&Results]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for results in all {
        let device = &results.device;
        let simulated = match device.simulated && !device.name.contains("simulated device") {
            true => " (simulated device)",
            false => "",
        };
        let mut line = format!("{}{simulated}, driver {}", device.name, device.driver);
        let overhead = results.measurements.first();
        if let Some(measured) = overhead {
            let overhead = duration(measured.event_overhead_ns);
            let _ = write!(
                line,
                "; an empty event pair, a part of each sample: {overhead}"
            );
            if let Some(clock) = measured.sm_clock_mhz {
                let _ = write!(line, "; SM clock {clock} MHz");
            }
        }
        let throttled = results.measurements.iter().map(|one| one.throttled_samples);
        if let dropped @ 1.. = throttled.sum::<usize>() {
            let _ = write!(
                line,
                "; {dropped} samples dropped, the device was throttled"
            );
        }
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
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

/// Four digits.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        ..1e-3 => 6,
        ..1.0 => 4,
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}
