//! GPU times of all paths. The resolver is the only writer; readers take the lock around them.

use rustc_hash::FxHashMap;

use super::busy_union::{BusyUnion, SpanPlace};
use super::durations::Durations;
use super::ended_call::StatedWork;
use super::path_ids::ROOT;
use super::sampling_estimates::{ClusterSums, SamplingDraw};
use gpuprof_report::histogram::Histogram;
use gpuprof_report::profile::PoolMemory;

/// GPU times of one path on one device. Under sampling each call counts with its weight, except in
/// the fields that say unweighted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GpuPathTotals {
    pub(crate) times: Durations,
    /// The number of `times`, unweighted.
    pub(crate) read: u64,
    /// The sum of `times`, unweighted.
    pub(crate) read_ns: u64,
    /// Calls counted here: those whose first device is this one.
    pub(crate) weights: u64,
    /// These calls, unweighted.
    pub(crate) calls: u64,
    /// Of these, the calls that were timed with certainty (weight 1); they add no sampling error.
    pub(crate) certain: u64,
    /// The part of `times` of calls that are not nested in a call of the same site on the same
    /// stream.
    pub(crate) outermost_ns: u64,
    /// Exclusive time: without the timed spans nested directly on the same stream, which are
    /// weighted by their own sampling, and without the parts of other threads and tasks in the time
    /// that they shared the stream. Under sampling a single call can contribute less than 0: only
    /// the sum is meaningful.
    pub(crate) self_ns: i64,
    /// Calls that shared a stream's time with spans of other threads or tasks, unweighted.
    pub(crate) divided: u64,
    /// Calls that shared a time of unknown length, which is not divided, unweighted.
    pub(crate) undivided: u64,
    /// Calls that inherited their stream, unweighted.
    pub(crate) inherited: u64,
    /// Of these, calls that may have had nothing to do on the GPU, unweighted.
    pub(crate) may_be_host: u64,
    /// Calls of which not every time could be read, unweighted.
    pub(crate) failed: u64,
    /// The stated work of the calls counted here.
    pub(crate) work: StatedWork,
}

/// Time nested in another span, or in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NestedTime {
    /// Unweighted.
    pub(crate) read_ns: u64,
    /// Weighted.
    pub(crate) ns: u64,
}

impl NestedTime {
    fn add(&mut self, read_ns: u64, ns: u64) {
        self.read_ns += read_ns;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// Weighted time of spans that are not in [`GpuTotals::placed`], ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SummedTime {
    pub(crate) ns: i64,
    /// The part of it that is nested in spans.
    pub(crate) nested_ns: i64,
    /// The part of it that may overlap other spans of the device.
    pub(crate) overlapping_ns: i64,
}

impl SummedTime {
    pub(crate) fn add(&mut self, more: &Self) {
        self.ns = self.ns.saturating_add(more.ns);
        self.nested_ns = self.nested_ns.saturating_add(more.nested_ns);
        self.overlapping_ns = self.overlapping_ns.saturating_add(more.overlapping_ns);
    }

    fn subtract(&mut self, less: &Self) {
        self.ns = self.ns.saturating_sub(less.ns);
        self.nested_ns = self.nested_ns.saturating_sub(less.nested_ns);
        self.overlapping_ns = self.overlapping_ns.saturating_sub(less.overlapping_ns);
    }
}

/// Adds what calls changed in the pools.
pub(crate) fn add_pool_memory(sum: &mut PoolMemory, more: &PoolMemory) {
    sum.calls += more.calls;
    sum.grown_bytes += more.grown_bytes;
    sum.shrunk_bytes += more.shrunk_bytes;
    sum.peak_growth_bytes += more.peak_growth_bytes;
}

/// By (site, device).
pub(crate) type SummedTimes = FxHashMap<(u32, u32), SummedTime>;

/// One resolved call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedCall {
    pub(crate) path: u32,
    pub(crate) site: u32,
    pub(crate) device: u32,
    /// Whether `device` is the call's first, on which the call itself is counted.
    pub(crate) counts: bool,
    /// Its exclusive time, ns.
    pub(crate) own_ns: i64,
    /// No span around it on the same stream is of the same site.
    pub(crate) is_outermost: bool,
    /// The path of the timed span that encloses it on the same stream; `ROOT` for none.
    pub(crate) parent: u32,
    /// Its exclusive time and that of the spans nested in it, ns: its duration without the parts of
    /// others.
    pub(crate) with_nested_ns: u64,
    /// It shared time with spans of other threads or tasks.
    pub(crate) is_divided: bool,
    /// It shared time of unknown length.
    pub(crate) is_undivided: bool,
    /// Its stream is that of the span around it, of `with_stream`, or the default one.
    pub(crate) inherits: bool,
    /// It may have had nothing to do on the GPU.
    pub(crate) may_be_host: bool,
    /// [`SpanPlace::At`] only if it is not nested and stands for itself alone.
    pub(crate) place: SpanPlace,
    pub(crate) draw: SamplingDraw,
}

