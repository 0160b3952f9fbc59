//! The metrics that are sampled, and CUPTI's names for them.

use std::ffi::CStr;

use gpuprof_report::profile::Metric;
use gpuprof_report::setting_values::MAX_LISTED;

use super::listed::{Form, ListedMetric};

/// How many metrics a sample can have: [`SOURCES`], and those of a list.
pub(crate) const METRICS: usize = SOURCES.len() + MAX_LISTED;

/// A counter, and what its value is.
pub(crate) struct CounterNames {
    /// What CUPTI calls it: the first one that the chip has, in one pass.
    pub(super) names: &'static [&'static CStr],
    pub(crate) form: Form,
}

/// A counter by its names without their ends, summed or averaged over all units of the device; with
/// a metric if it is one by itself.
macro_rules! counter {
    (end PeakShare) => {
        ".avg.pct_of_peak_sustained_elapsed\0"
    };
    (end $sum:ident) => {
        ".sum\0"
    };
    ($form:ident: $($name:literal),+) => {
        CounterNames {
            names: &[$(name(concat!($name, counter!(end $form)))),+],
            form: Form::$form,
        }
    };
    ($form:ident $metric:ident: $($name:literal),+) => {
        (Metric::$metric, counter!($form: $($name),+))
    };
}
pub(super) use counter;

pub(super) const fn name(bytes: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(bytes.as_bytes()) {
        Ok(name) => name,
        // No chip has a metric of this name.
        Err(_) => c"",
    }
}

/// In the order in which they are added: what has no room beside those before it is omitted.
/// `cargo xtask chips` says what chips have room for.
///
/// That there is room does not make them cheap: of what GH100 counts in each multiprocessor outside
/// of its `TPC` group (L1, shared memory, XU, warps, threads) two metrics are. With a third,
/// decoding takes 0.7 ms per ms in which the device works, whatever the interval (H100, CUDA 13.0).
pub(crate) const SOURCES: [(Metric, CounterNames); 14] = [
    counter!(Bytes DramRead: "dram__bytes_read", "dram__bytes_op_read"),
    counter!(Bytes DramWrite: "dram__bytes_write", "dram__bytes_op_write"),
    counter!(PeakShare SmActive: "sm__cycles_active"),
    counter!(
        PeakShare TensorActive: "sm__pipe_tensor_cycles_active_realtime",
        "sm__pipe_tensor_cycles_active"
    ),
    counter!(PeakShare IssueRate: "sm__inst_executed_realtime"),
    counter!(
        PeakShare Fp64Active: "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime",
        "sm__pipe_fp64_cycles_active",
        "sm__inst_executed_pipe_fp64"
    ),
    counter!(
        PeakShare L2Throughput: "LTS.TriageCompute.lts__throughput",
        "lts__t_sector_throughput",
        "lts__t_sectors"
    ),
    counter!(PeakShare L1Throughput: "l1tex__data_pipe_lsu_wavefronts"),
    counter!(
        PeakShare AluActive: "TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime",
        "sm__inst_executed_pipe_alu_realtime",
        "sm__pipe_alu_cycles_active",
        "sm__inst_executed_pipe_alu"
    ),
    counter!(PeakShare XuActive: "sm__inst_executed_pipe_xu_realtime", "sm__inst_executed_pipe_xu"),
    counter!(Bytes PcieRead: "pcie__read_bytes"),
    counter!(Bytes PcieWrite: "pcie__write_bytes"),
    counter!(Bytes NvlinkReceived: "nvlrx__bytes"),
    counter!(Bytes NvlinkSent: "nvltx__bytes"),
];

/// What one sample measured: for each source of its set, and then of the list if it is of the first
/// one, the integral over its time, bytes, things or ns. NaN for those that were not sampled, and
/// for a ratio without a value.
pub(crate) type Integrals = [f64; METRICS];

/// What is sampled at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricSet {
    /// [`SOURCES`] and the user's list, most of the time.
    First,
    /// [`COUNTERS`](super::in_turn::COUNTERS), in the place of the others.
    InTurn,
}

/// The values of one device's counters over a short time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PmSample {
    /// ns of CUPTI's clock.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) set: MetricSet,
    pub(crate) integrals: Integrals,
    /// The user's list.
    pub(crate) listed: &'static [ListedMetric],
}

