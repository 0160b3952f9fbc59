//! The host side of the profiler: the metrics of the simulated chip, and their configuration.

use std::collections::BTreeMap;

use crate::counter_model::Totals;
use crate::result_codes::{Answer, Code};

/// The name of the simulated chip.
pub(crate) const CHIP: &std::ffi::CStr = c"simulated";

/// How the value of a metric follows from a counter.
#[derive(Clone, Copy)]
enum Unit {
    Sum,
    /// Of the time, in percent.
    Percent,
}

/// The metrics, and for each of them the counter it is made of. There is no NVLink.
const METRICS: [(&str, usize, Unit); 12] = [
    ("dram__bytes_read.sum", 0, Unit::Sum),
    ("dram__bytes_write.sum", 1, Unit::Sum),
    (
        "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
        2,
        Unit::Percent,
    ),
    (
        "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
        3,
        Unit::Percent,
    ),
    (
        "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
        4,
        Unit::Percent,
    ),
    ("pcie__read_bytes.sum", 5, Unit::Sum),
    ("pcie__write_bytes.sum", 6, Unit::Sum),
    (
        concat!(
            "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime",
            ".avg.pct_of_peak_sustained_elapsed"
        ),
        7,
        Unit::Percent,
    ),
    (
        concat!(
            "LTS.TriageCompute.lts__throughput",
            ".avg.pct_of_peak_sustained_elapsed"
        ),
        8,
        Unit::Percent,
    ),
    (
        concat!(
            "l1tex__data_pipe_lsu_wavefronts",
            ".avg.pct_of_peak_sustained_elapsed"
        ),
        9,
        Unit::Percent,
    ),
    (
        concat!(
            "TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime",
            ".avg.pct_of_peak_sustained_elapsed"
        ),
        10,
        Unit::Percent,
    ),
    (
        concat!(
            "sm__inst_executed_pipe_xu_realtime",
            ".avg.pct_of_peak_sustained_elapsed"
        ),
        11,
        Unit::Percent,
    ),
];

/// A host object.
#[derive(Default)]
struct Host {
    metrics: Vec<usize>,
    /// It has refused a metric: from then on it refuses all (H200, CUDA 13.0).
    is_spoiled: bool,
}

pub(crate) struct Hosts {
    objects: BTreeMap<usize, Host>,
    last: usize,
    pub(crate) is_initialized: bool,
    /// `None`: all metrics fit.
    pub(crate) metrics_per_pass: Option<usize>,
}

impl Hosts {
    pub(crate) const fn new() -> Hosts {
        Hosts {
            objects: BTreeMap::new(),
            last: 0,
            is_initialized: false,
            metrics_per_pass: None,
        }
    }

    /// A new host object for a chip.
    pub(crate) fn create(&mut self, chip: Option<&str>) -> Answer<usize> {
        if chip.map(str::as_bytes) != Some(CHIP.to_bytes()) {
            return Err(Code::INVALID_CHIP_NAME);
        }
        self.last += 1;
        self.objects.insert(self.last, Host::default());
        Ok(self.last)
    }

    pub(crate) fn destroy(&mut self, object: usize) -> Answer {
        self.objects
            .remove(&object)
            .ok_or(Code::INVALID_PARAMETER)?;
        Ok(())
    }

    fn host(&mut self, object: usize) -> Answer<&mut Host> {
        self.objects.get_mut(&object).ok_or(Code::INVALID_PARAMETER)
    }

    /// Adds metrics to a host object.
    pub(crate) fn add(&mut self, object: usize, names: &[Option<&str>]) -> Answer {
        let host = self.host(object)?;
        for name in names {
            let metric = METRICS.iter().position(|(known, ..)| Some(*known) == *name);
            match metric {
                _ if host.is_spoiled => return Err(Code::UNKNOWN),
                Some(metric) => host.metrics.push(metric),
                None => {
                    host.is_spoiled = true;
                    return Err(Code::INVALID_METRIC_NAME);
                }
            }
        }
        Ok(())
    }

    /// The configuration: the numbers of the metrics.
    pub(crate) fn config(&mut self, object: usize) -> Answer<Vec<u8>> {
        let host = self.host(object)?;
        Ok(host.metrics.iter().map(|metric| *metric as u8).collect())
    }

    /// How many passes a configuration takes.
    pub(crate) fn passes(&self, config: &[u8]) -> usize {
        let per_pass = self.metrics_per_pass.unwrap_or(METRICS.len());
        config.len().div_ceil(per_pass)
    }

    /// The values of metrics in a sample of `ns`. A metric that was not configured has none.
    pub(crate) fn evaluate(
        &mut self,
        object: usize,
        names: &[Option<&str>],
        totals: &Totals,
        ns: u64,
    ) -> Answer<Vec<f64>> {
        let configured = &self.host(object)?.metrics;
        let values = names.iter().map(|name| {
            let mut metrics = METRICS.iter().enumerate();
            let found = metrics.find(|(_, (known, ..))| Some(*known) == *name);
            let (index, (_, counter, unit)) = found.ok_or(Code::INVALID_METRIC_NAME)?;
            if !configured.contains(&index) {
                return Err(Code::INVALID_METRIC_NAME);
            }
            Ok(match unit {
                Unit::Sum => totals[*counter],
                Unit::Percent => 100.0 * totals[*counter] / ns as f64,
            })
        });
        values.collect()
    }
}
