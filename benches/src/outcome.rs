//! What was measured, as plain data: the JSON is this, and table and promises are made from it.

use serde::Serialize;

use crate::machine::Machine;
use crate::verdict::Promise;

/// Everything that one run found.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) machine: Machine,
    /// Whether this was a short run, whose times mean nothing.
    pub(crate) short: bool,
    pub(crate) rounds: usize,
    pub(crate) times: Vec<Time>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) own_cost: Vec<OwnCost>,
    pub(crate) promises: Vec<Promise>,
    /// What could not be measured, and why.
    pub(crate) remarks: Vec<String>,
}

/// Time per call of one row on so many threads.
#[derive(Debug, Serialize)]
pub(crate) struct Time {
    pub(crate) name: &'static str,
    pub(crate) threads: u64,
    /// Calls of each thread in one round.
    pub(crate) calls: u64,
    /// Whether the device is simulated: no figure about performance.
    pub(crate) simulated_device: bool,
    /// ns per call, one per round; the loop and the call are in it.
    pub(crate) ns: Vec<f64>,
    pub(crate) quartiles: Quartiles,
    /// Median of the ratios to the bare calls on as many threads, each within its round.
    pub(crate) to_bare: Option<f64>,
}

/// Resident memory and allocations of one row.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    pub(crate) name: &'static str,
    pub(crate) threads: u64,
    /// Calls of all threads together.
    pub(crate) calls: u64,
    /// Of these, before anything was counted, of each thread.
    pub(crate) warm_up: u64,
    /// Whether the calls launch on a device.
    pub(crate) gpu: bool,
    pub(crate) simulated_device: bool,
    /// Whether gpuprof's promise can be held against it.
    pub(crate) promised: bool,
    /// After warming up, on all threads of the process.
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) resident_warm_bytes: u64,
    pub(crate) resident_end_bytes: u64,
}

impl Memory {
    /// Bytes that resident memory grew after warming up; below zero where it shrank.
    pub(crate) fn growth(&self) -> i128 {
        i128::from(self.resident_end_bytes) - i128::from(self.resident_warm_bytes)
    }
}

/// What gpuprof says it costs beside what a stop watch says.
#[derive(Debug, Serialize)]
pub(crate) struct OwnCost {
    pub(crate) name: &'static str,
    pub(crate) calls: u64,
    pub(crate) simulated_device: bool,
    /// What the program takes with gpuprof less what it takes without, per call in ns, by round:
    /// CPU time, or wall time where calls launch, as threads of the driver and of gpuprof then run
    /// beside the program's own.
    pub(crate) outside_ns: Vec<f64>,
    /// `diagnostics.overhead_ns` of the same runs, per call in ns.
    pub(crate) told_ns: Vec<f64>,
}

impl OwnCost {
    /// The medians of both: outside, told.
    pub(crate) fn medians(&self) -> [f64; 2] {
        [&self.outside_ns, &self.told_ns].map(|ns| Quartiles::of(ns).median)
    }
}

/// The middle of a set of samples and how far its middle half reaches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Quartiles {
    pub(crate) p25: f64,
    pub(crate) median: f64,
    pub(crate) p75: f64,
}

impl Quartiles {
    /// Interpolated between neighbours; of no samples, NaN.
    pub(crate) fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * sorted.len().saturating_sub(1) as f64;
            let below = sorted.get(place.floor() as usize).copied();
            let above = sorted.get(place.ceil() as usize).copied();
            let (below, above) = (below.unwrap_or(f64::NAN), above.unwrap_or(f64::NAN));
            below + (above - below) * place.fract()
        };
        Self {
            p25: at(0.25),
            median: at(0.5),
            p75: at(0.75),
        }
    }
}

/// Median of `above[i] / below[i]`: within a round the machine was the same.
pub(crate) fn ratio(above: &[f64], below: &[f64]) -> f64 {
    paired(above, below, |above, below| above / below)
}

/// Median of `of(a[i], b[i])`.
pub(crate) fn paired(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> f64 {
    let each: Vec<f64> = a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect();
    Quartiles::of(&each).median
}

/// The figures of a row on so many threads.
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
