//! The host side of the profiler: the metrics of the simulated chip, and their configuration.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::OnceLock;

use crate::counter_model::Totals;
use crate::metric_table::{BASE_METRICS, METRICS, Unit};
use crate::result_codes::{Answer, Code};

/// The name of the simulated chip.
pub(crate) const CHIP: &CStr = c"simulated";

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
            let metric = METRICS.iter().position(|known| Some(known.name) == *name);
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

    /// The addresses of the names of the base metrics of a kind.
    pub(crate) fn base_metrics(&mut self, object: usize, kind: i32) -> Answer<&'static [usize]> {
        static NAMES: OnceLock<[Vec<usize>; 3]> = OnceLock::new();
        self.host(object)?;
        let address = |name: &&CStr| name.as_ptr() as usize;
        let names = NAMES.get_or_init(|| BASE_METRICS.map(|of| of.iter().map(address).collect()));
        let of_kind = usize::try_from(kind).ok().and_then(|kind| names.get(kind));
        of_kind.map(Vec::as_slice).ok_or(Code::INVALID_PARAMETER)
    }

    /// The configuration: the numbers of the metrics.
    pub(crate) fn config(&mut self, object: usize) -> Answer<Vec<u8>> {
        let host = self.host(object)?;
        Ok(host.metrics.iter().map(|metric| *metric as u8).collect())
    }

    /// How many passes a configuration takes.
    pub(crate) fn passes(&self, config: &[u8]) -> usize {
        let per_pass = self.metrics_per_pass.unwrap_or(METRICS.len());
        let alone = config
            .iter()
            .map(|metric| METRICS[usize::from(*metric)].passes);
        let together = config.len().div_ceil(per_pass);
        together.max(alone.max().unwrap_or(0))
    }

    /// What is counted for a configuration.
    pub(crate) fn counters(&self, config: &[u8]) -> Vec<usize> {
        let metrics = config.iter().map(|metric| &METRICS[usize::from(*metric)]);
        let counters = metrics.flat_map(|metric| {
            let other = match metric.unit {
                Unit::RatioTo(other) | Unit::PercentOf(other) => Some(other),
                Unit::Sum | Unit::Percent => None,
            };
            [Some(metric.counter), other].into_iter().flatten()
        });
        counters.collect()
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
            let found = metrics.find(|(_, known)| Some(known.name) == *name);
            let (index, metric) = found.ok_or(Code::INVALID_METRIC_NAME)?;
            if !configured.contains(&index) {
                return Err(Code::INVALID_METRIC_NAME);
            }
            let counted = totals[metric.counter];
            Ok(match metric.unit {
                Unit::Sum => counted,
                Unit::Percent => 100.0 * counted / ns as f64,
                Unit::RatioTo(other) => counted / totals[other],
                Unit::PercentOf(other) => 100.0 * counted / totals[other],
            })
        });
        values.collect()
    }
}
