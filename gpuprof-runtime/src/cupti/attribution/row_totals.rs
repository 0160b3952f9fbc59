//! Totals of the rows of the tables.

use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::sample_sums::RowSamples;
use crate::cupti::collect::record::LaunchShape;
use crate::cupti::launch_lines::stack_totals::StackTotals;
use crate::stats::durations::DurationSums;
use crate::stats::profiled_call::EndedCall;
use gpuprof_report::profile::DurationStats;
use gpuprof_report::sparse_histogram::SparseHistogram;

/// Launch shapes of a kernel that are distinguished.
const MAX_SHAPES: usize = 64;
/// Streams that are counted.
const MAX_STREAMS: usize = 1_024;

/// Durations and their distribution.
#[derive(Clone, Debug, Default)]
pub(crate) struct DurationTotals {
    pub(crate) durations: DurationSums,
    pub(crate) histogram: SparseHistogram,
}

impl DurationTotals {
    pub(crate) fn add(&mut self, ns: u64) {
        self.durations.add(ns);
        self.histogram.record(ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.durations.merge(&other.durations);
        self.histogram.merge(&other.histogram);
    }
}

pub(super) fn duration_stats(totals: &DurationTotals) -> DurationStats {
    let (durations, histogram) = (&totals.durations, &totals.histogram);
    let (min_ns, max_ns) = (durations.min, durations.max);
    if durations.calls == 0 {
        return DurationStats::default();
    }
    let mut stats = DurationStats::default();
    stats.calls = durations.calls;
    stats.total_ns = durations.total;
    stats.mean_ns = durations.mean().round() as u64;
    stats.min_ns = min_ns;
    stats.max_ns = max_ns;
    stats.p50_ns = histogram.quantile(0.50, min_ns, max_ns);
    stats.p99_ns = histogram.quantile(0.99, min_ns, max_ns);
    stats.histogram = histogram.buckets().to_vec();
    stats
}

/// The streams that activities ran on, as pairs of context and stream number.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamIds(SmallVec<[(u32, u32); 2]>);

impl StreamIds {
    pub(crate) fn add(&mut self, stream: (u32, u32)) {
        if self.0.last() == Some(&stream) {
            return;
        }
        if let Err(index) = self.0.binary_search(&stream)
            && self.0.len() < MAX_STREAMS
        {
            self.0.insert(index, stream);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|stream| self.add(*stream));
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.len() as u32
    }
}

/// One kernel of one call path on one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelTotals {
    pub(crate) times: DurationTotals,
    pub(crate) latency: DurationTotals,
    pub(crate) graph_calls: u64,
    /// Each shape and its total time in ns.
    pub(crate) shapes: SmallVec<[(LaunchShape, u64); 1]>,
    pub(crate) streams: StreamIds,
    /// Of the kernels that are finished: while another one ran on the device.
    pub(crate) concurrent_ns: u64,
    /// Of the hardware counters.
    pub(crate) samples: Option<Box<RowSamples>>,
    /// Where it was launched.
    pub(crate) stacks: Option<Box<StackTotals>>,
}

impl KernelTotals {
    pub(crate) fn add_shape(&mut self, shape: LaunchShape, ns: u64) {
        let has_room = self.shapes.len() < MAX_SHAPES;
        match self.shapes.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, total)) => *total += ns,
            None if has_room => self.shapes.push((shape, ns)),
            None => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.latency.merge(&other.latency);
        self.graph_calls += other.graph_calls;
        let shapes = other.shapes.iter();
        shapes.for_each(|(shape, ns)| self.add_shape(*shape, *ns));
        self.streams.merge(&other.streams);
        self.concurrent_ns += other.concurrent_ns;
        if let Some(samples) = &other.samples {
            self.samples.get_or_insert_default().merge(samples);
        }
        if let Some(stacks) = &other.stacks {
            self.stacks.get_or_insert_default().merge(stacks);
        }
    }
}

/// Adds totals to those of a key, which are shared until they change.
pub(super) fn merge_kernel<K: Hash + Eq>(
    rows: &mut FxHashMap<K, Arc<KernelTotals>>,
    key: K,
    totals: &Arc<KernelTotals>,
) {
    match rows.entry(key) {
        Entry::Vacant(new) => {
            new.insert(Arc::clone(totals));
        }
        Entry::Occupied(mut known) => Arc::make_mut(known.get_mut()).merge(totals),
    }
}

