//! How busy each device was by its GPU spans: the time during which at least one was open.
//!
//! A span counts if it is nested in no timed span of its stream. While a device has one stream and
//! spans do not overlap, the sum of these is their union. Otherwise the union is made of the spans
//! whose place is known ([`SpanPlace`]), each with its whole interval: a span that shared its time
//! may have shared it with one that is booked in another window, or in none. Under sampling the sum
//! is estimated as the total of a row is, and sampled spans that may overlap others, whose place is
//! not read, make it an upper bound. A span that has not ended counts with the spans nested in it.
//!
//! [`SpanPlace`]: super::busy_union::SpanPlace

use std::collections::{BTreeMap, BTreeSet};

use super::call_tree_node::CallTreeNode;
use super::cluster_sums::ClusterGroup;
use super::gpu_totals::{GpuPathTotals, SummedTime};
use super::path_estimate::LEAST_DRAWN;
use super::profile_inputs::ProfileInputs;
use gpuprof_report::profile::GpuBusy;

/// The spans of one device that are summed.
#[derive(Default)]
struct SummedSpans {
    ns: f64,
    /// The part of it of calls that sampling left out, and what timed ones represent of it; of
    /// paths of which calls were left out.
    unseen_ns: f64,
    represented_ns: f64,
    /// Drawn calls of these paths without the first of each, which has no mean to differ from.
    differences: u64,
    /// What the sample has no sums of: spans nested in one that has not ended, and paths of which
    /// no call is timed.
    without_sums_ns: f64,
    is_estimated: bool,
    may_overlap: bool,
    /// The path that all time which timed calls represent is of.
    only_path: Option<u32>,
}

/// By ordinal. A device without a timed span is omitted.
pub(super) fn busy_by_device(
    inputs: &ProfileInputs<'_>,
    nodes: &[CallTreeNode<'_>],
) -> Vec<GpuBusy> {
    let placed = inputs.gpu.placed.keys().copied();
    let summed = inputs.gpu.summed.keys().map(|(_, device)| *device);
    let devices: BTreeSet<u32> = placed.chain(summed).collect();
    // On which device these would have run is not known.
    let is_partial = nodes.iter().any(|node| node.lacks_outermost);
    let busy = devices.into_iter().map(|device| {
        let placed = inputs.gpu.placed.get(&device);
        let spans = summed_spans(inputs, nodes, device);
        let ns = spans.ns + placed.map_or(0.0, |placed| placed.ns() as f64);
        let mut busy = GpuBusy::default();
        busy.device = device;
        busy.busy_ns = (ns.round() as u64).min(inputs.wall_ns);
        busy.is_estimated = spans.is_estimated;
        // No interval holds what calls took of which nothing is known.
        if spans.is_estimated && !is_partial {
            let per_represented = spans.unseen_ns / spans.represented_ns;
            let clusters = &inputs.gpu.clusters;
            let group = match spans.only_path {
                Some(path) => Some(ClusterGroup::Path(path)),
                None => (spans.differences >= LEAST_DRAWN).then_some(ClusterGroup::Device(device)),
            };
            let half = group.and_then(|group| clusters.half_width(group, per_represented));
            busy.busy_ci95_ns = half.map(|half| (half + spans.without_sums_ns).round() as u64);
        }
        busy.is_partial = is_partial;
        busy.is_upper_bound =
            spans.may_overlap || placed.is_some_and(|placed| placed.is_upper_bound());
        busy
    });
    busy.collect()
}

fn summed_spans(
    inputs: &ProfileInputs<'_>,
    nodes: &[CallTreeNode<'_>],
    device: u32,
) -> SummedSpans {
    let mut spans = SummedSpans::default();
    // In the order of the paths, so that sums are the same each time.
    let summed = inputs
        .gpu
        .summed
        .iter()
        .filter(|((_, on), _)| *on == device);
    let summed: BTreeMap<u32, &SummedTime> =
        summed.map(|((path, _), time)| (*path, time)).collect();
    for (path, time) in summed {
        let Some(node) = nodes.get(path as usize) else {
            continue;
        };
        let estimate = &node.estimate;
        let (timed, represented) = (time.ns.timed as f64, time.ns.represented as f64);
        let of_path = |sum: fn(&GpuPathTotals) -> u64| -> f64 {
            node.gpu().map(|(_, gpu)| sum(gpu) as f64).sum()
        };
        let represented_ns = of_path(|gpu| gpu.represented.total);
        // Relative to what the estimate of the path rests on.
        let share = if estimate.rests_on_own() {
            represented / represented_ns
        } else {
            (timed + represented) / (represented_ns + of_path(|gpu| gpu.timed.total))
        };
        let share = if share.is_finite() { share } else { 0.0 };
        let unseen_ns = share * estimate.unseen_ns;
        spans.ns += timed + unseen_ns;
        spans.unseen_ns += unseen_ns;
        // An exact path tells nothing of the calls that were left out on others.
        if represented > 0.0 && unseen_ns > 0.0 {
            let is_whole = represented == represented_ns;
            spans.only_path = (is_whole && spans.represented_ns == 0.0).then_some(path);
            spans.represented_ns += represented;
            spans.differences += estimate.counts.drawn.saturating_sub(1);
        }
        spans.without_sums_ns += (time.nested_ns as f64).max(0.0);
        spans.is_estimated |= estimate.is_estimated() && unseen_ns > 0.0;
        spans.may_overlap |= time.overlapping_ns > 0;
    }
    for node in nodes.iter().filter(|node| node.is_unsummed) {
        let unseen_ns = node.estimate.unseen_ns * node.estimate.share_of(Some(device));
        spans.ns += unseen_ns;
        spans.without_sums_ns += unseen_ns;
        spans.is_estimated |= unseen_ns > 0.0;
    }
    spans.ns = spans.ns.max(0.0);
    spans
}
