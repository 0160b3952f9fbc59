//! How busy each device was by its GPU spans: the time during which at least one was open.
//!
//! A span counts if it is nested in no timed span of its stream. While a device has one stream and
//! spans do not overlap, the sum of these is their union. Otherwise the union is made of the spans
//! whose place is known ([`SpanPlace`]). Under sampling the sum is estimated as the total of a
//! function is, and sampled spans that may overlap others, whose place is not read, make it an
//! upper bound. A span that has not ended counts with the spans nested in it.
//!
//! [`SpanPlace`]: super::busy_union::SpanPlace

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::gpu_time_rollup::CallTreeNode;
use super::gpu_totals::SummedTime;
use super::profile_inputs::ProfileInputs;
use super::sampling_estimates::{RatioEstimate, SiteSample};
use gpuprof_report::profile::GpuBusy;

/// The spans of one device.
#[derive(Default)]
struct DeviceSpans {
    /// By site: the spans that are summed.
    summed: BTreeMap<u32, SummedTime>,
    /// The union of the others.
    placed_ns: u64,
    is_upper_bound: bool,
}

/// By ordinal. A device without a timed span is omitted.
pub(super) fn of_spans(inputs: &ProfileInputs<'_>, nodes: &[CallTreeNode<'_>]) -> Vec<GpuBusy> {
    let samples = samples(nodes);
    let devices = devices(inputs).into_iter();
    let busy = devices.map(|(device, spans)| {
        let (mut ns, mut variance) = (spans.placed_ns as f64, 0.0);
        let mut is_sampled = false;
        for (site, summed) in spans.summed {
            let Some(sample) = samples.get(&site) else {
                continue;
            };
            let (site_ns, half_width) = estimate(inputs, (site, device), summed, sample);
            ns += site_ns;
            is_sampled |= half_width.is_some();
            variance += half_width.unwrap_or(0.0).powi(2);
        }
        let mut busy = GpuBusy::default();
        busy.device = device;
        busy.busy_ns = (ns.round() as u64).min(inputs.wall_ns);
        busy.busy_ci95_ns = is_sampled.then(|| variance.sqrt().round() as u64);
        busy.is_upper_bound = spans.is_upper_bound;
        busy
    });
    busy.collect()
}

fn devices(inputs: &ProfileInputs<'_>) -> BTreeMap<u32, DeviceSpans> {
    let mut devices = BTreeMap::<u32, DeviceSpans>::new();
    for (&device, placed) in &inputs.gpu.placed {
        let spans = devices.entry(device).or_default();
        spans.placed_ns = placed.ns();
        spans.is_upper_bound = placed.is_upper_bound();
    }
    for (&(site, device), summed) in &inputs.gpu.summed {
        let spans = devices.entry(device).or_default();
        spans.is_upper_bound |= summed.overlapping_ns > 0;
        spans.summed.insert(site, *summed);
    }
    devices
}

fn samples(nodes: &[CallTreeNode<'_>]) -> FxHashMap<u32, SiteSample> {
    let mut samples = FxHashMap::<u32, SiteSample>::default();
    for node in nodes.iter().skip(1) {
        node.add_to_sample(samples.entry(node.path.site).or_default());
    }
    samples
}

/// The time of a site's spans that are summed, and half the width of its 95 % interval. `None`: it
/// is exact.
fn estimate(
    inputs: &ProfileInputs<'_>,
    (site, device): (u32, u32),
    summed: SummedTime,
    sample: &SiteSample,
) -> (f64, Option<f64>) {
    let calls_per_weight = sample.calls_per_weight().unwrap_or(1.0);
    let ns = summed.ns.max(0) as f64 * calls_per_weight;
    if sample.sampled_out() == 0 || ns == 0.0 {
        return (ns, None);
    }
    let ratio = ns / sample.calls() as f64;
    let estimate = RatioEstimate {
        calls_per_weight,
        ratio,
    };
    let half = inputs.gpu.busy_clusters.half_width(site, device, estimate);
    let half = half.unwrap_or(ns * sample.uncertain_share());
    // The sample has no sums of spans nested in one that has not ended.
    let nested_ns = summed.nested_ns.max(0) as f64 * calls_per_weight;
    let half = half.hypot(ratio * sample.calls_half_width()) + nested_ns;
    (ns, Some(half))
}