impl TimedCall {
    /// Its time in [`GpuTotals::summed`], until the span around it is resolved.
    pub(crate) fn summed(&self) -> SummedTime {
        let part = |is_in_it: bool| match is_in_it {
            true => self
                .with_nested_ns
                .saturating_mul(u64::from(self.draw.weight))
                .cast_signed(),
            false => 0,
        };
        SummedTime {
            ns: part(!matches!(self.place, SpanPlace::At { .. })),
            nested_ns: part(self.parent != ROOT),
            overlapping_ns: part(self.place == SpanPlace::Unknown),
        }
    }
}

/// The GPU times of one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpuTotals {
    /// By (path, device).
    pub(crate) nodes: FxHashMap<(u32, u32), GpuPathTotals>,
    /// By path and the path of the enclosing timed span, or `ROOT`.
    pub(crate) nested: FxHashMap<(u32, u32), NestedTime>,
    /// The spans that are nested in no resolved one and have no place.
    pub(crate) summed: SummedTimes,
    /// By device: the spans whose place among those of other streams is known.
    pub(crate) placed: FxHashMap<u32, BusyUnion>,
    /// By (site, device).
    pub(crate) histograms: FxHashMap<(u32, u32), Histogram>,
    /// For the confidence intervals of sampled totals.
    pub(crate) clusters: ClusterSums,
    /// The same for the time that is nested in no timed span.
    pub(crate) busy_clusters: ClusterSums,
    /// By path: what its calls changed in the stream-ordered pools.
    pub(crate) pool_memory: FxHashMap<u32, PoolMemory>,
}

impl GpuTotals {
    /// Adds a call of `ns`.
    pub(crate) fn add(&mut self, call: &TimedCall, work: &StatedWork, ns: u64) {
        let node = self.nodes.entry((call.path, call.device)).or_default();
        let (draw, device) = (call.draw, call.device);
        let weight = u64::from(draw.weight);
        node.times.add_weighted(draw.weight, ns);
        node.read += 1;
        node.read_ns += ns;
        let own_ns = call.own_ns.saturating_mul(i64::from(draw.weight));
        node.self_ns = node.self_ns.saturating_add(own_ns);
        node.undivided += u64::from(call.is_undivided);
        if call.counts {
            node.divided += u64::from(call.is_divided);
            node.inherited += u64::from(call.inherits);
            node.may_be_host += u64::from(call.may_be_host);
            node.calls += 1;
            node.certain += u64::from(draw.weight == 1);
            node.weights += weight;
            node.work.add(&work.times(draw.weight));
        }
        let outermost_ns = if call.is_outermost { ns } else { 0 };
        let outermost_weighted = outermost_ns.saturating_mul(weight);
        node.outermost_ns = node.outermost_ns.saturating_add(outermost_weighted);
        self.clusters
            .add(call.site, draw, device, call.counts, outermost_ns);
        let nested_ns = call.with_nested_ns;
        let busy_ns = if call.parent == ROOT { nested_ns } else { 0 };
        self.busy_clusters
            .add(call.site, draw, device, call.counts, busy_ns);
        if let SpanPlace::At { clock, start_ns } = call.place {
            let placed = self.placed.entry(device).or_default();
            placed.add(clock, start_ns, ns);
        }
        let summed = self.summed.entry((call.site, device)).or_default();
        summed.add(&call.summed());
        let nested = self.nested.entry((call.path, call.parent)).or_default();
        nested.add(nested_ns, nested_ns.saturating_mul(weight));
        self.histograms
            .entry((call.site, call.device))
            .or_default()
            .record_n(ns, draw.weight);
    }

    /// A span is resolved in which these were nested: its time holds theirs.
    pub(crate) fn cover(&mut self, nested: &SummedTimes) {
        for (key, less) in nested {
            self.summed.entry(*key).or_default().subtract(less);
        }
    }

    /// Adds the totals of another window.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (path, more) in &other.pool_memory {
            add_pool_memory(self.pool_memory.entry(*path).or_default(), more);
        }
        for (key, more) in &other.nodes {
            let node = self.nodes.entry(*key).or_default();
            node.times.merge(&more.times);
            node.read += more.read;
            node.read_ns += more.read_ns;
            node.calls += more.calls;
            node.certain += more.certain;
            node.weights += more.weights;
            node.outermost_ns += more.outermost_ns;
            node.self_ns += more.self_ns;
            node.divided += more.divided;
            node.undivided += more.undivided;
            node.inherited += more.inherited;
            node.may_be_host += more.may_be_host;
            node.failed += more.failed;
            node.work.add(&more.work);
        }
        for (key, more) in &other.nested {
            let known = self.nested.entry(*key).or_default();
            known.add(more.read_ns, more.ns);
        }
        for (key, more) in &other.summed {
            self.summed.entry(*key).or_default().add(more);
        }
        for (device, more) in &other.placed {
            self.placed.entry(*device).or_default().merge(more);
        }
        for (key, more) in &other.histograms {
            self.histograms.entry(*key).or_default().merge(more);
        }
        self.clusters.merge(&other.clusters);
        self.busy_clusters.merge(&other.busy_clusters);
    }

    /// Counts a call whose time could not be read.
    pub(crate) fn fail(&mut self, path: u32, device: u32) {
        self.nodes.entry((path, device)).or_default().failed += 1;
    }
}
