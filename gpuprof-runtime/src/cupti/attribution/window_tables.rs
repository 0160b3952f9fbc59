//! What one window measured: by call path kernels by symbol and device, copies by direction and
//! device; by profiled function the CUDA calls.
//!
//! The totals of the program are the sums over all paths, including activities outside any
//! profiled function.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::activity_path::{ActivityPath, Cause};
use super::call_activity::{ActivityInterval, CallActivity};
use super::calls_awaiting_records::Added;
use super::device_busy::DeviceBusy;
use super::device_samples::DeviceSamples;
use super::device_sweep::{RowTime, TimedActivity};
use super::limits::{MAX_COPY_ROWS, MAX_KERNEL_ROWS, MAX_REPLAY_ROWS};
use super::memory_totals::PathMemory;
use super::row_keys::{CopyKey, KernelKey, RowKey};
use super::row_totals::{ApiTotals, CallTotals, CopyTotals, KernelTotals, ReplayKey, merge_kernel};
use super::sample_sums::RowSamples;
use super::step_collectives::StepCollectives;
use crate::cupti::collect::record::{
    ActivitySpan, ApiFunction, ApiRecord, CopyRecord, KernelRecord, MemorySpace,
};
use crate::cupti::launch_lines::stack_totals::StackTotals;
use crate::stats::by_window::WindowSum;
use crate::stats::profiled_call::EndedCall;
use gpuprof_report::profile::{BusyRecords, CopyKind, CuptiCompleteness};

#[derive(Clone, Debug, Default)]
pub(crate) struct WindowTables {
    /// Shared with copies of the tables until a row changes: there may be very many.
    pub(crate) kernels: FxHashMap<KernelKey, Arc<KernelTotals>>,
    pub(crate) copies: FxHashMap<CopyKey, CopyTotals>,
    /// By site, `None` outside any profiled function.
    pub(crate) api: FxHashMap<(Option<u32>, ApiFunction), ApiTotals>,
    /// By call path.
    pub(crate) calls: FxHashMap<u32, CallTotals>,
    pub(crate) replays: FxHashMap<ReplayKey, CallTotals>,
    /// By call path and space.
    pub(crate) memory: FxHashMap<(u32, MemorySpace), PathMemory>,
    /// Replays of captured calls beyond [`MAX_REPLAY_ROWS`].
    pub(crate) dropped_replays: u64,
    /// Of one measuring window: steps are numbered in each.
    pub(crate) steps: StepCollectives,
    /// By device.
    timelines: FxHashMap<u32, DeviceBusy>,
    /// By site, of the kernels of its function.
    pub(crate) site_samples: FxHashMap<u32, RowSamples>,
    /// By device.
    pub(crate) device_samples: FxHashMap<u32, DeviceSamples>,
    /// What the attribution counts of it: from `unfinished` on.
    pub(crate) completeness: CuptiCompleteness,
    /// Where unattributed activities were launched.
    pub(crate) unattributed_stacks: StackTotals,
    /// Graph nodes and captured calls that were forgotten, for lack of memory.
    pub(crate) forgotten_captures: u64,
}

impl WindowTables {
    /// Adds one run of a kernel; returns its row.
    pub(crate) fn add_kernel(
        &mut self,
        cause: Cause,
        symbol: Option<u32>,
        kernel: &KernelRecord,
    ) -> KernelKey {
        let KernelRecord { span, .. } = kernel;
        let key = self.kernel_key(KernelKey {
            path: cause.path,
            symbol,
            device: span.device,
        });
        let ns = self.add_activity(cause, RowKey::Kernel(key), span);
        if let (Some(step), Some(_)) = (cause.step, key.symbol) {
            self.steps.add(step, ns);
        }
        let totals = self.kernel(key);
        totals.times.add(ns);
        if let Some(launch) = cause.launch.filter(|_| !cause.is_graph) {
            totals
                .latency
                .add(span.start.saturating_sub(launch.began.get()));
        }
        totals.graph_calls += u64::from(span.graph_node != 0);
        totals.add_shape(kernel.shape, ns);
        totals.streams.add((span.context, span.stream));
        if let Some(stack) = cause.stack {
            let stacks = totals.stacks.get_or_insert_default();
            stacks.add_activity(stack, ns);
        }
        key
    }

    pub(super) fn kernel(&mut self, key: KernelKey) -> &mut KernelTotals {
        Arc::make_mut(self.kernels.entry(key).or_default())
    }

    fn copy(&mut self, key: CopyKey) -> &mut CopyTotals {
        self.copies.entry(key).or_default()
    }

    /// `key`, or that of the other kernels if there is no room for a new row.
    fn kernel_key(&self, key: KernelKey) -> KernelKey {
        if self.kernels.len() < MAX_KERNEL_ROWS || self.kernels.contains_key(&key) {
            key
        } else {
            KernelKey {
                path: ActivityPath::Called(key.path.calls_path()),
                symbol: None,
                ..key
            }
        }
    }

