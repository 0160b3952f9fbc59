//! The results of a run as plain data, from which JSON, table and verdicts are made.

use serde::Serialize;

use crate::machine::Machine;
use crate::verdict::Promise;

/// The results of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) machine: Machine,
    /// True for a short run, whose times mean nothing.
    pub(crate) short: bool,
    pub(crate) rounds: usize,
    pub(crate) times: Vec<Time>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) overhead: Vec<OverheadComparison>,
    pub(crate) report: Option<ReportTime>,
    pub(crate) kernel_report: Option<KernelReport>,
    pub(crate) promises: Vec<Promise>,
    /// What could not be measured, with the reason.
    pub(crate) remarks: Vec<String>,
}

/// Time per call of one row on a number of threads.
#[derive(Debug, Serialize)]
pub(crate) struct Time {
    pub(crate) name: &'static str,
    pub(crate) threads: u64,
    /// Calls per thread and round.
    pub(crate) calls: u64,
    /// True for the simulated device, whose times are no performance figures.
    pub(crate) simulated_device: bool,
    /// ns per call, by round, including the loop and the call.
    pub(crate) ns: Vec<f64>,
    pub(crate) quartiles: Quartiles,
    /// Median ratio to the bare calls on as many threads, within each round.
    pub(crate) to_bare: Option<f64>,
}

/// Resident memory and allocations of one row.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    pub(crate) name: &'static str,
    pub(crate) threads: u64,
    /// Calls of all threads together.
    pub(crate) calls: u64,
    /// Warm-up calls of each thread, which are not counted.
    pub(crate) warm_up: u64,
    /// True if the calls launch kernels.
    pub(crate) gpu: bool,
    pub(crate) simulated_device: bool,
    /// True if gpuprof's promise applies.
    pub(crate) promised: bool,
    /// After the warm-up, on all threads of the process.
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) resident_warm_bytes: u64,
    pub(crate) resident_end_bytes: u64,
}

impl Memory {
    /// Growth of resident memory after the warm-up in bytes, which may be negative.
    pub(crate) fn growth(&self) -> i128 {
        i128::from(self.resident_end_bytes) - i128::from(self.resident_warm_bytes)
    }
}

/// gpuprof's reported overhead, and the difference measured from outside.
#[derive(Debug, Serialize)]
pub(crate) struct OverheadComparison {
    pub(crate) name: &'static str,
    pub(crate) calls: u64,
    pub(crate) simulated_device: bool,
    /// Time of the program with gpuprof minus the time without, per call in ns, by round: CPU time,
    /// or wall time if the calls launch, because threads of the driver and of gpuprof then run
    /// beside the program's own.
    pub(crate) measured_ns: Vec<f64>,
    /// `diagnostics.overhead_ns` of the same runs, per call in ns.
    pub(crate) reported_ns: Vec<f64>,
}

impl OverheadComparison {
    /// The medians of both: measured, reported.
    pub(crate) fn medians(&self) -> [f64; 2] {
        [&self.measured_ns, &self.reported_ns].map(|ns| Quartiles::of(ns).median)
    }
}

/// The time of a report on many functions, each called on many threads, and what these keep.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReportTime {
    pub(crate) functions: u64,
    pub(crate) threads: u64,
    pub(crate) snapshot_ms: f64,
    pub(crate) table_ms: f64,
    pub(crate) json_ms: f64,
    /// Resident memory of the counters.
    pub(crate) counter_bytes: u64,
    pub(crate) dropped_calls: u64,
}

impl ReportTime {
    pub(crate) fn total_ms(&self) -> f64 {
        self.snapshot_ms + self.table_ms + self.json_ms
    }
}

/// A profile of a program whose functions launch every kernel, with CUPTI.
#[derive(Debug, Serialize)]
pub(crate) struct KernelReport {
    pub(crate) kernels: u64,
    pub(crate) functions: u64,
    pub(crate) snapshot_ms: f64,
    /// The most memory that it took on the heap, itself included.
    pub(crate) peak_bytes: u64,
}

/// Median and quartiles of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Quartiles {
    pub(crate) p25: f64,
    pub(crate) median: f64,
    pub(crate) p75: f64,
}

impl Quartiles {
    /// Interpolates between neighbours; NaN without samples.
    pub(crate) fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |part: f64| {
            let place = part * sorted.len().saturating_sub(1) as f64;
            let below = sorted.get(place.floor() as usize).copied();
            let above = sorted.get(place.ceil() as usize).copied();
            let (below, above) = (below.unwrap_or(f64::NAN), above.unwrap_or(f64::NAN));
            below + (above - below) * place.fract()
        };
        Self {
            p25: quantile(0.25),
            median: quantile(0.5),
            p75: quantile(0.75),
        }
    }
}

/// Median of `above[i] / below[i]`: within a round the machine's state was the same.
pub(crate) fn ratio(above: &[f64], below: &[f64]) -> f64 {
    paired(above, below, |above, below| above / below)
}

/// Median of `of(a[i], b[i])`.
pub(crate) fn paired(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    let each: Vec<f64> = a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect();
    Quartiles::of(&each).median
}

/// The times of a row on this number of threads.
pub(crate) fn time<'a>(times: &'a [Time], name: &str, threads: u64) -> Option<&'a Time> {
    times
        .iter()
        .find(|time| time.name == name && time.threads == threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let quartiles = Quartiles::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!(quartiles.p25, 1.75);
        assert_eq!(quartiles.median, 2.5);
        assert_eq!(quartiles.p75, 3.25);
        assert_eq!(Quartiles::of(&[7.0]).p75, 7.0);
        assert!(Quartiles::of(&[]).median.is_nan());
    }

    #[test]
    fn a_slow_round_slows_both_and_not_their_ratio() {
        assert_eq!(ratio(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]), 2.0);
    }
}
