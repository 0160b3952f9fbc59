//! The GPU times of all calls of one path, estimated from its timed ones.
//!
//! The timed calls count as they are. A timed call of weight w represents w − 1 of the calls that
//! sampling left out, and of these it is known how many there were: their total is that number
//! times the mean of the represented ones. So a total is never less than what was timed.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::cluster_sums::Z975;
use super::durations::{Durations, Ns};
use super::ended_call::UntimedReason;
use super::gpu_totals::{GpuPathTotals, SampledSum};
use super::host_path_totals::HostPathTotals;
use gpuprof_report::histogram::Histogram;

/// A path of which fewer calls are drawn takes the mean of its function for those left out.
const LEAST_DRAWN: u64 = 4;

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
    captured_unasked: u64,
    calls_variance: u64,
}

impl SampleCounts {
    pub(super) fn new(totals: &HostPathTotals<Ns>, gpu: &[(u32, &GpuPathTotals)]) -> Self {
        let sum = |field: fn(&GpuPathTotals) -> u64| gpu.iter().map(|(_, gpu)| field(gpu)).sum();
        Self {
            timed: sum(|gpu| gpu.calls),
            drawn: sum(|gpu| gpu.drawn),
            represented: sum(|gpu| gpu.represented_calls),
            left_out: totals.left_out(),
            unasked: totals.untimed(UntimedReason::LeftOut),
            captured_unasked: totals.counts.captured_unasked,
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

    /// Calls that were left out before the driver was asked, and were captured: an estimate.
    pub(super) fn captured_unasked(&self) -> u64 {
        self.captured_unasked.min(self.unasked)
    }

    /// Calls that were left out and could have been timed.
    pub(super) fn sampled_out(&self) -> u64 {
        self.left_out.saturating_sub(self.captured_unasked())
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
enum Source {
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

/// The GPU times of one path.
#[derive(Debug)]
pub(super) struct PathEstimate<'a> {
    /// By device.
    pub(super) gpu: Vec<(u32, &'a GpuPathTotals)>,
    pub(super) counts: SampleCounts,
    function: Rc<ByDevice>,
    source: Source,
    /// The time of the calls that were left out, ns.
    pub(super) unseen_ns: f64,
    /// Half the width of the total's 95 % interval, ns; `None` if it is not known.
    pub(super) half_width_ns: Option<f64>,
    /// What was added to `unseen_ns` so that nested rows fit into those around them.
    pub(super) moved_ns: f64,
}

/// A sum over timed calls and what they represent.
pub(super) type Figure = fn(&GpuPathTotals) -> SampledSum;

impl<'a> PathEstimate<'a> {
    /// `function`: the totals of all paths of its function.
    pub(super) fn new(
        totals: &HostPathTotals<Ns>,
        gpu: Vec<(u32, &'a GpuPathTotals)>,
        function: Rc<ByDevice>,
    ) -> Self {
        let counts = SampleCounts::new(totals, &gpu);
        let sum =
            |field: fn(&GpuPathTotals) -> u64| function.iter().map(|(_, gpu)| field(gpu)).sum();
        let represented: u64 = sum(|gpu| gpu.represented_calls);
        let timed: u64 = sum(|gpu| gpu.calls);
        let source = match counts.sampled_out() {
            0 => Source::Nowhere,
            _ if counts.drawn >= LEAST_DRAWN => Source::Own,
            _ if represented > 0 => Source::Function,
            _ if counts.timed > 0 => Source::OwnTimed,
            _ if timed > 0 => Source::FunctionTimed,
            _ => Source::Nowhere,
        };
        let mut estimate = Self {
            gpu,
            counts,
            function,
            source,
            unseen_ns: 0.0,
            half_width_ns: None,
            moved_ns: 0.0,
        };
        let calls: f64 = estimate.of_source(None, |gpu| match estimate.is_represented() {
            true => gpu.represented_calls as f64,
            false => gpu.calls as f64,
        });
        if calls > 0.0 {
            let total = estimate.of_source(None, |gpu| estimate.part(times(gpu)));
            estimate.unseen_ns = estimate.counts.sampled_out() as f64 * (total / calls);
        }
        estimate
    }

    /// Whether some of its calls were left out, and their time is estimated.
    pub(super) fn is_estimated(&self) -> bool {
        self.source != Source::Nowhere
    }

    /// Whether this rests on the path's own drawn calls.
    pub(super) fn rests_on_own(&self) -> bool {
        self.source == Source::Own
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
        let max = self.gpu.iter().map(|(_, gpu)| gpu.timed.max).max()?;
        Some(self.counts.sampled_out() as f64 * max as f64)
    }

    /// With CUPTI the busy time of every call is known: `busy_ns`, of which `timed_busy_ns` is that
    /// of the timed ones.
    pub(super) fn follow_busy_time(&mut self, busy_ns: u64, timed_busy_ns: u64) {
        if self.is_estimated() && timed_busy_ns > 0 && busy_ns >= timed_busy_ns {
            let others = busy_ns as f64 / timed_busy_ns as f64 - 1.0;
            self.unseen_ns = self.timed_ns() * others;
        }
    }

    /// A sum over all calls, on one device or on all.
    pub(super) fn sum(&self, device: Option<u32>, figure: Figure) -> f64 {
        let timed: f64 = on(&self.gpu, device)
            .map(|gpu| figure(gpu).timed as f64)
            .sum();
        timed + self.unseen_ns * self.per_unseen_ns(device, figure)
    }

    /// A figure of the calls that were left out, for each ns of their time.
    pub(super) fn per_unseen_ns(&self, device: Option<u32>, figure: Figure) -> f64 {
        let total = self.of_source(None, |gpu| self.part(times(gpu)));
        match total > 0.0 {
            true => self.of_source(device, |gpu| self.part(figure(gpu))) / total,
            false => 0.0,
        }
    }

    /// The number, sum, extremes and squares of the durations of all calls on one device or on all;
    /// the extremes are those of the timed ones.
    pub(super) fn durations(&self, device: Option<u32>) -> Durations {
        let mut all = Durations::default();
        on(&self.gpu, device).for_each(|gpu| all.merge(&gpu.timed));
        if !self.is_estimated() {
            return all;
        }
        all.calls += self.unseen_calls(device).round() as u64;
        all.total = self.sum(device, times).round() as u64;
        let squares = |gpu: &GpuPathTotals| match self.is_represented() {
            true => gpu.represented.squares,
            false => gpu.timed.squares,
        };
        let total = self.of_source(None, |gpu| self.part(times(gpu)));
        if total > 0.0 {
            all.squares += self.unseen_ns * self.of_source(device, squares) / total;
        }
        all
    }

    /// Calls that were left out, on one device or on all.
    fn unseen_calls(&self, device: Option<u32>) -> f64 {
        let calls = |gpu: &GpuPathTotals| match self.is_represented() {
            true => gpu.represented.calls as f64,
            false => gpu.timed.calls as f64,
        };
        let all = self.of_source(None, |gpu| match self.is_represented() {
            true => gpu.represented_calls as f64,
            false => gpu.calls as f64,
        });
        match all > 0.0 {
            true => self.counts.sampled_out() as f64 * self.of_source(device, calls) / all,
            false => 0.0,
        }
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
        self.each_of_source(device, |gpu| {
            let source = match self.is_represented() {
                true => &gpu.represented_histogram,
                false => &gpu.timed_histogram,
            };
            for bucket in source.buckets() {
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

    /// Whether the durations of calls that were left out are those that drawn calls represent.
    fn is_represented(&self) -> bool {
        matches!(self.source, Source::Own | Source::Function)
    }

    fn part(&self, sum: SampledSum) -> f64 {
        match self.is_represented() {
            true => sum.represented as f64,
            false => sum.timed as f64,
        }
    }

    /// A sum over what the estimate rests on.
    fn of_source(&self, device: Option<u32>, field: impl Fn(&GpuPathTotals) -> f64) -> f64 {
        let mut sum = 0.0;
        self.each_of_source(device, |gpu| sum += field(gpu));
        sum
    }

    fn each_of_source(&self, device: Option<u32>, each: impl FnMut(&GpuPathTotals)) {
        match self.source {
            Source::Nowhere => {}
            Source::Own | Source::OwnTimed => on(&self.gpu, device).for_each(each),
            Source::Function | Source::FunctionTimed => {
                let function = self.function.iter().map(|(device, gpu)| (*device, gpu));
                let here =
                    function.filter(|(known, _)| device.is_none_or(|wanted| wanted == *known));
                here.map(|(_, gpu)| gpu).for_each(each);
            }
        }
    }
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

/// The durations.
pub(super) fn times(gpu: &GpuPathTotals) -> SampledSum {
    SampledSum {
        timed: gpu.timed.total.cast_signed(),
        represented: gpu.represented.total.cast_signed(),
    }
}
