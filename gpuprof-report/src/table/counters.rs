//! What the hardware counters measured: columns beside what a function states, and lines that say
//! how they were sampled.

use std::borrow::Cow;

use super::number;
use super::quantity::{ColumnSpec, MarkedQuantity, Quantity};
use super::words::{BOLD, PLAIN, Paragraph, WARN, labelled, line_of_names};
use crate::peak_shares::{Bound, peak_shares};
use crate::profile::{
    CounterMean, CounterValues, DeviceCounters, MIN_COUNTER_SAMPLES, Metric, MetricUnit, Profile,
    listed_metrics,
};
use crate::sanitize;

/// Before a value from samples in which other kernels ran.
pub(super) const SHARED_SAMPLES: &str = "≈";

/// The share of sampled time without samples, or too late, from which on the default report has a
/// line.
const MUCH_MISSING: f64 = 0.01;
/// The share of the traffic that nothing of the program caused from which on it has a line.
const MUCH_UNATTRIBUTED: f64 = 0.05;

/// Bytes per second to and from device memory.
pub(super) fn dram(counters: &CounterValues) -> Option<MarkedQuantity> {
    rate(counters, &[Metric::DramRead, Metric::DramWrite])
}

/// What limits the kernels: the unit whose peak is nearest, with its share; `latency` if none is
/// near.
pub(super) fn bound(counters: &CounterValues, dram_share: Option<f64>) -> Option<MarkedQuantity> {
    let nearest = *peak_shares(counters, dram_share)?.first()?;
    let bound = Bound::of(nearest).to_string();
    Some(value(counters, Quantity::Text(bound)))
}

pub(super) fn share(counters: &CounterValues, metric: Metric) -> Option<MarkedQuantity> {
    let share = counters.mean(metric)?;
    Some(value(counters, Quantity::Share(share)))
}

/// Passes of the data path per access.
pub(super) fn access_passes(counters: &CounterValues) -> Option<MarkedQuantity> {
    Some(Quantity::Ratio(counters.mean(Metric::AccessPasses)?).into())
}

fn rate(counters: &CounterValues, metrics: &[Metric]) -> Option<MarkedQuantity> {
    let rates = metrics.iter().map(|metric| counters.mean(*metric));
    let rate = rates.sum::<Option<f64>>()?;
    Some(value(counters, Quantity::BytesPerS(rate)))
}

/// Half the width of the 95 % interval of [`dram`], at most: reads and writes rise together.
pub(super) fn dram_interval(counters: &CounterValues) -> Option<MarkedQuantity> {
    let width = |metric| Some(mean(counters, metric)?.ci95);
    let width = width(Metric::DramRead)? + width(Metric::DramWrite)?;
    Some(Quantity::BytesPerS(width).into())
}

pub(super) fn dram_write(counters: &CounterValues) -> Option<MarkedQuantity> {
    rate(counters, &[Metric::DramWrite])
}

pub(super) fn pcie(counters: &CounterValues) -> Option<MarkedQuantity> {
    rate(counters, &[Metric::PcieRead, Metric::PcieWrite])
}

pub(super) fn nvlink(counters: &CounterValues) -> Option<MarkedQuantity> {
    rate(counters, &[Metric::NvlinkReceived, Metric::NvlinkSent])
}

/// A column of each listed metric: heading, rank and values.
pub(super) fn listed(rows: &[Option<&CounterValues>]) -> Vec<ColumnSpec> {
    let metrics = listed_metrics(rows.iter().copied().flatten());
    let ranks = (0..=LISTED_RANK).rev();
    let columns = ranks.zip(metrics).map(|(rank, metric)| {
        let cell = |row: &CounterValues| {
            let mean = row.listed_mean(metric)?;
            let quantity = match metric.1 {
                MetricUnit::BytesPerS => Quantity::BytesPerS(mean),
                MetricUnit::PerS => Quantity::PerS(mean),
                MetricUnit::Share => Quantity::Share(mean),
                _ => Quantity::Ratio(mean),
            };
            Some(value(row, quantity))
        };
        let cells = rows.iter().map(|row| row.and_then(cell));
        let heading = listed_heading(metric.0).into();
        (heading, rank, cells.collect())
    });
    columns.collect()
}

