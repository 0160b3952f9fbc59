//! What a benchmark has measured.

use std::fmt;

use gpuprof_report::profile::{Device, Parameter, Precision};

use crate::statistics::{self, Statistics};

/// How calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CallMode {
    /// One call a sample, with the L2 cache overwritten before it.
    Cold,
    /// Many calls in a row, with whatever the one before left in the caches.
    Hot,
    /// The same calls captured into a graph, which is replayed.
    Graph,
}

impl CallMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Hot, Self::Graph];

    /// `cold`, `hot` or `graph`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Hot => "hot",
            Self::Graph => "graph",
        }
    }
}

impl fmt::Display for CallMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why no more samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// The median is known as well as the [`StoppingRule`](crate::StoppingRule) wants it.
    Converged,
    /// The ratio of a comparison is known as well as the rule wants it, the median is not.
    RatioConverged,
    /// The rule's time was over before.
    TimeLimit,
    /// The rule's number of samples was reached before.
    SampleLimit,
}

impl Stopped {
    /// What ended the samples before enough was known; `None` if it was.
    pub(crate) const fn limit(self) -> Option<&'static str> {
        match self {
            Self::Converged | Self::RatioConverged => None,
            Self::TimeLimit => Some("the time limit"),
            Self::SampleLimit => Some("the limit of samples"),
        }
    }
}

/// The times of one benchmark in one mode. Times are of one call, ns, on the GPU unless stated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// How calls were made.
    pub mode: CallMode,
    /// The samples in the order in which they were taken, each the mean of `calls_per_sample`.
    pub samples: Vec<f64>,
    /// Calls of a sample.
    pub calls_per_sample: u32,
    /// Shortest sample.
    pub min_ns: f64,
    /// Median of the samples.
    pub median_ns: f64,
    /// Its 95 % confidence interval; `None` with fewer than 6 samples.
    pub median_ci95_ns: Option<(f64, f64)>,
    /// 95th percentile, by nearest rank.
    pub p95_ns: f64,
    /// Standard deviation over median, estimated from the median absolute deviation.
    pub noise: f64,
    /// Median time that the closure took on the CPU.
    pub cpu_ns: f64,
    /// Median of event pairs with nothing between them: a part of each sample, which is not
    /// subtracted.
    pub event_overhead_ns: f64,
    /// Why no more samples were taken.
    pub stopped: Stopped,
    /// Samples that were dropped because the device was throttled meanwhile.
    pub throttled_samples: usize,
    /// The clock of the SMs at the end, MHz; `None` without NVML.
    pub sm_clock_mhz: Option<u32>,
    /// Bytes that a call moves, as stated.
    pub bytes: Option<u64>,
    /// Floating-point operations of a call, as stated.
    pub flops: Option<u64>,
    /// The precision of `flops`, as stated; `None` is single precision.
    pub precision: Option<Precision>,
    /// Items of a call, as stated.
    pub items: Option<u64>,
    /// What a reader must know of these times.
    pub notes: Vec<String>,
}

impl Measurement {
    pub(crate) fn of(mode: CallMode, samples: Vec<f64>, calls_per_sample: u32) -> Self {
        let mut measured = Self {
            mode,
            samples,
            calls_per_sample,
            min_ns: 0.0,
            median_ns: 0.0,
            median_ci95_ns: None,
            p95_ns: 0.0,
            noise: 0.0,
            cpu_ns: 0.0,
            event_overhead_ns: 0.0,
            stopped: Stopped::Converged,
            throttled_samples: 0,
            sm_clock_mhz: None,
            bytes: None,
            flops: None,
            precision: None,
            items: None,
            notes: Vec::new(),
        };
        measured.summarize();
        measured
    }

    /// Sets the time of an empty event pair, and notes a measurement of nothing else.
    pub(crate) fn set_event_overhead(&mut self, ns: f64) {
        self.event_overhead_ns = ns;
        // Within a step of the timer.
        if self.median_ns * f64::from(self.calls_per_sample) <= ns * 1.05 {
            let note = "its time is that of an empty event pair: is its work on this stream?";
            self.notes.push(note.to_owned());
        }
    }

    /// Computes what is said of the samples from them.
    fn summarize(&mut self) {
        if let Some(all) = Statistics::of(&self.samples) {
            self.min_ns = all.min;
            self.median_ns = all.median;
            self.median_ci95_ns = all.median_ci95;
            self.p95_ns = all.p95;
            self.noise = all.noise;
        }
    }

    /// Half the width of the median's interval over the median; `None` without an interval.
    #[must_use]
    pub fn relative_error(&self) -> Option<f64> {
        statistics::relative_error(self.median_ns, self.median_ci95_ns)
    }

    /// Stated bytes by the median time, per second.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.rate(self.bytes)
    }

    /// Stated floating-point operations by the median time, per second.
    #[must_use]
    pub fn flops_per_s(&self) -> Option<f64> {
        self.rate(self.flops)
    }

    /// Stated items by the median time, per second.
    #[must_use]
    pub fn items_per_s(&self) -> Option<f64> {
        self.rate(self.items)
    }

    fn rate(&self, amount: Option<u64>) -> Option<f64> {
        let amount = amount.filter(|_| self.median_ns > 0.0)?;
        Some(amount as f64 / self.median_ns * 1e9)
    }
}

/// What one benchmark has measured, by mode. Its text is a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Results {
    /// Name of the benchmark, with its arguments.
    pub name: String,
    /// Its name without them.
    pub group: String,
    /// The arguments; the type of a generic benchmark is called `type`.
    pub parameters: Vec<Parameter>,
    /// The device.
    pub device: Device,
    /// In the order of the modes.
    pub measurements: Vec<Measurement>,
    /// Modes in which the code cannot run, and why.
    pub not_measured: Vec<(CallMode, String)>,
}

impl Results {
    pub(crate) fn new(name: &str, device: Device) -> Self {
        Self {
            name: name.to_owned(),
            group: name.to_owned(),
            parameters: Vec::new(),
            device,
            measurements: Vec::new(),
            not_measured: Vec::new(),
        }
    }

    /// The measurement in this mode; `None` if it was not asked for.
    #[must_use]
    pub fn mode(&self, mode: CallMode) -> Option<&Measurement> {
        self.measurements.iter().find(|one| one.mode == mode)
    }
}
