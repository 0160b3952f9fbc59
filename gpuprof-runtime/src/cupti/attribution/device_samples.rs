//! The samples of a device in one window, and what a profile says of them.

use gpuprof_report::profile::{DeviceCounters, Metric};
use rustc_hash::FxHashMap;

use crate::cupti::collect::pm_sampling::metrics::{MetricSet, PmSample, SOURCES};
use gpuprof_report::sorting::sort_by_key;

/// The samples of a device in one window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceSamples {
    samples: u64,
    sampled_ns: u64,
    unattributed_ns: u64,
    /// NaN if they were not sampled.
    dram_bytes: f64,
    unattributed_dram_bytes: f64,
    /// To start sampling.
    pub(crate) start_ns: u64,
    in_turn_ns: u64,
    gap_ns: u64,
    changing_ns: u64,
    pub(crate) overflows: u64,
    pub(crate) late_ns: u64,
}

impl DeviceSamples {
    pub(super) fn add(&mut self, sample: &PmSample, is_attributed: bool) {
        if sample.set == MetricSet::InTurn {
            self.in_turn_ns += sample.ns();
            return;
        }
        let is_dram = |metric| matches!(metric, Metric::DramRead | Metric::DramWrite);
        let sources = SOURCES.iter().zip(sample.integrals);
        let dram = sources.filter(|((metric, _), _)| is_dram(*metric));
        let bytes: f64 = dram.map(|(_, bytes)| bytes).sum();
        self.samples += 1;
        self.sampled_ns += sample.ns();
        self.dram_bytes += bytes;
        if !is_attributed {
            self.unattributed_ns += sample.ns();
            self.unattributed_dram_bytes += bytes;
        }
    }

    /// Adds the time without samples before one; `is_change`: the one before was of another set.
    pub(crate) fn add_gap(&mut self, ns: u64, is_change: bool) {
        if is_change {
            self.changing_ns += ns;
        } else {
            self.gap_ns += ns;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.sampled_ns += other.sampled_ns;
        self.unattributed_ns += other.unattributed_ns;
        self.dram_bytes += other.dram_bytes;
        self.unattributed_dram_bytes += other.unattributed_dram_bytes;
        self.start_ns += other.start_ns;
        self.in_turn_ns += other.in_turn_ns;
        self.gap_ns += other.gap_ns;
        self.changing_ns += other.changing_ns;
        self.overflows += other.overflows;
        self.late_ns += other.late_ns;
    }
}

/// Sorts sampled devices by ordinal, and fills in what follows from their samples in a window.
pub(super) fn write(devices: &mut [DeviceCounters], all: &FxHashMap<u32, DeviceSamples>) {
    sort_by_key(devices, |device| device.device);
    for device in devices {
        let Some(samples) = all.get(&device.device) else {
            continue;
        };
        device.samples = samples.samples;
        device.interval_ns = samples.sampled_ns / samples.samples.max(1);
        device.sampled_ns = samples.sampled_ns;
        device.unattributed_ns = samples.unattributed_ns;
        if samples.dram_bytes.is_finite() {
            device.dram_bytes = Some(samples.dram_bytes.round() as u64);
            device.unattributed_dram_bytes = samples.unattributed_dram_bytes.round() as u64;
        }
        device.start_ns = samples.start_ns;
        device.in_turn_ns = samples.in_turn_ns;
        device.gap_ns = samples.gap_ns;
        device.changing_ns = samples.changing_ns;
        device.overflows = samples.overflows;
        device.late_ns = samples.late_ns;
    }
}
