//! GPU times of all paths. The resolver is the only writer; readers take the lock around them.

use rustc_hash::FxHashMap;

use super::busy_union::{BusyUnion, SpanPlace};
use super::by_window::WindowSum;
use super::call_outcome::StatedWork;
use super::cluster_sums::{CallOfCluster, ClusterSums};
use super::durations::DurationSums;
use super::path_ids::ROOT;
use super::sampling_decisions::SamplingDraw;
use gpuprof_report::sparse_histogram::SparseHistogram;

/// A sum over timed calls, and over the calls that sampling left out as the timed ones represent
/// them: one of weight w counts w − 1 times there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledSum {
    pub(crate) timed: i64,
    pub(crate) represented: i64,
}

impl SampledSum {
    fn add(&mut self, value: i64, draw: SamplingDraw) {
        let represented = value.saturating_mul(i64::from(draw.weight.saturating_sub(1)));
        self.merge(&Self {
            timed: value,
            represented,
        });
    }

    fn merge(&mut self, more: &Self) {
        self.timed = self.timed.saturating_add(more.timed);
        self.represented = self.represented.saturating_add(more.represented);
    }

    fn subtract(&mut self, less: &Self) {
        self.timed = self.timed.saturating_sub(less.timed);
        self.represented = self.represented.saturating_sub(less.represented);
    }

    /// Each timed call by its weight.
    pub(crate) fn weighted(&self) -> i64 {
        self.timed.saturating_add(self.represented)
    }
}

/// GPU times of one path on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GpuPathTotals {
    /// The timed calls.
    pub(crate) timed: DurationSums,
    /// The calls that they represent beside themselves.
    pub(crate) represented: DurationSums,
    pub(crate) timed_histogram: SparseHistogram,
    pub(crate) represented_histogram: SparseHistogram,
    /// Calls counted here: those whose first device is this one.
    pub(crate) calls: u64,
    /// Of these, the calls that were drawn at random, with a weight over 1. The others add no
    /// sampling error.
    pub(crate) drawn: u64,
    /// How many calls these represent beside themselves.
    pub(crate) represented_calls: u64,
    /// The time of calls that are not nested in a call of the same site on the same stream.
    pub(crate) outermost: SampledSum,
    /// Exclusive time: without the timed spans nested directly on the same stream, which are
    /// weighted by their own sampling, and without the parts of other threads and tasks in the time
    /// that they shared the stream. Under sampling a single call can contribute less than 0: only
    /// the sum is meaningful.
    pub(crate) own: SampledSum,
    /// Calls that shared a stream's time with spans of other threads or tasks.
    pub(crate) divided: u64,
    /// Calls that shared a time of unknown length, which is not divided.
    pub(crate) undivided: u64,
    /// Calls that inherited their stream.
    pub(crate) inherited: u64,
    /// Of these, calls that may have had nothing to do on the GPU.
    pub(crate) may_be_host: u64,
    /// Calls of which not every time could be read.
    pub(crate) failed: u64,
    /// The stated work of the calls counted here, each by its weight.
    pub(crate) work: StatedWork,
}

impl GpuPathTotals {
    /// Adds those of another window, or of another path.
    pub(crate) fn merge(&mut self, more: &Self) {
        self.timed.merge(&more.timed);
        self.represented.merge(&more.represented);
        self.timed_histogram.merge(&more.timed_histogram);
        self.represented_histogram
            .merge(&more.represented_histogram);
        self.calls += more.calls;
        self.drawn += more.drawn;
        self.represented_calls += more.represented_calls;
        self.outermost.merge(&more.outermost);
        self.own.merge(&more.own);
        self.divided += more.divided;
        self.undivided += more.undivided;
        self.inherited += more.inherited;
        self.may_be_host += more.may_be_host;
        self.failed += more.failed;
        self.work.add(&more.work);
    }
}

/// Time of spans that are not in [`GpuTimeTotals::placed`], ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SummedTime {
    pub(crate) ns: SampledSum,
    /// The part of it that is nested in spans, weighted.
    pub(crate) nested_ns: i64,
    /// The part of it that may overlap other spans of the device, weighted.
    pub(crate) overlapping_ns: i64,
}

impl SummedTime {
    pub(crate) fn add(&mut self, more: &Self) {
        self.ns.merge(&more.ns);
        self.nested_ns = self.nested_ns.saturating_add(more.nested_ns);
        self.overlapping_ns = self.overlapping_ns.saturating_add(more.overlapping_ns);
    }

    fn subtract(&mut self, less: &Self) {
        self.ns.subtract(&less.ns);
        self.nested_ns = self.nested_ns.saturating_sub(less.nested_ns);
        self.overlapping_ns = self.overlapping_ns.saturating_sub(less.overlapping_ns);
    }
}

