//! What one window measured: by call path kernels by symbol and device, copies by direction and
//! device; by profiled function the CUDA calls.
//!
//! The totals of the program are the sums over all paths, including activities outside any
//! profiled function.

use rustc_hash::FxHashMap;

use super::activity_path::ActivityPath;
use super::call_activity::{ActivityInterval, CallActivity};
use super::exposed_copies::{ExposedCopies, ExposedCopy};
use super::limits::{MAX_COPY_ROWS, MAX_KERNEL_ROWS, MAX_REPLAY_ROWS};
use super::open_calls::Added;
use super::row_totals::{
    ApiTotals, CallTotals, CopyTotals, KernelTotals, LaunchShape, ReplayKey, ReplayTotals,
};
use crate::cupti::call_stack::EndedCall;
use crate::cupti::collect::record::{
    ActivitySpan, ApiFunction, ApiRecord, CopyKind, CopyRecord, KernelRecord,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub(crate) path: ActivityPath,
    /// `None` beyond [`MAX_KERNEL_ROWS`].
    pub(crate) symbol: Option<u32>,
    pub(crate) device: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CopyKey {
    pub(crate) path: ActivityPath,
    pub(crate) kind: CopyKind,
    pub(crate) device: u32,
}

/// Kernels whose rows differ only in the path: the symbol and the device of [`KernelKey`].
pub(crate) type KernelRow = (Option<u32>, u32);

/// Copies whose rows differ only in the path.
pub(crate) type CopyRow = (CopyKind, u32);

#[derive(Clone, Debug, Default)]
pub(crate) struct WindowTables {
    pub(crate) kernels: FxHashMap<KernelKey, KernelTotals>,
    pub(crate) copies: FxHashMap<CopyKey, CopyTotals>,
    /// By site, `None` outside any profiled function.
    pub(crate) api: FxHashMap<(Option<u32>, ApiFunction), ApiTotals>,
    /// By call path.
    pub(crate) calls: FxHashMap<u32, CallTotals>,
    pub(crate) replays: FxHashMap<ReplayKey, ReplayTotals>,
    /// Replays of captured calls beyond [`MAX_REPLAY_ROWS`].
    pub(crate) dropped_replays: u64,
    /// By device.
    pub(crate) exposed_copies: FxHashMap<u32, ExposedCopies>,
    /// CUDA calls whose activities have not arrived.
    pub(crate) unfinished: u64,
    /// CUDA calls that were counted as unfinished when their window ended, and whose activities
    /// have arrived since.
    pub(crate) finished_late: u64,
    pub(crate) late_records: u64,
    /// Activities that are missing from busy times because their call was forgotten.
    pub(crate) records_without_call: u64,
    pub(crate) dropped_calls: u64,
    /// Activities outside any profiled function.
    pub(crate) unattributed: u64,
    pub(crate) unattributed_ns: u64,
    /// Activities of graph nodes that no profiled call is known to have captured.
    pub(crate) unattributed_graph_nodes: u64,
    /// Graph nodes and captured calls that were forgotten, for lack of memory.
    pub(crate) forgotten_captures: u64,
}

impl WindowTables {
    /// Adds one run of a kernel; returns the row for its [latency](Self::add_latency).
    pub(crate) fn add_kernel(
        &mut self,
        path: ActivityPath,
        symbol: Option<u32>,
        kernel: &KernelRecord,
    ) -> KernelKey {
        let KernelRecord { span, .. } = kernel;
        let device = span.device;
        let key = self.kernel_key(KernelKey {
            path,
            symbol,
            device,
        });
        let ns = self.add_activity(path, span);
        let exposed = self.exposed_copies.entry(device).or_default();
        let finished = exposed.add_kernel(span.start, span.end);
        self.add_exposed(device, finished);
        let totals = self.kernels.entry(key).or_default();
        totals.times.add(ns);
        totals.graph_calls += u64::from(span.graph_node != 0);
        let shape = LaunchShape {
            grid: kernel.grid,
            block: kernel.block,
            dynamic_shared_bytes: kernel.dynamic_shared_bytes,
            static_shared_bytes: kernel.static_shared_bytes,
            registers: kernel.registers,
            local_bytes_per_thread: kernel.local_bytes_per_thread,
        };
        totals.add_shape(shape, ns);
        totals.streams.add((span.context, span.stream));
        key
    }

    /// `key`, or that of the other kernels if there is no room for a new row.
    fn kernel_key(&self, key: KernelKey) -> KernelKey {
        match self.kernels.len() < MAX_KERNEL_ROWS || self.kernels.contains_key(&key) {
            true => key,
            false => KernelKey {
                path: ActivityPath::Called(key.path.of_calls()),
                symbol: None,
                ..key
            },
        }
    }

    /// Adds the time from the start of the launching CUDA call to the start of the kernel.
    pub(crate) fn add_latency(&mut self, key: KernelKey, ns: u64) {
        self.kernels.entry(key).or_default().latency.add(ns);
    }

    pub(crate) fn add_copy(&mut self, path: ActivityPath, copy: &CopyRecord) {
        let CopyRecord { span, kind, .. } = *copy;
        let device = span.device;
        let ns = self.add_activity(path, &span);
        let key = self.copy_key(CopyKey { path, kind, device });
        let totals = self.copies.entry(key).or_default();
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
        let exposed = self.exposed_copies.entry(device).or_default();
        let finished = exposed.add_copy(key.path, kind, span.start, span.end);
        self.add_exposed(device, finished);
    }

    /// `key`, or that of the captured calls if there is no room for a new row of a replay.
    fn copy_key(&self, key: CopyKey) -> CopyKey {
        match self.copies.len() < MAX_COPY_ROWS || self.copies.contains_key(&key) {
            true => key,
            false => CopyKey {
                path: ActivityPath::Called(key.path.of_calls()),
                ..key
            },
        }
    }

    fn add_exposed(&mut self, device: u32, finished: Vec<ExposedCopy>) {
        for ExposedCopy {
            path,
            kind,
            exposed_ns,
        } in finished
        {
            let key = CopyKey { path, kind, device };
            self.copies.entry(key).or_default().exposed_ns += exposed_ns;
        }
    }

    /// Computes the exposed time of all copies so far.
    pub(crate) fn finish_copies(&mut self) {
        let finish = |(device, copies): (&u32, &mut ExposedCopies)| (*device, copies.finish());
        let finished: Vec<_> = self.exposed_copies.iter_mut().map(finish).collect();
        for (device, finished) in finished {
            self.add_exposed(device, finished);
        }
    }

    /// The same for records that arrived after their window ended: the kernels that ran beside
    /// these copies are unknown.
    pub(crate) fn finish_late_copies(&mut self) {
        self.finish_copies();
        let devices = self.exposed_copies.values_mut();
        devices.for_each(ExposedCopies::mark_incomplete);
    }

    /// Whether the exposed time of this device's copies is complete.
    pub(crate) fn has_exposed_time(&self, device: u32) -> bool {
        self.exposed_copies
            .get(&device)
            .is_some_and(|copies| !copies.is_incomplete())
    }

    /// Returns the duration of an activity, after counting it if it is unattributed.
    fn add_activity(&mut self, path: ActivityPath, span: &ActivitySpan) -> u64 {
        let ns = span.end.saturating_sub(span.start);
        if !path.is_attributed() {
            self.unattributed += 1;
            self.unattributed_ns += ns;
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
        if !ended.is_outermost {
            totals.add_inner(busy_ns, ended.is_timed);
            return;
        }
        totals.merge(&CallTotals {
            busy_ns,
            timed_busy_ns: if ended.is_timed { busy_ns } else { 0 },
            // Captured calls are counted elsewhere, and ran nothing.
            calls: u64::from(!ended.is_captured),
            activities: activity.activities,
            launches: activity.launches,
            streams: activity.streams.count(),
            devices: activity.devices,
            ..CallTotals::default()
        });
    }

    /// Adds replays of a captured call.
    pub(crate) fn add_replays(&mut self, key: ReplayKey, totals: &ReplayTotals) {
        match self.replays.len() < MAX_REPLAY_ROWS || self.replays.contains_key(&key) {
            true => self.replays.entry(key).or_default().merge(totals),
            false => self.dropped_replays += totals.replays,
        }
    }

    /// Adds an activity of a closed call, as if it overlapped nothing.
    pub(crate) fn add_late(&mut self, ended: &EndedCall, interval: &ActivityInterval) {
        let busy_ns = interval.end - interval.start;
        let totals = self.calls.entry(ended.path).or_default();
        match ended.is_outermost {
            true => totals.merge(&CallTotals {
                busy_ns,
                timed_busy_ns: if ended.is_timed { busy_ns } else { 0 },
                activities: 1,
                launches: u64::from(interval.is_kernel),
                ..CallTotals::default()
            }),
            false => totals.add_inner(busy_ns, ended.is_timed),
        }
    }

    /// Counts activities that make busy times inexact.
    pub(crate) fn count_inexact(&mut self, added: Added, activities: u64) {
        match added {
            Added::Exact => {}
            Added::Inexact => self.late_records += activities,
            Added::Missing => self.records_without_call += activities,
        }
    }

    /// Adds `other`, whose copies are [finished](Self::finish_copies).
    pub(crate) fn merge(&mut self, other: &Self) {
        for (device, copies) in &other.exposed_copies {
            let known = self.exposed_copies.entry(*device).or_default();
            if copies.is_incomplete() {
                known.mark_incomplete();
            }
        }
        for (key, totals) in &other.kernels {
            let key = self.kernel_key(*key);
            self.kernels.entry(key).or_default().merge(totals);
        }
        for (key, totals) in &other.copies {
            let key = self.copy_key(*key);
            self.copies.entry(key).or_default().merge(totals);
        }
        for (key, totals) in &other.api {
            self.api.entry(*key).or_default().merge(totals);
        }
        for (path, totals) in &other.calls {
            self.calls.entry(*path).or_default().merge(totals);
        }
        self.unfinished = (self.unfinished + other.unfinished).saturating_sub(other.finished_late);
        self.late_records += other.late_records;
        self.records_without_call += other.records_without_call;
        self.dropped_calls += other.dropped_calls;
        self.unattributed += other.unattributed;
        self.unattributed_ns += other.unattributed_ns;
        for (key, totals) in &other.replays {
            self.add_replays(*key, totals);
        }
        self.dropped_replays += other.dropped_replays;
        self.unattributed_graph_nodes += other.unattributed_graph_nodes;
        self.forgotten_captures += other.forgotten_captures;
    }
}
