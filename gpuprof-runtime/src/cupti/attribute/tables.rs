//! What CUPTI told, added up by function: kernels by name and device, copies by direction, CUDA calls by name.
//!
//! The program's own tables are the sums over all functions and over what ran outside. Must not import anything that calls
//! CUPTI.

use rustc_hash::FxHashMap;

use super::exposed_copies::{Alone, Settled};
use super::open_calls::{Done, Run};
use super::totals::{ApiSums, CallSums, CopySums, KernelSums, Shape};
use crate::cupti::call_stack::{Ended, site_of};
use crate::cupti::collect::record::{Api, Copy, CopyKind, Function, Kernel, Ran};

/// Stands for the site of what ran outside any profiled function.
pub(crate) const OUTSIDE: u32 = u32::MAX;
/// Stands for the names past [`MOST_KEYS`].
pub(crate) const OTHERS: u32 = u32::MAX;
/// Most kernels told apart, by function, name and device; those past it are one.
pub(crate) const MOST_KEYS: usize = 1 << 16;
/// A kernel's name, by number, of a function on a device.
pub(crate) type KernelKey = (u32, u32, u32);

/// What a window measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) kernels: FxHashMap<KernelKey, KernelSums>,
    pub(crate) copies: FxHashMap<(u32, CopyKind, u32), CopySums>,
    pub(crate) api: FxHashMap<(u32, Function), ApiSums>,
    pub(crate) calls: FxHashMap<u32, CallSums>,
    /// By device.
    pub(crate) alone: FxHashMap<u32, Alone>,
    pub(crate) invalid: u64,
    pub(crate) unfinished: u64,
    /// What was counted as unfinished when its window was handed over, and has come since.
    pub(crate) came: u64,
    pub(crate) late: u64,
    pub(crate) lost_calls: u64,
    pub(crate) outside: u64,
    pub(crate) outside_ns: u64,
}

impl Tables {
    /// Adds one run of a kernel; returns where its [latency](Self::add_latency) goes.
    pub(crate) fn add_kernel(&mut self, site: u32, symbol: u32, kernel: &Kernel) -> KernelKey {
        let mut key = (site, symbol, kernel.ran.device);
        if self.kernels.len() >= MOST_KEYS && !self.kernels.contains_key(&key) {
            key = (site, OTHERS, kernel.ran.device);
        }
        let ns = self.add_run(site, &kernel.ran);
        let device = kernel.ran.device;
        let alone = self.alone.entry(device).or_default();
        let settled = alone.add_kernel(kernel.ran.start, kernel.ran.end);
        self.add_alone(device, settled);
        let sums = self.kernels.entry(key).or_default();
        sums.times.add(ns);
        sums.graph_calls += u64::from(kernel.ran.graph_node != 0);
        let shape = Shape {
            grid: kernel.grid,
            block: kernel.block,
            dynamic_shared_bytes: kernel.dynamic_shared_bytes,
            static_shared_bytes: kernel.static_shared_bytes,
            registers: kernel.registers,
        };
        sums.add_shape(shape, ns);
        sums.streams.add((kernel.ran.context, kernel.ran.stream));
        key
    }

    /// Adds the time from a launching call's start to the start of the kernel.
    pub(crate) fn add_latency(&mut self, key: KernelKey, ns: u64) {
        self.kernels.entry(key).or_default().latency.add(ns);
    }

    pub(crate) fn add_copy(&mut self, site: u32, copy: &Copy) {
        let ns = self.add_run(site, &copy.ran);
        let key = (site, copy.kind, copy.ran.device);
        let sums = self.copies.entry(key).or_default();
        sums.times.add(ns);
        sums.bytes = sums.bytes.saturating_add(copy.bytes);
        if copy.pageable {
            sums.pageable_calls += 1;
            sums.pageable_ns += ns;
        }
        // The call behind a memset returns at once.
        let blocks = !copy.is_async && copy.kind != CopyKind::Memset;
        sums.blocking_calls += u64::from(blocks);
        sums.streams.add((copy.ran.context, copy.ran.stream));
        let device = copy.ran.device;
        let alone = self.alone.entry(device).or_default();
        let settled = alone.add_copy(site, copy.kind, copy.ran.start, copy.ran.end);
        self.add_alone(device, settled);
    }