/// Copies of one direction, or memsets, of one call path on one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyTotals {
    pub(crate) times: DurationTotals,
    pub(crate) bytes: u64,
    pub(crate) pageable_calls: u64,
    pub(crate) pageable_ns: u64,
    pub(crate) blocking_calls: u64,
    /// Of the copies that are finished.
    pub(crate) exposed_ns: u64,
    pub(crate) streams: StreamIds,
}

impl CopyTotals {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.bytes += other.bytes;
        self.pageable_calls += other.pageable_calls;
        self.pageable_ns += other.pageable_ns;
        self.blocking_calls += other.blocking_calls;
        self.exposed_ns += other.exposed_ns;
        self.streams.merge(&other.streams);
    }
}

/// One CUDA function called by one profiled function.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiTotals {
    pub(crate) times: DurationTotals,
    pub(crate) failed: u64,
}

impl ApiTotals {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.failed += other.failed;
    }
}

/// A captured call on its call path, replayed by launches on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ReplayKey {
    /// The call path of the launches.
    pub(crate) launch: u32,
    /// How many captured calls enclose each other there, this one included; 0 for all that a
    /// launch replayed.
    pub(crate) depth: u32,
    /// The call path of the captured call.
    pub(crate) captured: u32,
}

/// The activities of the closed calls on one path, or of the replays of a captured call, which no
/// events time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallTotals {
    pub(crate) busy_ns: u64,
    /// From the first start to the last end in each call, summed.
    pub(crate) extent_ns: u64,
    /// The part of `busy_ns` from calls that events timed.
    pub(crate) timed_busy_ns: u64,
    /// Of replays, how often launches replayed the call; at depth 0, the launches.
    pub(crate) calls: u64,
    pub(crate) activities: u64,
    pub(crate) launches: u64,
    /// The most streams that one call used.
    pub(crate) streams: u32,
    /// One bit per device.
    pub(crate) devices: u64,
    /// Busy time of calls inside another call of their function, which none of the above covers.
    pub(crate) inner_busy_ns: u64,
    /// The `extent_ns` of these calls.
    pub(crate) inner_extent_ns: u64,
    /// The part of `inner_busy_ns` from calls that events timed.
    pub(crate) inner_timed_busy_ns: u64,
    /// The part of both from calls that sampling left out.
    pub(crate) left_out_busy_ns: u64,
    /// CPU time of the function's first call.
    pub(crate) first_call_ticks: Option<u64>,
}

impl CallTotals {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.extent_ns += other.extent_ns;
        self.timed_busy_ns += other.timed_busy_ns;
        self.calls += other.calls;
        self.activities += other.activities;
        self.launches += other.launches;
        self.streams = self.streams.max(other.streams);
        self.devices |= other.devices;
        self.inner_busy_ns += other.inner_busy_ns;
        self.inner_extent_ns += other.inner_extent_ns;
        self.inner_timed_busy_ns += other.inner_timed_busy_ns;
        self.left_out_busy_ns += other.left_out_busy_ns;
        self.first_call_ticks = self.first_call_ticks.or(other.first_call_ticks);
    }

    /// Busy time of a call that is inside no other call of its function.
    pub(crate) fn busy(busy_ns: u64, extent_ns: u64, ended: &EndedCall) -> Self {
        Self {
            busy_ns,
            extent_ns,
            timed_busy_ns: if ended.is_timed { busy_ns } else { 0 },
            left_out_busy_ns: if ended.is_left_out { busy_ns } else { 0 },
            ..Self::default()
        }
    }

    /// Adds busy time of a call inside another call of its function.
    pub(crate) fn add_inner(&mut self, busy_ns: u64, extent_ns: u64, ended: &EndedCall) {
        self.inner_busy_ns += busy_ns;
        self.inner_extent_ns += extent_ns;
        self.inner_timed_busy_ns += if ended.is_timed { busy_ns } else { 0 };
        self.left_out_busy_ns += if ended.is_left_out { busy_ns } else { 0 };
    }
}