/// That of the first. They were asked for by name: only the time of a row outranks them.
const LISTED_RANK: u8 = 94;

/// The name of a listed metric without what its unit says.
fn listed_heading(name: &str) -> String {
    let endings = [
        ".avg.pct_of_peak_sustained_elapsed",
        ".sum",
        ".pct",
        ".ratio",
    ];
    let mut stems = endings
        .iter()
        .filter_map(|ending| name.strip_suffix(ending));
    sanitize::short(stems.next().unwrap_or(name), MAX_HEADING_CHARS).into_owned()
}

/// The longest base name of a metric of GH100 has 106 characters.
const MAX_HEADING_CHARS: usize = 120;

fn mean(counters: &CounterValues, metric: Metric) -> Option<&CounterMean> {
    counters.means.iter().find(|mean| mean.metric == metric)
}

pub(super) fn value(counters: &CounterValues, quantity: Quantity) -> MarkedQuantity {
    MarkedQuantity::from(quantity).marked(mark(counters))
}

/// What stands before the values: `≈` or nothing.
pub(crate) fn mark(counters: &CounterValues) -> &'static str {
    if counters.is_divided {
        SHARED_SAMPLES
    } else {
        ""
    }
}

/// Functions that state several times the bytes that their kernels moved: caches served the others,
/// and the share of the peak is not that of the memory.
pub(super) fn cached(profile: &Profile) -> Option<Paragraph> {
    let cached = profile.functions.iter().filter_map(|function| {
        let gpu = function.gpu.as_ref()?;
        let stated = gpu.timed_bytes? / gpu.timed_ns as f64 * 1e9;
        let measured = function.activity.counters.as_ref()?.dram_bytes_per_s()?;
        let ratio = stated / measured;
        let is_cached = ratio.is_finite() && ratio >= CACHED_RATIO;
        let name = sanitize::name(&function.name);
        is_cached.then(|| Cow::Owned(format!("{name} {ratio:.1} ×")))
    });
    line_of_names(
        BOLD,
        "more bytes stated than memory moved:",
        cached.collect(),
        "Caches served the rest, so that their share of the peak bandwidth is none of memory.",
    )
}

/// Stated over measured bytes, from which on caches serve most accesses.
const CACHED_RATIO: f64 = 2.0;

/// What stands for [`SHARED_SAMPLES`].
pub(super) fn shared_samples() -> Paragraph {
    labelled(
        WARN,
        SHARED_SAMPLES,
        "other functions or copies ran in the same samples of the hardware counters, which are \
         divided in proportion to the time of each",
    )
}

/// If starting the sampling took longer than this, it noticeably lengthens the time of the call
/// around it.
const LONG_START_NS: u64 = 10_000_000;

/// Devices with a line in the default report.
const LISTED_DEVICES: usize = 8;

/// How the counters were sampled, one line for each device. The default report has only those
/// whose values are to be read with care, and counts them beyond the first few.
pub(super) fn lines(profile: &Profile, full: bool) -> impl Iterator<Item = Paragraph> {
    let devices = profile.counters.iter();
    let mut shown: Vec<_> = devices.filter(|device| full || is_shown(device)).collect();
    let most = if full { shown.len() } else { LISTED_DEVICES };
    let others = shown.split_off(most.min(shown.len())).len();
    let lines = shown.into_iter().map(move |device| line(device, full));
    let has_samples = profile.counters.iter().any(|device| device.samples > 0);
    let without_values = (has_samples && !has_values(profile)).then(|| {
        let least = MIN_COUNTER_SAMPLES;
        format!("no kernel ran in {least} samples or more, so that no value is shown")
    });
    let others = (others > 0).then(|| {
        let others = number::count(others as u64).text();
        format!("{others} more such GPUs in table:full")
    });
    let more = without_values.into_iter().chain(others);
    lines.chain(more.map(|text| labelled(BOLD, "hardware counters:", &text)))
}