    /// Adds the time from the start of a graph launch to the start of its first node, a kernel.
    pub(crate) fn add_latency(&mut self, key: KernelKey, ns: u64) {
        self.kernel(key).latency.add(ns);
    }

    pub(crate) fn add_copy(&mut self, cause: Cause, copy: &CopyRecord) {
        let CopyRecord { span, kind, .. } = *copy;
        let key = self.copy_key(CopyKey {
            path: cause.path,
            kind,
            device: span.device,
        });
        let ns = self.add_activity(cause, RowKey::Copy(key), &span);
        let totals = self.copy(key);
        totals.times.add(ns);
        totals.bytes = totals.bytes.saturating_add(copy.bytes);
        if copy.is_pageable {
            totals.pageable_calls += 1;
            totals.pageable_ns += ns;
        }
        // A memset call returns at once, whatever its record says.
        let is_blocking = !copy.is_async && kind != CopyKind::Memset;
        totals.blocking_calls += u64::from(is_blocking);
        totals.streams.add((span.context, span.stream));
    }

    /// `key`, or that of the captured calls if there is no room for a new row of a replay.
    fn copy_key(&self, key: CopyKey) -> CopyKey {
        if self.copies.len() < MAX_COPY_ROWS || self.copies.contains_key(&key) {
            key
        } else {
            CopyKey {
                path: ActivityPath::Called(key.path.calls_path()),
                ..key
            }
        }
    }

    fn add_row_times(&mut self, finished: Vec<RowTime>) {
        for RowTime { row, ns } in finished {
            match row {
                RowKey::Kernel(key) => self.kernel(self.kernel_key(key)).concurrent_ns += ns,
                RowKey::Copy(key) => self.copy(self.copy_key(key)).exposed_ns += ns,
            }
        }
    }

    /// How a device spent its time; `None` if too many of its records came late. Exposed times of
    /// copies and concurrent times of kernels are complete where this is.
    pub(crate) fn device_times(&self, device: u32) -> Option<BusyRecords> {
        self.timelines.get(&device)?.times()
    }

    /// The devices with activities, by ordinal.
    pub(crate) fn devices(&self) -> Vec<u32> {
        let mut devices: Vec<u32> = self.timelines.keys().copied().collect();
        devices.sort_unstable();
        devices
    }

    /// Adds an activity to the timeline of its device. Returns its duration, after counting it if
    /// it is unattributed.
    fn add_activity(&mut self, cause: Cause, row: RowKey, span: &ActivitySpan) -> u64 {
        let timeline = self.timelines.entry(span.device).or_default();
        let finished = timeline.add(TimedActivity {
            start: span.start,
            end: span.end,
            launch: cause.launch,
            closed: cause.closed,
            row,
        });
        self.add_row_times(finished);
        let ns = span.end.saturating_sub(span.start);
        if !cause.path.is_attributed() {
            self.completeness.unattributed += 1;
            self.completeness.unattributed_ns += ns;
            if let Some(stack) = cause.stack {
                self.unattributed_stacks.add_activity(stack, ns);
            }
        }
        ns
    }

    pub(crate) fn add_api(&mut self, site: Option<u32>, api: &ApiRecord) {
        let totals = self.api.entry((site, api.function)).or_default();
        totals.times.add(api.end.saturating_sub(api.start));
        totals.failed += u64::from(api.failed);
    }

    /// Adds a closed call.
    pub(crate) fn add_call(&mut self, ended: &EndedCall, activity: &CallActivity) {
        let totals = self.calls.entry(ended.path).or_default();
        if ended.is_first {
            totals.first_call_ticks = Some(ended.cpu_ticks);
        }
        let busy_ns = activity.busy.length_ns();
        let extent_ns = activity.busy.extent_ns();
        if !ended.is_outermost {
            totals.add_inner(busy_ns, extent_ns, ended);
            return;
        }
        totals.merge(&CallTotals {
            // Captured calls are counted elsewhere, and ran nothing.
            calls: u64::from(!ended.is_captured),
            activities: activity.activities,
            launches: activity.launches,
            streams: activity.streams.count(),
            devices: activity.devices,
            ..CallTotals::busy(busy_ns, extent_ns, ended)
        });
    }

    /// Adds replays of a captured call.
    pub(crate) fn add_replays(&mut self, key: ReplayKey, totals: &CallTotals) {
        if self.replays.len() < MAX_REPLAY_ROWS || self.replays.contains_key(&key) {
            self.replays.entry(key).or_default().merge(totals)
        } else {
            self.dropped_replays += totals.calls
        }
    }

