//! The metrics that the user listed.

use std::ffi::{CStr, CString};

use gpuprof_report::profile::MetricUnit;

/// What the value of a metric in a sample is, which decides how a mean over kernels follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Bytes in the sample.
    Bytes,
    /// A number of other things in the sample.
    Count,
    /// The share of a peak over the time of the sample, in percent.
    PeakShare,
    /// The ratio of two counts in the sample, in percent.
    Percent,
    /// The ratio of two counts in the sample.
    Ratio,
}

const PEAK_SHARE: &str = ".avg.pct_of_peak_sustained_elapsed";

/// The endings of names, and what they stand for. Others have no mean over samples that would be
/// that of a kernel: a minimum, a maximum, or a share of the cycles in which a unit was active.
const ENDINGS: [(&str, Form); 4] = [
    (".sum", Form::Count),
    (PEAK_SHARE, Form::PeakShare),
    (".pct", Form::Percent),
    (".ratio", Form::Ratio),
];

impl Form {
    /// The integral over a sample of `ns` with this value: bytes, things, or ns.
    pub(super) fn integral(self, value: f64, ns: f64) -> f64 {
        match self {
            Self::Bytes | Self::Count => value,
            Self::PeakShare | Self::Percent => 0.01 * value * ns,
            Self::Ratio => value * ns,
        }
    }

    /// Whether it is a ratio of counts: it is the same however much of the sample is filled.
    pub(crate) fn is_ratio(self) -> bool {
        matches!(self, Self::Percent | Self::Ratio)
    }

    /// What the integral over the time is in, if the time is in seconds.
    pub(crate) fn unit(self) -> MetricUnit {
        match self {
            Self::Bytes => MetricUnit::BytesPerS,
            Self::Count => MetricUnit::PerS,
            Self::PeakShare | Self::Percent => MetricUnit::Share,
            Self::Ratio => MetricUnit::Ratio,
        }
    }
}

/// A kind of base metric, by which CUPTI lists them, and the endings that can be sampled of it.
/// CUPTI gives all metrics of a kind the same endings (TU102 to GB202, CUDA 13.0).
pub(super) const KINDS: [&[&str]; 3] = [&[".sum", PEAK_SHARE], &[".pct", ".ratio"], &[PEAK_SHARE]];

/// Parts of the names of counters that go on while no kernel runs: over the time of kernels they
/// would be anything.
const ALWAYS_COUNTING: [&str; 5] = ["idle", "elapsed", "in_frame", "in_region", "gpu__time_"];

/// The units that only kernels use.
const UNITS_OF_KERNELS: [&str; 5] = ["sm", "smsp", "tpc", "l1tex", "idc"];

/// A metric that the user listed, and that can be sampled if the chip has it.
#[derive(Debug, PartialEq)]
pub(crate) struct ListedMetric {
    pub(crate) name: String,
    pub(super) c_name: CString,
    pub(crate) form: Form,
}

impl ListedMetric {
    /// `None` if no mean can follow from samples.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let (base, form) = split(name)?;
        let is_usable = !counts_always(base);
        let form = match form {
            Form::Count if counts_bytes(base) => Form::Bytes,
            form => form,
        };
        is_usable.then_some(Self {
            name: name.to_owned(),
            c_name: CString::new(name).ok()?,
            form,
        })
    }

    pub(super) fn c_name(&self) -> &CStr {
        &self.c_name
    }

    /// Whether only kernels use what it measures.
    pub(crate) fn is_of_kernels(&self) -> bool {
        let unit = self.name.split("__").next().unwrap_or_default();
        let unit = unit.rsplit('.').next().unwrap_or_default();
        UNITS_OF_KERNELS.contains(&unit)
    }

    /// With its unit, as a track of the time line.
    pub(crate) fn track_name(&self) -> String {
        let (base, _) = split(&self.name).unwrap_or((&self.name, self.form));
        match self.form {
            Form::Bytes => format!("{base} (GB/s)"),
            Form::Count => format!("{base} (G/s)"),
            Form::PeakShare | Form::Percent => format!("{base} (%)"),
            Form::Ratio => base.to_owned(),
        }
    }
}

