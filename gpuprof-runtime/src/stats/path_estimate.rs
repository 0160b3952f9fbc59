//! The GPU times of all calls of one path, estimated from its timed ones.
//!
//! The timed calls count as they are. A timed call of weight w represents w − 1 of the calls that
//! sampling left out, and of these it is known how many there were: their total is that number
//! times the mean of the represented ones. So a total is never less than what was timed.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::call_outcome::UntimedReason;
use super::cluster_sums::Z975;
use super::durations::{DurationSums, Ns};
use super::gpu_totals::GpuPathTotals;
use super::host_path_totals::HostPathTotals;
use gpuprof_report::histogram::Histogram;
use gpuprof_report::sparse_histogram::SparseHistogram;

/// A path of which fewer calls are drawn takes the mean of its function for those left out.
pub(super) const LEAST_DRAWN: u64 = 4;

/// Totals by device.
pub(super) type ByDevice = Vec<(u32, GpuPathTotals)>;

/// The calls of one path, or of several, by what sampling did with them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleCounts {
    /// Timed calls.
    pub(super) timed: u64,
    /// Of these, those that were drawn at random, and how many calls they represent beside
    /// themselves.
    pub(super) drawn: u64,
    pub(super) represented: u64,
    /// Calls that were left out, captured ones among them.
    left_out: u64,
    /// Of these, the calls that did not ask the driver whether they were captured.
    pub(super) unasked: u64,
    /// An estimate of how many of those were captured, and its variance.
    pub(super) captured_unasked: u64,
    calls_variance: u64,
}

impl SampleCounts {
    pub(super) fn new(totals: &HostPathTotals<Ns>, gpu: &[(u32, &GpuPathTotals)]) -> Self {
        let sum = |field: fn(&GpuPathTotals) -> u64| gpu.iter().map(|(_, gpu)| field(gpu)).sum();
        let unasked = totals.untimed(UntimedReason::LeftOutUnasked);
        Self {
            timed: sum(|gpu| gpu.calls),
            drawn: sum(|gpu| gpu.drawn),
            represented: sum(|gpu| gpu.represented_calls),
            left_out: totals.left_out_calls(),
            unasked,
            captured_unasked: totals.counts.captured_unasked.min(unasked),
            calls_variance: totals.counts.captured_variance,
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.timed += more.timed;
        self.drawn += more.drawn;
        self.represented += more.represented;
        self.left_out += more.left_out;
        self.unasked += more.unasked;
        self.captured_unasked += more.captured_unasked;
        self.calls_variance += more.calls_variance;
    }

    /// Calls that were left out and could have been timed.
    pub(super) fn sampled_out(&self) -> u64 {
        self.left_out.saturating_sub(self.captured_unasked)
    }

    /// Half the width of the 95 % interval of `sampled_out`.
    pub(super) fn calls_half_width(&self) -> f64 {
        Z975 * (self.calls_variance as f64).sqrt()
    }

    /// Calls that were left out for each one that the timed ones represent.
    pub(super) fn per_represented(&self) -> f64 {
        self.sampled_out() as f64 / self.represented as f64
    }
}

/// Where the durations of calls that were left out come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DurationSource {
    /// Nothing is known of them, or there are none.
    Nowhere,
    /// What the path's own timed calls represent.
    Own,
    /// What those of the function represent.
    Function,
    /// The path's own timed calls, none of which represents others.
    OwnTimed,
    /// Those of the function.
    FunctionTimed,
}

/// The calls on one device that stand for those left out.
#[derive(Clone, Copy)]
struct Basis<'a> {
    /// A call on streams of two devices has a time on each, and is one call.
    calls: u64,
    times: &'a DurationSums,
    histogram: &'a SparseHistogram,
    own_ns: i64,
}

impl<'a> Basis<'a> {
    fn timed(gpu: &'a GpuPathTotals) -> Self {
        Self {
            calls: gpu.calls,
            times: &gpu.timed,
            histogram: &gpu.timed_histogram,
            own_ns: gpu.own.timed,
        }
    }

    fn represented(gpu: &'a GpuPathTotals) -> Self {
        Self {
            calls: gpu.represented_calls,
            times: &gpu.represented,
            histogram: &gpu.represented_histogram,
            own_ns: gpu.own.represented,
        }
    }
}

/// The GPU times of one path.
#[derive(Debug)]
pub(super) struct PathEstimate<'a> {
    /// By device.
    pub(super) gpu: Vec<(u32, &'a GpuPathTotals)>,
    pub(super) counts: SampleCounts,
    function: Rc<ByDevice>,
    source: DurationSource,
    /// A span of the same site is around its calls.
    is_recursive: bool,
    /// The time of the calls that were left out, ns.
    pub(super) unseen_ns: f64,
    /// Half the width of the total's 95 % interval, ns; `None` if it is not known.
    pub(super) half_width_ns: Option<f64>,
    /// What was added to `unseen_ns` so that nested rows fit into those around them.
    pub(super) moved_ns: f64,
}

