//! GPU times of one place on one device. The resolver is the only writer; readers take the lock around the whole map.

use rustc_hash::FxHashMap;

use super::Durations;
use super::call::StatedWork;
use super::path_ids::ROOT;
use super::sampling::{Clusters, SamplingDraw};
use gpuprof_report::histogram::Histogram;

/// GPU times of one path on one device. Under sampling each call counts as often as the draw makes it stand for, but where
/// the opposite is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GpuPathTotals {
    /// Every time read on this device.
    pub(crate) times: Durations,
    /// How many these are, each as one.
    pub(crate) read: u64,
    /// Their sum, each as one.
    pub(crate) read_ns: u64,
    /// Calls counted here: those whose first device this is.
    pub(crate) weights: u64,
    /// How many these are, each as one.
    pub(crate) calls: u64,
    /// Those of them that stand for themselves alone.
    pub(crate) certain: u64,
    /// Part of the calls inside no call of the same site on the same stream.
    pub(crate) outermost_ns: u64,
    /// Time outside the timed spans directly inside on the same stream, these weighted by their own sampling.
    /// Under sampling a single call can come out below nothing; only the sum means something.
    pub(crate) self_ns: i64,
    /// Calls of which not every time could be read, each as one.
    pub(crate) failed: u64,
    /// Stated work of the calls counted here.
    pub(crate) work: StatedWork,
}

/// Time inside another span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NestedTime {
    /// Each call as one.
    pub(crate) read_ns: u64,
    /// Each as often as it stands for.
    pub(crate) ns: u64,
}

impl NestedTime {
    fn add(&mut self, read_ns: u64, ns: u64) {
        self.read_ns += read_ns;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// One resolved call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedCall {
    pub(crate) path: u32,
    pub(crate) site: u32,
    pub(crate) device: u32,
    /// Whether this is the first device of the call's.
    pub(crate) counts: bool,
    /// The nearest enclosing timed span on the same single stream; [`ROOT`], as in the next two, for none.
    pub(crate) parent: u32,
    /// The nearest enclosing timed span on all of its streams.
    pub(crate) enclosing_timed: u32,
    /// The nearest enclosing timed span on some of its streams that its time cannot be taken from.
    pub(crate) partly_overlaps: u32,
    pub(crate) outermost: bool,
    /// How many calls of the parent's this one stands for, by draws of its own.
    pub(crate) weight: u32,
    pub(crate) draw: SamplingDraw,
}

impl TimedCall {
    /// Of no place at all.
    pub(crate) const NONE: Self = Self {
        path: ROOT,
        site: u32::MAX,
        device: 0,
        counts: true,
        parent: ROOT,
        enclosing_timed: ROOT,
        partly_overlaps: ROOT,
        outermost: true,
        weight: 1,
        draw: SamplingDraw::UNSAMPLED,
    };
}

/// All GPU times of the current epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpuTotals {
    /// By (path, device).
    pub(crate) nodes: FxHashMap<(u32, u32), GpuPathTotals>,
    /// Time by (path, the call's `enclosing_timed` or [`ROOT`], its `partly_overlaps` or [`ROOT`]).
    pub(crate) nested: FxHashMap<(u32, u32, u32), NestedTime>,
    /// By (site, device).
    pub(crate) histograms: FxHashMap<(u32, u32), Histogram>,
    /// What sampled totals are sure by.
    pub(crate) clusters: Clusters,
}

impl GpuTotals {
    /// Records a call, `inside_ns` of whose time spans inside have counted already.
    pub(crate) fn add(&mut self, call: &TimedCall, work: &StatedWork, ns: u64, inside_ns: u64) {
        let node = self.nodes.entry((call.path, call.device)).or_default();
        let (draw, device) = (call.draw, call.device);
        let weight = u64::from(draw.weight);
        node.times.add_of(draw.weight, ns);
        node.read += 1;
        node.read_ns += ns;
        let own_ns = ns.cast_signed().saturating_sub_unsigned(inside_ns);
        let own_ns = own_ns.saturating_mul(i64::from(draw.weight));
        node.self_ns = node.self_ns.saturating_add(own_ns);
        if call.counts {
            node.calls += 1;
            node.certain += u64::from(draw.weight == 1);
            node.weights += weight;
            node.work.add(&work.times(draw.weight));
        }
        let outermost_ns = if call.outermost { ns } else { 0 };
        let outermost_of_all = outermost_ns.saturating_mul(weight);
        node.outermost_ns = node.outermost_ns.saturating_add(outermost_of_all);
        self.clusters
            .add(call.site, draw, device, call.counts, outermost_ns);
        self.nested
            .entry((call.path, call.enclosing_timed, call.partly_overlaps))
            .or_default()
            .add(ns, ns.saturating_mul(weight));
        self.histograms
            .entry((call.site, call.device))
            .or_default()
            .record_of(draw.weight, ns);
    }

    /// Takes from a recorded call's own time what a span inside it turns out to have taken, as often as that stands for.
    pub(crate) fn take_from_self(&mut self, path: u32, device: u32, ns: u64) {
        if let Some(node) = self.nodes.get_mut(&(path, device)) {
            node.self_ns -= ns.cast_signed();
        }
    }

    /// Adds what another window has recorded.
    pub(crate) fn fold(&mut self, other: &Self) {
        for (place, more) in &other.nodes {
            let node = self.nodes.entry(*place).or_default();
            node.times.merge(&more.times);
            node.read += more.read;
            node.read_ns += more.read_ns;
            node.calls += more.calls;
            node.certain += more.certain;
            node.weights += more.weights;
            node.outermost_ns += more.outermost_ns;
            node.self_ns += more.self_ns;
            node.failed += more.failed;
            node.work.add(&more.work);
        }
        for (place, more) in &other.nested {
            let known = self.nested.entry(*place).or_default();
            known.add(more.read_ns, more.ns);
        }
        for (place, more) in &other.histograms {
            self.histograms.entry(*place).or_default().merge(more);
        }
        self.clusters.fold(&other.clusters);
    }

    pub(crate) fn fail(&mut self, call: &TimedCall) {
        self.nodes
            .entry((call.path, call.device))
            .or_default()
            .failed += 1;
    }
}