/// Whether any row has a value.
fn has_values(profile: &Profile) -> bool {
    let of_functions = profile.functions.iter().map(|of| &of.activity.counters);
    let of_kernels = profile.kernels.iter().map(|of| &of.counters);
    let mut all = of_functions.chain(of_kernels).flatten();
    all.any(|values| !values.means.is_empty() || !values.listed.is_empty())
}

fn is_doubtful(device: &DeviceCounters) -> bool {
    let missing = device.gap_ns.saturating_add(device.late_ns) as f64;
    let traffic = device.dram_bytes.unwrap_or(0) as f64;
    missing > MUCH_MISSING * device.sampled_ns as f64
        || device.unattributed_dram_bytes as f64 > MUCH_UNATTRIBUTED * traffic
        || device.overflows > 0
}

fn is_shown(device: &DeviceCounters) -> bool {
    device.samples == 0 || device.start_ns > LONG_START_NS || is_doubtful(device)
}

fn line(device: &DeviceCounters, full: bool) -> Paragraph {
    let style = if is_doubtful(device) { WARN } else { BOLD };
    let chip = sanitize::short(&device.chip, 40);
    let label = format!("hardware counters of GPU {} ({chip}):", device.device);
    let mut words = Paragraph::new(style, &label);
    words
        .add_one(
            PLAIN,
            format!("{} samples", number::count(device.samples).text()),
        )
        .add(PLAIN, "of")
        .add_one(PLAIN, number::duration(device.interval_ns).text());
    if device.start_ns > LONG_START_NS {
        words
            .then(";")
            .add_one(PLAIN, number::duration(device.start_ns).text())
            .add(PLAIN, "to start, at the first call that used the GPU");
    }
    if let Some(bytes) = device.dram_bytes.filter(|bytes| *bytes > 0) {
        let share = device.unattributed_dram_bytes as f64 / bytes as f64;
        let share = number::percent(share).map_or_else(String::new, |share| share.text());
        words.then(";").add(
            PLAIN,
            &format!(
                "{share} % of {} of memory traffic came while nothing of this program ran, and is \
                 not attributed (counters are of the whole device)",
                number::size(bytes).text()
            ),
        );
    }
    if device.in_turn_ns > 0 {
        words
            .then(";")
            .add(PLAIN, "other metrics in its place for")
            .add_one(PLAIN, number::duration(device.in_turn_ns).text())
            .then(",")
            .add_one(PLAIN, number::duration(device.changing_ns).text())
            .add(PLAIN, "to change between them");
    }
    let losses = [
        (device.gap_ns, "without samples"),
        (device.late_ns, "of kernels and copies came too late"),
    ];
    for (ns, what) in losses.into_iter().filter(|(ns, _)| *ns > 0) {
        words
            .then(";")
            .add_one(PLAIN, number::duration(ns).text())
            .add(PLAIN, what);
    }
    if device.overflows > 0 {
        words.then(";").add(
            PLAIN,
            &format!(
                "the interval was doubled {}x, because samples came too fast",
                device.overflows
            ),
        );
    }
    if full {
        for (why, metrics) in omitted(device) {
            let metrics: Vec<&str> = metrics.iter().map(|of| of.as_str()).collect();
            let text = format!("{why} {}", metrics.join(", "));
            words.then(";").add(PLAIN, &text);
        }
    }
    words
}

/// The metrics that are not sampled, by the reason if it is known.
fn omitted(device: &DeviceCounters) -> impl Iterator<Item = (&'static str, Vec<Metric>)> {
    let has_reason = |of: &Metric| device.lacking.contains(of) || device.without_room.contains(of);
    let others = device.omitted.iter().filter(|of| !has_reason(of));
    let omitted = [
        ("the GPU lacks", device.lacking.clone()),
        ("no room in one pass:", device.without_room.clone()),
        ("not sampled:", others.copied().collect()),
    ];
    omitted
        .into_iter()
        .filter(|(_, metrics)| !metrics.is_empty())
}
