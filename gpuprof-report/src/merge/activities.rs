//! Kernels, copies and CUDA API calls of several profiles.

use super::counters::CounterTotals;
use super::rows::RowsByName;
use super::totals::ActivityTotals;
use crate::figures::Sum;
use crate::profile::{ApiStats, CopyStats, KernelStats, LaunchLine, add_lines};

/// One kernel on one device.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedKernel {
    /// Added up; the launch shape is that of the profile in which it took the most time.
    sums: KernelStats,
    shape_ns: u64,
    times: ActivityTotals,
    latency: ActivityTotals,
    counters: CounterTotals,
    launch_lines: Vec<LaunchLine>,
}

impl MergedKernel {
    fn add(&mut self, kernel: &KernelStats, device: u32) {
        self.times.add(&kernel.times);
        self.latency.add(&kernel.launch_latency);
        if self.sums.full_name.is_empty() || kernel.times.total_ns > self.shape_ns {
            self.shape_ns = kernel.times.total_ns;
            let before = std::mem::replace(
                &mut self.sums,
                KernelStats {
                    device,
                    // Written from the totals.
                    times: Default::default(),
                    launch_latency: Default::default(),
                    ..kernel.clone()
                },
            );
            self.sums.add(&before);
        } else {
            self.sums.add(kernel);
        }
        if let Some(counters) = &kernel.counters {
            self.counters.add(counters);
        }
        add_lines(&mut self.launch_lines, &kernel.launch_lines);
    }

    fn stats(&self) -> KernelStats {
        KernelStats {
            times: self.times.stats(),
            launch_latency: self.latency.stats(),
            counters: self.counters.values(),
            launch_lines: self.launch_lines.clone(),
            ..self.sums.clone()
        }
    }
}

/// Copies of one direction, or memsets, on one device.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedCopy {
    times: ActivityTotals,
    sums: CopyStats,
}

impl MergedCopy {
    fn add(&mut self, copies: &CopyStats, device: u32) {
        self.sums.add(copies);
        self.sums.device = device;
        self.times.add(&copies.times);
    }

    fn stats(&self) -> CopyStats {
        CopyStats {
            times: self.times.stats(),
            ..self.sums.clone()
        }
    }
}

/// The calls of one CUDA API function.
#[derive(Clone, Debug, Default)]
struct MergedApi {
    times: ActivityTotals,
    sums: ApiStats,
}

/// The tables of a program, or of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct Activities {
    kernels: RowsByName<MergedKernel>,
    copies: RowsByName<MergedCopy>,
    api: RowsByName<MergedApi>,
}

/// Where the kernels and the copies of a profile are in the sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) kernels: Vec<Option<u32>>,
    pub(super) copies: Vec<Option<u32>>,
}

impl Activities {
    /// Adds the tables of a profile or of a function. `device` gives the merged ordinal.
    pub(super) fn add(
        &mut self,
        kernels: &[KernelStats],
        copies: &[CopyStats],
        api: &[ApiStats],
        device: impl Fn(u32) -> u32,
    ) -> Places {
        let places = Places {
            kernels: (kernels.iter())
                .map(|kernel| self.add_kernel(kernel, device(kernel.device)))
                .collect(),
            copies: (copies.iter())
                .map(|copies| self.add_copies(copies, device(copies.device)))
                .collect(),
        };
        for calls in api {
            let at = self
                .api
                .position(&calls.name, calls.kind as u32, MergedApi::default);
            let Some(totals) = at.and_then(|at| self.api.get_mut(at)) else {
                continue;
            };
            totals.sums.add(calls);
            totals.times.add(&calls.times);
        }
        places
    }

    fn add_kernel(&mut self, kernel: &KernelStats, device: u32) -> Option<u32> {
        let name = if kernel.symbol.is_empty() {
            &kernel.name
        } else {
            &kernel.symbol
        };
        let at = self.kernels.position(name, device, MergedKernel::default)?;
        self.kernels.get_mut(at)?.add(kernel, device);
        Some(at)
    }

    fn add_copies(&mut self, copies: &CopyStats, device: u32) -> Option<u32> {
        let kind = copies.kind.as_str();
        let at = self.copies.position(kind, device, MergedCopy::default)?;
        self.copies.get_mut(at)?.add(copies, device);
        Some(at)
    }

    /// Rows for which there was no room.
    pub(super) fn dropped(&self) -> u64 {
        let dropped = [self.kernels.dropped, self.copies.dropped, self.api.dropped];
        dropped.into_iter().fold(0, u64::saturating_add)
    }

    /// The three tables, longest total time first, and where the rows of [`Places`] now are.
    pub(super) fn finish(self) -> Finished {
        use std::cmp::Reverse;
        let (kernels, kernel_places) = (self.kernels)
            .sorted_by_key(|row| (Reverse(row.times.total_ns()), Reverse(row.times.calls())));
        let (copies, copy_places) = (self.copies)
            .sorted_by_key(|row| (Reverse(row.times.total_ns()), Reverse(row.times.calls())));
        let (api, _) = (self.api)
            .sorted_by_key(|row| (Reverse(row.times.total_ns()), Reverse(row.times.calls())));
        Finished {
            kernels: kernels.iter().map(MergedKernel::stats).collect(),
            copies: copies.iter().map(MergedCopy::stats).collect(),
            api: (api.into_iter())
                .map(|row| ApiStats {
                    times: row.times.stats(),
                    ..row.sums
                })
                .collect(),
            kernel_places,
            copy_places,
        }
    }
}

/// Merged tables.
pub(super) struct Finished {
    pub(super) kernels: Vec<KernelStats>,
    pub(super) copies: Vec<CopyStats>,
    pub(super) api: Vec<ApiStats>,
    pub(super) kernel_places: Vec<u32>,
    pub(super) copy_places: Vec<u32>,
}
