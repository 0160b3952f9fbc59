//! Runs of a program whose noise is known: each has a clock state, a place in a drift, and a
//! deviation of its own for each kernel, within which its calls vary.

use fastrand::Rng;

use crate::histogram::Histogram;
use crate::profile::{
    Device, DurationStats, Function, GpuActivity, GpuSpanStats, KernelStats, Profile, SpanStats,
};

/// A program, and how its runs differ.
#[derive(Clone, Debug)]
pub(super) struct Program {
    kernels: Vec<Kernel>,
    /// How much longer work takes in the slow clock state, and how probable that is.
    pub(super) slow_state: (f64, f64),
    /// How much longer work takes at the end of the series than at its beginning.
    pub(super) drift: f64,
    /// Whether old and new runs alternate; otherwise the old ones come first.
    pub(super) alternating: bool,
}

#[derive(Clone, Debug)]
struct Kernel {
    ns: f64,
    /// Standard deviation between runs, and between calls, as shares.
    between_runs: f64,
    between_calls: f64,
    /// 1: as sensitive to the clock as a kernel can be; 0: bound by memory.
    sensitivity: f64,
}

/// A standard normal deviate (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

impl Program {
    /// A random program of `kernels` kernels, each in a function of its own, in two clock states.
    /// Runs differ by up to `noise` in each kernel. Every third kernel may be `bound_by_memory`.
    pub(super) fn new(rng: &mut Rng, kernels: usize, noise: f64, bound_by_memory: bool) -> Self {
        let kernels = (0..kernels).map(|at| Kernel {
            ns: 5e3 * 1e3_f64.powf(rng.f64()),
            between_runs: noise * 0.2_f64.powf(rng.f64()),
            between_calls: 0.01 + 0.04 * rng.f64(),
            sensitivity: if bound_by_memory && at % 3 == 2 {
                0.2
            } else {
                1.0
            },
        });
        Self {
            kernels: kernels.collect(),
            slow_state: (0.07, 0.5),
            drift: 0.04 * (rng.f64() - 0.5),
            alternating: rng.bool(),
        }
    }

    /// `runs` old and as many new runs; the new ones take `change` longer in the first kernel.
    pub(super) fn runs(&self, rng: &mut Rng, runs: usize, change: f64) -> [Vec<Profile>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        for number in 0..2 * runs {
            let side = if self.alternating {
                number % 2
            } else {
                number / runs
            };
            let place = number as f64 / (2 * runs - 1).max(1) as f64;
            let (extra, probability) = self.slow_state;
            let is_slow = rng.f64() < probability;
            let common = self.drift * place + if is_slow { extra } else { 0.0 };
            let change = if side == 1 { change } else { 0.0 };
            sides[side].push(self.run(rng, number, common, change));
        }
        sides
    }

    fn run(&self, rng: &mut Rng, number: usize, common: f64, change: f64) -> Profile {
        let kernels: Vec<Vec<u64>> = (self.kernels.iter().enumerate())
            .map(|(at, kernel)| {
                let own = kernel.between_runs * normal(rng);
                let changed = if at == 0 { 1.0 + change } else { 1.0 };
                let common = 1.0 + common * kernel.sensitivity;
                let mean = kernel.ns * common * changed * own.exp();
                let calls = (0..40).map(|_| {
                    let call = mean * (kernel.between_calls * normal(rng)).exp();
                    call.round() as u64
                });
                calls.collect()
            })
            .collect();
        profile(number, &kernels)
    }
}

fn profile(number: usize, kernels: &[Vec<u64>]) -> Profile {
    let mut profile = Profile {
        program: "train".into(),
        started_at: format!("2026-11-22T18:{:02}:{:02}Z", number / 60, number % 60),
        wall_ns: 1_000_000_000,
        devices: vec![Device {
            name: "NVIDIA H200".into(),
            driver: "13.0".into(),
            ..Device::default()
        }],
        cupti: Some(Default::default()),
        ..Profile::default()
    };
    for (at, samples) in kernels.iter().enumerate() {
        profile.kernels.push(KernelStats {
            full_name: format!("kernel_{at}"),
            times: durations(samples),
            ..KernelStats::default()
        });
        let times = spans(samples);
        profile.functions.push(Function {
            name: format!("function_{at}"),
            module: "train".into(),
            calls: samples.len() as u64,
            activity: GpuActivity {
                busy_ns: Some(times.total_ns),
                busy_calls: samples.len() as u64,
                ..GpuActivity::default()
            },
            gpu: Some(GpuSpanStats {
                times,
                ..GpuSpanStats::default()
            }),
            ..Function::default()
        });
    }
    profile
}

fn durations(samples: &[u64]) -> DurationStats {
    DurationStats {
        calls: samples.len() as u64,
        total_ns: samples.iter().sum(),
        max_ns: samples.iter().copied().max().unwrap_or(0),
        ..DurationStats::default()
    }
}

fn spans(samples: &[u64]) -> SpanStats {
    let mut histogram = Histogram::default();
    samples.iter().for_each(|ns| histogram.record(*ns));
    let sum: u64 = samples.iter().sum();
    SpanStats {
        total_ns: sum,
        self_ns: sum,
        mean_ns: sum / samples.len() as u64,
        max_ns: samples.iter().copied().max().unwrap_or(0),
        histogram: histogram.buckets().collect(),
        ..SpanStats::default()
    }
}

/// The same runs as a program without CUPTI leaves them.
pub(super) fn without_cupti(sides: &mut [Vec<Profile>; 2]) {
    for run in sides.iter_mut().flatten() {
        run.kernels.clear();
        run.cupti = None;
        run.functions
            .iter_mut()
            .for_each(|of| of.activity = GpuActivity::default());
    }
}
