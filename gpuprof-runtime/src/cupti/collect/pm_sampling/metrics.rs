//! The metrics that are sampled, and CUPTI's names for them.

use std::ffi::CStr;

use gpuprof_report::profile::Metric;

/// How many metrics a sample can have.
pub(crate) const METRICS: usize = SOURCES.len();

/// A metric and what CUPTI calls it.
pub(crate) struct MetricNames {
    pub(crate) metric: Metric,
    /// The first one that the chip has, in one pass.
    pub(super) names: &'static [&'static CStr],
    /// From the value of a sample to that of the metric: 1 for a sum over the sample, 0.01 for
    /// percent.
    pub(crate) scale: f64,
}

impl MetricNames {
    /// Whether it counts bytes of device memory.
    pub(crate) fn is_dram(&self) -> bool {
        matches!(self.metric, Metric::DramRead | Metric::DramWrite)
    }
}

/// In the order in which they are added: what has no room beside those before it is omitted. The
/// names were looked up in the libcupti of CUDA 13.5 for each chip from TU102 to GR100: all of them
/// fit into one pass, where the chip has them. Of tensor cores, TU102 to TU106 need two passes.
pub(crate) const SOURCES: [MetricNames; 9] = [
    MetricNames {
        metric: Metric::DramRead,
        names: &[c"dram__bytes_read.sum", c"dram__bytes_op_read.sum"],
        scale: 1.0,
    },
    MetricNames {
        metric: Metric::DramWrite,
        names: &[c"dram__bytes_write.sum", c"dram__bytes_op_write.sum"],
        scale: 1.0,
    },
    MetricNames {
        metric: Metric::SmActive,
        names: &[c"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"],
        scale: 0.01,
    },
    MetricNames {
        metric: Metric::TensorActive,
        names: &[
            c"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
            c"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        ],
        scale: 0.01,
    },
    MetricNames {
        metric: Metric::IssueRate,
        names: &[c"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed"],
        scale: 0.01,
    },
    MetricNames {
        metric: Metric::PcieRead,
        names: &[c"pcie__read_bytes.sum"],
        scale: 1.0,
    },
    MetricNames {
        metric: Metric::PcieWrite,
        names: &[c"pcie__write_bytes.sum"],
        scale: 1.0,
    },
    MetricNames {
        metric: Metric::NvlinkReceived,
        names: &[c"nvlrx__bytes.sum"],
        scale: 1.0,
    },
    MetricNames {
        metric: Metric::NvlinkSent,
        names: &[c"nvltx__bytes.sum"],
        scale: 1.0,
    },
];

/// What one sample measured: for each of [`SOURCES`] the integral over its time, bytes or ns; NaN
/// for those that were not sampled.
pub(crate) type Integrals = [f64; METRICS];

/// The values of one device's counters over a short time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PmSample {
    /// ns of CUPTI's clock.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) integrals: Integrals,
}

impl PmSample {
    /// Neighbouring samples as one.
    pub(crate) fn sum(of: &[Self]) -> Self {
        let mut integrals = [0.0; METRICS];
        for sample in of {
            let sums = integrals.iter_mut().zip(sample.integrals);
            sums.for_each(|(sum, integral)| *sum += integral);
        }
        Self {
            start: of.first().map_or(0, |first| first.start),
            end: of.last().map_or(0, |last| last.end),
            integrals,
        }
    }

    pub(crate) fn ns(&self) -> u64 {
        self.end - self.start
    }

    /// Whether it comes right after `before`: no other would fit between them.
    pub(crate) fn follows(&self, before: &Self) -> bool {
        self.start.saturating_sub(before.end) < before.ns()
    }
}

/// One of [`SOURCES`] as a track of the time line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledMetric(usize);

impl SampledMetric {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..METRICS).map(Self)
    }

    /// With its unit.
    pub(crate) fn track_name(self) -> &'static str {
        let metric = SOURCES.get(self.0).map(|source| source.metric);
        match metric.unwrap_or_default() {
            Metric::DramRead => "DRAM read (GB/s)",
            Metric::DramWrite => "DRAM write (GB/s)",
            Metric::SmActive => "SMs active (%)",
            Metric::TensorActive => "tensor cores active (%)",
            Metric::IssueRate => "issue rate (%)",
            Metric::PcieRead => "PCIe read (GB/s)",
            Metric::PcieWrite => "PCIe write (GB/s)",
            Metric::NvlinkReceived => "NVLink received (GB/s)",
            Metric::NvlinkSent => "NVLink sent (GB/s)",
            _ => "(unknown)",
        }
    }

    /// Its mean in a sample, in the unit of the track; `None` if it was not sampled.
    pub(crate) fn mean(self, sample: &PmSample) -> Option<f64> {
        let source = SOURCES.get(self.0)?;
        let mean = sample.integrals.get(self.0)? / sample.ns() as f64;
        let unit = if source.metric.is_bytes_per_s() {
            // Bytes per ns.
            1.0
        } else {
            100.0
        };
        Some(mean * unit).filter(|mean| mean.is_finite())
    }
}