    fn add_alone(&mut self, device: u32, settled: Vec<Settled>) {
        for (site, kind, ns) in settled {
            let sums = self.copies.entry((site, kind, device)).or_default();
            sums.exposed_ns += ns;
        }
    }

    /// Works out how long the copies so far ran alone.
    pub(crate) fn settle(&mut self) {
        let settle = |(device, alone): (&u32, &mut Alone)| (*device, alone.settle());
        let settled: Vec<_> = self.alone.iter_mut().map(settle).collect();
        for (device, settled) in settled {
            self.add_alone(device, settled);
        }
    }

    /// Settles records that came after their window was handed over: of the copies it is not known what else ran beside them.
    pub(crate) fn settle_late(&mut self) {
        self.settle();
        let all = self.alone.values_mut();
        all.for_each(|alone| alone.note_lost(true));
    }

    /// Whether it is known how long the copies of this device ran alone.
    pub(crate) fn knows_alone(&self, device: u32) -> bool {
        self.alone
            .get(&device)
            .is_some_and(|alone| !alone.is_lost())
    }

    fn add_run(&mut self, site: u32, ran: &Ran) -> u64 {
        let ns = ran.end.saturating_sub(ran.start);
        if site == OUTSIDE {
            self.outside += 1;
            self.outside_ns += ns;
        }
        ns
    }

    pub(crate) fn add_api(&mut self, site: u32, api: &Api) {
        let sums = self.api.entry((site, api.function)).or_default();
        sums.times.add(api.end.saturating_sub(api.start));
        sums.failed += u64::from(api.failed);
    }

    /// Adds what a call did that is closed now.
    pub(crate) fn add_call(&mut self, ended: &Ended, done: &Done) {
        let sums = self.calls.entry(site_of(ended.call)).or_default();
        if ended.first {
            sums.first_ns = Some(ended.cpu_ns);
        }
        if !ended.outermost {
            return;
        }
        let busy = done.busy.ns();
        sums.merge(&CallSums {
            busy_ns: busy,
            timed_busy_ns: if ended.timed { busy } else { 0 },
            // The capture is told for itself, and ran nothing.
            calls: u64::from(!ended.captured),
            activities: done.activities,
            launches: done.launches,
            streams: done.streams.count(),
            devices: done.devices,
            first_ns: None,
        });
    }

    /// Adds what ran for a call that is closed already, as if it had overlapped nothing.
    pub(crate) fn add_late(&mut self, ended: &Ended, run: &Run) {
        if ended.outermost {
            let ns = run.end - run.start;
            let sums = self.calls.entry(site_of(ended.call)).or_default();
            sums.merge(&CallSums {
                busy_ns: ns,
                timed_busy_ns: if ended.timed { ns } else { 0 },
                activities: 1,
                launches: u64::from(run.is_kernel),
                ..CallSums::default()
            });
        }
    }

    /// Adds `other`, which is [settled](Self::settle).
    pub(crate) fn fold(&mut self, other: &Self) {
        for (device, alone) in &other.alone {
            let mine = self.alone.entry(*device).or_default();
            mine.note_lost(alone.is_lost());
        }
        for (&(site, symbol, device), sums) in &other.kernels {
            let mut key = (site, symbol, device);
            if self.kernels.len() >= MOST_KEYS && !self.kernels.contains_key(&key) {
                key.1 = OTHERS;
            }
            self.kernels.entry(key).or_default().merge(sums);
        }
        for (key, sums) in &other.copies {
            self.copies.entry(*key).or_default().merge(sums);
        }
        for (key, sums) in &other.api {
            self.api.entry(*key).or_default().merge(sums);
        }
        for (site, sums) in &other.calls {
            self.calls.entry(*site).or_default().merge(sums);
        }
        self.invalid += other.invalid;
        self.unfinished = (self.unfinished + other.unfinished).saturating_sub(other.came);
        self.late += other.late;
        self.lost_calls += other.lost_calls;
        self.outside += other.outside;
        self.outside_ns += other.outside_ns;
    }
}