/// By (path, device).
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
    /// Its event overhead, ns, which the span around it does not have.
    pub(crate) overhead_ns: u64,
    /// Between its events, ns, with those of the calls nested in it.
    pub(crate) measured_ns: u64,
    /// It shared time with spans of other threads or tasks.
    pub(crate) is_divided: bool,
    /// It shared time of unknown length.
    pub(crate) is_undivided: bool,
    /// Its stream is that of the span around it, of `with_stream`, or the default one.
    pub(crate) inherits: bool,
    /// It may have had nothing to do on the GPU.
    pub(crate) may_be_host: bool,
    /// [`SpanPlace::At`] only if it stands for itself alone. If it is for a nested span, it is for
    /// the spans around it.
    pub(crate) place: SpanPlace,
    pub(crate) draw: SamplingDraw,
}

impl TimedCall {
    /// Its time in [`GpuTimeTotals::summed`], until the span around it is resolved.
    pub(crate) fn summed(&self) -> SummedTime {
        let mut ns = SampledSum::default();
        if !matches!(self.place, SpanPlace::At { .. }) {
            ns.add(self.with_nested_ns.cast_signed(), self.draw);
        }
        let part = |is_in_it: bool| if is_in_it { ns.weighted() } else { 0 };
        SummedTime {
            ns,
            nested_ns: part(self.parent != ROOT),
            overlapping_ns: part(self.place == SpanPlace::Unknown),
        }
    }
}

/// The GPU times of one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpuTimeTotals {
    /// By (path, device).
    pub(crate) nodes: FxHashMap<(u32, u32), GpuPathTotals>,
    /// By path and the path of the enclosing timed span, or `ROOT`.
    pub(crate) nested: FxHashMap<(u32, u32), SampledSum>,
    /// The spans without a place that are nested in no resolved one.
    pub(crate) summed: SummedTimes,
    /// By device: the spans whose place among those of other streams is known.
    pub(crate) placed: FxHashMap<u32, BusyUnion>,
    /// For the confidence intervals of sampled totals.
    pub(crate) clusters: ClusterSums,
}

impl GpuTimeTotals {
    /// Adds a call of `ns`.
    pub(crate) fn add(&mut self, call: &TimedCall, work: &StatedWork, ns: u64) {
        let node = self.nodes.entry((call.path, call.device)).or_default();
        let draw = call.draw;
        let others = draw.weight.saturating_sub(1);
        if others > 0 {
            let typical = || match node.timed.calls {
                0 => (ns, 0),
                calls => {
                    let DurationSums { min, max, .. } = node.timed;
                    (node.timed_histogram.quantile(0.5, min, max), calls)
                }
            };
            let of_cluster = CallOfCluster {
                path: call.path,
                site: call.site,
                device: call.device,
                counts: call.counts,
                ns,
                outermost_ns: (call.parent == ROOT).then_some(call.with_nested_ns),
            };
            self.clusters.add(&of_cluster, draw, typical);
        }
        node.timed.add(ns);
        node.timed_histogram.record_n(ns, 1);
        if others > 0 {
            node.represented.add_weighted(others, ns);
            node.represented_histogram.record_n(ns, others);
        }
        node.own.add(call.own_ns, draw);
        node.undivided += u64::from(call.is_undivided);
        if call.counts {
            node.divided += u64::from(call.is_divided);
            node.inherited += u64::from(call.inherits);
            node.may_be_host += u64::from(call.may_be_host);
            node.calls += 1;
            node.drawn += u64::from(others > 0);
            node.represented_calls += u64::from(others);
            node.work.add(&work.times(draw.weight));
        }
        if call.is_outermost {
            node.outermost.add(ns.cast_signed(), draw);
        }
        if let SpanPlace::At { clock, start_ns } = call.place {
            let placed = self.placed.entry(call.device).or_default();
            placed.add(clock, start_ns, call.measured_ns);
        }
        let summed = self.summed.entry((call.path, call.device)).or_default();
        summed.add(&call.summed());
        let nested = self.nested.entry((call.path, call.parent)).or_default();
        let in_parent_ns = match call.parent {
            ROOT => call.with_nested_ns,
            _ => call.with_nested_ns.saturating_sub(call.overhead_ns),
        };
        nested.add(in_parent_ns.cast_signed(), draw);
    }

    /// A span is resolved in which these were nested: its time holds theirs.
    pub(crate) fn cover(&mut self, nested: &SummedTimes) {
        for (key, less) in nested {
            self.summed.entry(*key).or_default().subtract(less);
        }
    }

    /// Counts a call whose time could not be read.
    pub(crate) fn fail(&mut self, path: u32, device: u32) {
        self.nodes.entry((path, device)).or_default().failed += 1;
    }
}

impl WindowSum for GpuTimeTotals {
    fn merge(&mut self, other: &Self) {
        for (key, more) in &other.nodes {
            self.nodes.entry(*key).or_default().merge(more);
        }
        for (key, more) in &other.nested {
            self.nested.entry(*key).or_default().merge(more);
        }
        for (key, more) in &other.summed {
            self.summed.entry(*key).or_default().add(more);
        }
        for (device, more) in &other.placed {
            self.placed.entry(*device).or_default().merge(more);
        }
        self.clusters.merge(&other.clusters);
    }
}