/// How the integral of a metric is divided among what ran in the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// Each activity has a part in proportion to its time.
    Activities,
    /// Kernels alone have one.
    Kernels,
    /// What ran has the same ratio.
    SameRatio,
}

impl PmSample {
    /// In the order of the integrals.
    pub(crate) fn divisions(&self) -> impl Iterator<Item = Division> {
        let division = |is_of_kernels| {
            if is_of_kernels {
                Division::Kernels
            } else {
                Division::Activities
            }
        };
        let fixed = SOURCES.iter().map(move |(metric, _)| {
            division(self.set == MetricSet::InTurn || metric.is_of_kernels())
        });
        let listed = self.listed.iter().map(move |metric| match metric.form {
            form if form.is_ratio() => Division::SameRatio,
            _ => division(metric.is_of_kernels()),
        });
        fixed.chain(listed)
    }

    /// Neighbouring samples as one.
    pub(crate) fn sum(of: &[Self]) -> Self {
        let mut integrals = [0.0; METRICS];
        for sample in of {
            let sums = integrals.iter_mut().zip(sample.integrals);
            sums.for_each(|(sum, integral)| *sum += integral);
        }
        Self {
            set: of.first().map_or(MetricSet::First, |first| first.set),
            start: of.first().map_or(0, |first| first.start),
            end: of.last().map_or(0, |last| last.end),
            integrals,
            listed: of.first().map_or(&[], |first| first.listed),
        }
    }

    pub(crate) fn ns(&self) -> u64 {
        self.end - self.start
    }

    /// Whether it comes right after `before`: no other would fit between them.
    pub(crate) fn follows(&self, before: &Self) -> bool {
        self.set == before.set && self.start.saturating_sub(before.end) < before.ns()
    }
}

/// A metric as a track of the time line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledMetric {
    index: usize,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Fixed(Metric),
    Listed(&'static ListedMetric),
}

impl SampledMetric {
    /// Those that samples like this one can have; none of the second set, which are rare.
    pub(crate) fn all(sample: &PmSample) -> impl Iterator<Item = Self> {
        let first = (sample.set == MetricSet::First).then_some(&SOURCES);
        let fixed = first
            .into_iter()
            .flatten()
            .map(|(metric, _)| Source::Fixed(*metric));
        let sources = fixed.chain(sample.listed.iter().map(Source::Listed));
        let numbered = sources.enumerate();
        numbered.map(|(index, source)| Self { index, source })
    }

    /// With its unit.
    pub(crate) fn track_name(self) -> String {
        let metric = match self.source {
            Source::Fixed(metric) => metric,
            Source::Listed(metric) => return metric.track_name(),
        };
        let name = match metric {
            Metric::DramRead => "DRAM read (GB/s)",
            Metric::DramWrite => "DRAM write (GB/s)",
            Metric::SmActive => "SMs active (%)",
            Metric::TensorActive => "tensor cores active (%)",
            Metric::IssueRate => "issue rate (%)",
            Metric::Fp64Active => "FP64 units (%)",
            Metric::L2Throughput => "L2 cache (%)",
            Metric::L1Throughput => "L1 cache and shared memory (%)",
            Metric::AluActive => "ALU units (%)",
            Metric::XuActive => "XU units (%)",
            Metric::PcieRead => "PCIe read (GB/s)",
            Metric::PcieWrite => "PCIe write (GB/s)",
            Metric::NvlinkReceived => "NVLink received (GB/s)",
            Metric::NvlinkSent => "NVLink sent (GB/s)",
            _ => "(unknown)",
        };
        name.to_owned()
    }

    /// Its mean in a sample, in the unit of the track; `None` if it was not sampled.
    pub(crate) fn mean(self, sample: &PmSample) -> Option<f64> {
        let mean = sample.integrals.get(self.index)? / sample.ns() as f64;
        let is_share = match self.source {
            Source::Fixed(metric) => !metric.is_bytes_per_s(),
            Source::Listed(metric) => matches!(metric.form, Form::PeakShare | Form::Percent),
        };
        // Rates are per ns, which is G per s.
        let unit = if is_share { 100.0 } else { 1.0 };
        Some(mean * unit).filter(|mean| mean.is_finite())
    }
}