/// A metric of the list that is not sampled.
#[derive(Clone, Debug)]
pub(super) struct RefusedMetric {
    pub(super) name: String,
    pub(super) reason: Reason,
}

#[derive(Clone, Debug)]
pub(super) enum Reason {
    /// No metric of this name, or none of which a mean could follow from samples.
    NotAccepted,
    ManyPasses,
    /// It would need another pass beside these.
    NoRoom(Vec<String>),
}

/// The user's list.
#[derive(Debug, Default)]
pub(super) struct MetricList {
    pub(super) metrics: Vec<ListedMetric>,
    /// Of no use, whatever the chip.
    pub(super) unusable: Vec<RefusedMetric>,
}

impl MetricList {
    pub(super) fn new(names: &[String]) -> Self {
        let mut list = Self::default();
        for name in names {
            match ListedMetric::new(name) {
                Some(metric) => list.metrics.push(metric),
                None => list.unusable.push(RefusedMetric {
                    name: name.clone(),
                    reason: Reason::NotAccepted,
                }),
            }
        }
        list
    }
}

/// The base metric of a name, and what its ending stands for.
pub(super) fn split(name: &str) -> Option<(&str, Form)> {
    let mut endings = ENDINGS.iter();
    endings.find_map(|(ending, form)| Some((name.strip_suffix(ending)?, *form)))
}

pub(super) fn counts_always(base: &str) -> bool {
    ALWAYS_COUNTING.iter().any(|part| base.contains(part))
}

/// Whether it counts bytes that are moved, and not those that are in use in each cycle. The same as
/// the dimension that CUPTI gives (TU102 to GB202, CUDA 13.0).
fn counts_bytes(base: &str) -> bool {
    let is_in_use = ["allocated", "configured", "sram"];
    base.split('_').any(|word| word == "bytes") && !is_in_use.iter().any(|word| base.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{Form, ListedMetric};

    #[test]
    fn the_ending_of_a_name_says_what_its_mean_is() {
        for (name, form) in [
            ("lts__t_sectors.sum", Some(Form::Count)),
            ("dram__bytes_read.sum", Some(Form::Bytes)),
            ("PCI.TriageA.pcie__read_bytes.sum", Some(Form::Bytes)),
            (
                "tpc__l1tex_mem_shared_data_compute_bytes_allocated.sum",
                Some(Form::Count),
            ),
            (
                "tpc__l1tex_mem_shared_kilobytes_configured.sum",
                Some(Form::Count),
            ),
            (
                "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
                Some(Form::PeakShare),
            ),
            ("lts__t_sector_hit_rate.pct", Some(Form::Percent)),
            ("lts__t_sector_hit_rate.ratio", Some(Form::Ratio)),
            ("lts__t_sectors", None),
            ("lts__t_sectors.max", None),
            ("sm__warps_active.avg.pct_of_peak_sustained_active", None),
            ("sm__cycles_elapsed.sum", None),
            ("gpu__time_duration.sum", None),
        ] {
            let listed = ListedMetric::new(name);
            assert_eq!(listed.map(|metric| metric.form), form, "{name}");
        }
    }

    #[test]
    fn copies_use_the_caches_of_the_device_and_no_multiprocessor() {
        for (name, is_of_kernels) in [
            ("sm__warps_active.sum", true),
            ("TPC.TriageCompute.tpc__warps_inactive.sum", true),
            ("LTS.TriageCompute.lts__t_sectors.sum", false),
            ("dram__bytes_read.sum", false),
        ] {
            let metric = ListedMetric::new(name).unwrap();
            assert_eq!(metric.is_of_kernels(), is_of_kernels, "{name}");
        }
    }
}
