//! Cells that rows of functions and rows of activities both have.

use crate::profile::{CounterValues, Device, Metric, MetricUnit, Profile, listed_metrics};
use crate::sanitize;

/// Characters of a text that a cell shows; spreadsheets take up to 32,767.
const MAX_TEXT: usize = 8_000;

/// What stands in every row of a profile that was made on one.
const SIMULATED: &str = "simulated device";

/// The metrics that have columns.
const METRICS: [Metric; 17] = [
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
    Metric::SharedThroughput,
    Metric::WarpsActive,
    Metric::ThreadsActive,
    Metric::SharedConflicts,
    Metric::AccessPasses,
    Metric::TensorFloat,
    Metric::TensorInteger,
];

/// The columns of hardware counters.
pub(super) fn counter_columns(listed: &Listed<'_>) -> Vec<String> {
    let fixed = METRICS.iter().map(|metric| {
        let unit = if metric.is_bytes_per_s() {
            "_bytes_per_s"
        } else {
            ""
        };
        format!("measured_{metric}{unit}")
    });
    let listed = listed.0.iter().map(|(name, unit)| {
        let unit = match unit {
            MetricUnit::BytesPerS => "_bytes_per_s",
            MetricUnit::PerS => "_per_s",
            _ => "",
        };
        text_cell(&format!("measured_{name}{unit}"))
    });
    fixed.chain(listed).collect()
}

/// A stated amount or a rate; one that is not finite has no value.
pub(super) fn amount(value: Option<f64>) -> String {
    let value = value.filter(|value| value.is_finite());
    value.map_or_else(String::new, |value| value.round().to_string())
}

/// Means of hardware counters.
pub(super) fn measured(counters: Option<&CounterValues>, listed: &Listed<'_>) -> Vec<String> {
    let fixed = METRICS.iter().map(|metric| {
        let mean = counters.and_then(|counters| counters.mean(*metric));
        (mean, metric.is_bytes_per_s())
    });
    let listed = listed.0.iter().map(|metric| {
        let mean = counters.and_then(|counters| counters.listed_mean(*metric));
        let is_rate = matches!(metric.1, MetricUnit::BytesPerS | MetricUnit::PerS);
        (mean, is_rate)
    });
    let cells = fixed.chain(listed).map(|(mean, is_rate)| match mean {
        Some(mean) if !is_rate => format!("{mean:.4}"),
        rate => amount(rate),
    });
    cells.collect()
}

/// The listed metrics that have columns.
pub(super) struct Listed<'a>(Vec<(&'a str, MetricUnit)>);

impl<'a> Listed<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let functions = profile.functions.iter().map(|of| &of.activity.counters);
        let kernels = profile.kernels.iter().map(|kernel| &kernel.counters);
        Self(listed_metrics(
            functions.chain(kernels).flatten().map(|of| &**of),
        ))
    }
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