    /// Adds an activity of a closed call, as if it overlapped nothing.
    pub(crate) fn add_late(&mut self, ended: &EndedCall, interval: &ActivityInterval) {
        let busy_ns = interval.end - interval.start;
        let totals = self.calls.entry(ended.path).or_default();
        if ended.is_outermost {
            totals.merge(&CallTotals {
                activities: 1,
                launches: u64::from(interval.is_kernel),
                ..CallTotals::busy(busy_ns, busy_ns, ended)
            })
        } else {
            totals.add_inner(busy_ns, busy_ns, ended)
        }
    }

    /// Counts activities that make busy times inexact.
    pub(crate) fn count_inexact(&mut self, added: Added, activities: u64) {
        match added {
            Added::Exact => {}
            Added::Inexact => self.completeness.late_records += activities,
            Added::Missing => self.completeness.records_without_call += activities,
        }
    }
}

impl WindowSum for WindowTables {
    /// Finishes the timelines of all devices.
    fn end(&mut self) {
        let timelines = self.timelines.values_mut();
        let finished = timelines.flat_map(DeviceBusy::finish).collect();
        self.add_row_times(finished);
    }

    fn merge(&mut self, other: &Self) {
        for (key, totals) in &other.kernels {
            let key = self.kernel_key(*key);
            merge_kernel(&mut self.kernels, key, totals);
        }
        for (key, totals) in &other.copies {
            self.copy(self.copy_key(*key)).merge(totals);
        }
        for (device, timeline) in &other.timelines {
            let known = self.timelines.entry(*device).or_default();
            let finished = known.merge(timeline.clone());
            self.add_row_times(finished);
        }
        for (key, totals) in &other.api {
            self.api.entry(*key).or_default().merge(totals);
        }
        for (path, totals) in &other.calls {
            self.calls.entry(*path).or_default().merge(totals);
        }
        self.completeness.add(&other.completeness);
        self.unattributed_stacks.merge(&other.unattributed_stacks);
        for (key, totals) in &other.replays {
            self.add_replays(*key, totals);
        }
        self.dropped_replays += other.dropped_replays;
        for (key, totals) in &other.memory {
            self.memory.entry(*key).or_default().merge(totals);
        }
        self.forgotten_captures += other.forgotten_captures;
        for (site, samples) in &other.site_samples {
            self.site_samples.entry(*site).or_default().merge(samples);
        }
        for (device, samples) in &other.device_samples {
            let known = self.device_samples.entry(*device).or_default();
            known.merge(samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ActivityPath, Cause, CopyKind, MAX_COPY_ROWS, MAX_KERNEL_ROWS, WindowTables};
    use crate::cupti::attribution::row_totals::ReplayKey;
    use crate::cupti::collect::record::{ActivitySpan, CopyRecord, KernelRecord, LaunchShape};

    /// Of a call on path 7, launched on path `launch`.
    fn replayed(launch: u32) -> Cause {
        Cause {
            path: ActivityPath::Replayed(ReplayKey {
                launch,
                depth: 1,
                captured: 7,
            }),
            ..Cause::UNATTRIBUTED
        }
    }

    #[test]
    fn kernels_without_a_row_are_the_other_kernels_of_their_path() {
        let kernel = KernelRecord {
            span: ActivitySpan::default(),
            symbol: "axpy".into(),
            shape: LaunchShape::default(),
        };
        let mut tables = WindowTables::default();
        for symbol in 0..MAX_KERNEL_ROWS as u32 {
            tables.add_kernel(replayed(1), Some(symbol), &kernel);
        }
        let known = tables.add_kernel(replayed(1), Some(5), &kernel);
        assert_eq!((known.path, known.symbol), (replayed(1).path, Some(5)));
        let others = [1, 2].map(|launch| tables.add_kernel(replayed(launch), None, &kernel));
        for other in others {
            assert_eq!((other.path, other.symbol), (ActivityPath::Called(7), None));
        }
        assert_eq!(tables.kernels.len(), MAX_KERNEL_ROWS + 1);
        let calls = tables.kernels.values().map(|row| row.times.durations.calls);
        assert_eq!(calls.sum::<u64>(), MAX_KERNEL_ROWS as u64 + 3);
    }

    #[test]
    fn replayed_copies_without_a_row_are_those_of_the_captured_path() {
        let copy = CopyRecord {
            span: ActivitySpan::default(),
            kind: CopyKind::HtoD,
            bytes: 1,
            is_pageable: false,
            is_async: true,
        };
        let mut tables = WindowTables::default();
        for launch in 0..2 * MAX_COPY_ROWS as u32 {
            tables.add_copy(replayed(launch), &copy);
        }
        assert_eq!(tables.copies.len(), MAX_COPY_ROWS + 1);
        let bytes = tables.copies.iter();
        let called = bytes.filter(|(key, _)| key.path == ActivityPath::Called(7));
        let bytes: Vec<u64> = called.map(|(_, row)| row.bytes).collect();
        assert_eq!(bytes, [MAX_COPY_ROWS as u64]);
    }
}