impl<'a> PathEstimate<'a> {
    /// `function`: the totals of all paths of its function.
    pub(super) fn new(
        totals: &HostPathTotals<Ns>,
        gpu: Vec<(u32, &'a GpuPathTotals)>,
        function: Rc<ByDevice>,
        is_recursive: bool,
    ) -> Self {
        let counts = SampleCounts::new(totals, &gpu);
        let sum =
            |field: fn(&GpuPathTotals) -> u64| function.iter().map(|(_, gpu)| field(gpu)).sum();
        let represented: u64 = sum(|gpu| gpu.represented_calls);
        let timed: u64 = sum(|gpu| gpu.calls);
        let source = match counts.sampled_out() {
            0 => DurationSource::Nowhere,
            _ if counts.drawn >= LEAST_DRAWN => DurationSource::Own,
            _ if represented > 0 => DurationSource::Function,
            _ if counts.timed > 0 => DurationSource::OwnTimed,
            _ if timed > 0 => DurationSource::FunctionTimed,
            _ => DurationSource::Nowhere,
        };
        let mut estimate = Self {
            gpu,
            counts,
            function,
            source,
            is_recursive,
            unseen_ns: 0.0,
            half_width_ns: None,
            moved_ns: 0.0,
        };
        estimate.unseen_ns = estimate.counts.sampled_out() as f64 * estimate.per_call(None, times);
        estimate
    }

    /// Whether some of its calls were left out, and their time is estimated.
    pub(super) fn is_estimated(&self) -> bool {
        self.source != DurationSource::Nowhere
    }

    /// Whether this rests on the path's own drawn calls.
    pub(super) fn rests_on_own(&self) -> bool {
        self.source == DurationSource::Own
    }

    /// Whether any time is known.
    pub(super) fn has_time(&self) -> bool {
        self.is_estimated() || self.timed_reads() > 0
    }

    /// Timed calls, each on every device where it has a time.
    pub(super) fn timed_reads(&self) -> u64 {
        self.gpu.iter().map(|(_, gpu)| gpu.timed.calls).sum()
    }

    /// The time of the timed calls, ns.
    pub(super) fn timed_ns(&self) -> f64 {
        self.gpu.iter().map(|(_, gpu)| gpu.timed.total as f64).sum()
    }

    /// The time of all calls, ns.
    pub(super) fn total_ns(&self) -> f64 {
        self.timed_ns() + self.unseen_ns
    }

    /// The most that the calls that were left out can have taken, if none was longer than the
    /// longest timed one, ns.
    pub(super) fn most_unseen_ns(&self) -> Option<f64> {
        self.unseen_ns_of(|gpu| gpu.timed.max)
    }

    /// The least that they can have taken, if none was shorter than the shortest timed one, ns.
    pub(super) fn least_unseen_ns(&self) -> f64 {
        self.unseen_ns_of(|gpu| gpu.timed.min).unwrap_or(0.0)
    }

    /// Of calls that were left out, if each took so long on each device.
    fn unseen_ns_of(&self, ns: fn(&GpuPathTotals) -> u64) -> Option<f64> {
        let timed = || self.gpu.iter().filter(|(_, gpu)| gpu.timed.calls > 0);
        timed().next()?;
        let ns: u64 = timed().map(|(_, gpu)| ns(gpu)).sum();
        Some(self.counts.sampled_out() as f64 * ns as f64)
    }

    /// With CUPTI the busy time of every call is known: that of the calls that were left out, and
    /// that of the timed ones.
    pub(super) fn follow_busy_time(&mut self, left_out_ns: u64, timed_ns: u64) {
        if self.is_estimated() && timed_ns > 0 {
            let per_timed = left_out_ns as f64 / timed_ns as f64;
            let most_ns = self.most_unseen_ns().unwrap_or(f64::INFINITY);
            self.unseen_ns = (self.timed_ns() * per_timed).min(most_ns);
        }
    }

    /// The time of all calls on one device or on all, ns.
    pub(super) fn ns(&self, device: Option<u32>) -> f64 {
        let timed: f64 = on(&self.gpu, device)
            .map(|gpu| gpu.timed.total as f64)
            .sum();
        timed + self.unseen_ns * self.share_of(device)
    }

    /// The part of it of calls that are in no other call of the function.
    pub(super) fn outermost_ns(&self, device: Option<u32>) -> f64 {
        let part = |whole: i64, outermost: i64| outermost as f64 / whole.max(1) as f64;
        // Where the sample is of other paths too, it does not tell of this one.
        let share = match self.source {
            DurationSource::Own => {
                let whole = sum_of(&self.gpu, |gpu| gpu.represented.total.cast_signed());
                part(whole, sum_of(&self.gpu, |gpu| gpu.outermost.represented))
            }
            _ if self.is_recursive => 0.0,
            _ => 1.0,
        };
        let timed: f64 = on(&self.gpu, device)
            .map(|gpu| gpu.outermost.timed as f64)
            .sum();
        timed + self.unseen_ns * self.share_of(device) * share
    }

    /// Their exclusive time.
    pub(super) fn own_ns(&self, device: Option<u32>) -> f64 {
        let timed: f64 = on(&self.gpu, device).map(|gpu| gpu.own.timed as f64).sum();
        let timed_ns = self.timed_ns();
        // What is nested in its calls differs from path to path.
        let per_ns = match self.source {
            DurationSource::Function | DurationSource::FunctionTimed if timed_ns > 0.0 => {
                sum_of(&self.gpu, |gpu| gpu.own.timed) as f64 / timed_ns
            }
            _ => ratio(
                self.per_call(None, |basis| basis.own_ns as f64),
                self.per_call(None, times),
            ),
        };
        timed + self.unseen_ns * self.share_of(device) * per_ns
    }

    /// The part of the time of the calls that were left out that is on one device or on all.
    pub(super) fn share_of(&self, device: Option<u32>) -> f64 {
        ratio(self.per_call(device, times), self.per_call(None, times))
    }

    /// The number, sum, extremes and squares of the durations of all calls on one device or on all;
    /// the extremes are those of the timed ones.
    pub(super) fn durations(&self, device: Option<u32>) -> DurationSums {
        let mut all = DurationSums::default();
        on(&self.gpu, device).for_each(|gpu| all.merge(&gpu.timed));
        if !self.is_estimated() {
            return all;
        }
        all.calls += self.unseen_calls(device).round() as u64;
        all.total = self.ns(device).round() as u64;
        let squares = self.per_call(device, |basis| basis.times.squares);
        all.squares += self.unseen_ns * ratio(squares, self.per_call(None, times));
        all
    }

    /// Calls that were left out, on one device or on all.
    fn unseen_calls(&self, device: Option<u32>) -> f64 {
        let calls = self.per_call(device, |basis| basis.times.calls as f64);
        self.counts.sampled_out() as f64 * calls
    }

    /// Adds the durations of all calls, on one device or on all.
    pub(super) fn add_to_histogram(&self, device: Option<u32>, histogram: &mut Histogram) {
        for gpu in on(&self.gpu, device) {
            for bucket in gpu.timed_histogram.buckets() {
                histogram.add(bucket.index as usize, bucket.count);
            }
        }
        let unseen = self.unseen_calls(device);
        let mut counts = FxHashMap::<u32, u64>::default();
        self.for_each_basis(device, |basis| {
            for bucket in basis.histogram.buckets() {
                *counts.entry(bucket.index).or_default() += bucket.count;
            }
        });
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        // Rounded so that the counts add up to the number of calls.
        let (mut so_far, mut before) = (0, 0);
        for (index, count) in counts {
            so_far += count;
            let up_to_here = (unseen * (so_far as f64 / all as f64)).round() as u64;
            histogram.add(index as usize, up_to_here - before);
            before = up_to_here;
        }
    }

    /// The mean of `figure` over the calls, on one device or on all, that the estimate is based on.
    fn per_call(&self, device: Option<u32>, figure: impl Fn(&Basis<'_>) -> f64) -> f64 {
        let (mut sum, mut calls) = (0.0, 0.0);
        self.for_each_basis(device, |basis| sum += figure(&basis));
        self.for_each_basis(None, |basis| calls += basis.calls as f64);
        ratio(sum, calls)
    }

    fn for_each_basis(&self, device: Option<u32>, mut each: impl FnMut(Basis<'_>)) {
        let is_here = |known: u32| device.is_none_or(|wanted| wanted == known);
        let function = || {
            let here = self.function.iter().filter(|(known, _)| is_here(*known));
            here.map(|(_, gpu)| gpu)
        };
        match self.source {
            DurationSource::Nowhere => {}
            DurationSource::Own => {
                on(&self.gpu, device).for_each(|gpu| each(Basis::represented(gpu)))
            }
            DurationSource::OwnTimed => {
                on(&self.gpu, device).for_each(|gpu| each(Basis::timed(gpu)))
            }
            DurationSource::Function => function().for_each(|gpu| each(Basis::represented(gpu))),
            DurationSource::FunctionTimed => function().for_each(|gpu| each(Basis::timed(gpu))),
        }
    }
}

fn times(basis: &Basis<'_>) -> f64 {
    basis.times.total as f64
}

/// 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn sum_of(gpu: &[(u32, &GpuPathTotals)], figure: fn(&GpuPathTotals) -> i64) -> i64 {
    gpu.iter().map(|(_, gpu)| figure(gpu)).sum()
}

/// The totals on one device or on all.
fn on<'a>(
    gpu: &[(u32, &'a GpuPathTotals)],
    device: Option<u32>,
) -> impl Iterator<Item = &'a GpuPathTotals> {
    let here = gpu
        .iter()
        .filter(move |(known, _)| device.is_none_or(|wanted| wanted == *known));
    here.map(|(_, gpu)| *gpu)
}
