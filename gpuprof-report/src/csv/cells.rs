//! Cells that rows of functions and rows of activities both have.

use crate::profile::{CounterValues, Device, Metric};
use crate::sanitize;

/// Characters of a text that a cell shows; spreadsheets take up to 32,767.
const MAX_TEXT: usize = 8_000;

/// What stands in every row of a profile that was made on one.
const SIMULATED: &str = "simulated device";

/// The metrics that have columns.
const METRICS: [Metric; 10] = [
    Metric::DramRead,
    Metric::DramWrite,
    Metric::SmActive,
    Metric::TensorActive,
    Metric::IssueRate,
    Metric::Fp64Active,
    Metric::L2Throughput,
    Metric::L1Throughput,
    Metric::AluActive,
    Metric::XuActive,
];

/// The columns of hardware counters.
pub(super) fn counter_columns() -> [String; METRICS.len()] {
    METRICS.map(|metric| {
        let unit = if metric.is_bytes_per_s() {
            "_bytes_per_s"
        } else {
            ""
        };
        format!("measured_{metric}{unit}")
    })
}

/// A stated amount or a rate; one that is not finite has no value.
pub(super) fn amount(value: Option<f64>) -> String {
    let value = value.filter(|value| value.is_finite());
    value.map_or_else(String::new, |value| value.round().to_string())
}

/// Means of hardware counters.
pub(super) fn measured(counters: Option<&CounterValues>) -> [String; METRICS.len()] {
    METRICS.map(|metric| {
        let mean = counters.and_then(|counters| counters.mean(metric));
        if metric.is_bytes_per_s() {
            amount(mean)
        } else {
            mean.map_or_else(String::new, |mean| format!("{mean:.4}"))
        }
    })
}

/// The names of these devices.
pub(super) fn device_cell(ordinals: impl Iterator<Item = u32>, devices: &[Device]) -> String {
    if devices.iter().any(|device| device.simulated) {
        return SIMULATED.to_owned();
    }
    let named = |ordinal| devices.iter().find(|device| device.ordinal == ordinal);
    let names = ordinals.filter_map(|ordinal| Some(named(ordinal)?.name.as_str()));
    text_cell(&names.collect::<Vec<_>>().join(" + "))
}

/// A text as a cell: escaped, without a formula, and quoted if need be.
#[must_use]
pub fn text_cell(text: &str) -> String {
    let mut cell = sanitize::short(text, MAX_TEXT).into_owned();
    if cell.starts_with(is_formula_start) {
        cell.insert(0, '\'');
    }
    if cell.contains([',', '"']) {
        cell = format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

/// Whether a spreadsheet computes a text that begins so; tabs and line ends are escaped anyway.
fn is_formula_start(c: char) -> bool {
    matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠')
}
