//! The metrics of a profile.

use std::collections::BTreeMap;

use super::buckets::DurationBuckets;
use super::family::{
    BaseUnit, Families, Family, MetricKind, SeriesLabel, SeriesSample, SeriesValue,
};
use super::series::{OTHER_FUNCTIONS, Series};
use crate::profile::{Device, Profile};

/// The metrics of `profile`, which has everything that the process measured so far.
#[must_use]
pub fn families(profile: &Profile, series: &mut Series) -> Families {
    let functions = FunctionsByLabel::new(profile, series);
    let mut families = vec![
        functions.calls(),
        functions.open_calls(),
        functions.cpu(),
        functions.gpu(),
        functions.over_limit(),
        busy(profile, series),
        memory(
            profile,
            "gpuprof_memory_live",
            "Memory that is allocated now.",
            |of| of.live_bytes,
        ),
        memory(
            profile,
            "gpuprof_memory_peak",
            "The most memory that was allocated at once.",
            |of| of.peak_bytes,
        ),
        findings(profile, series),
    ];
    families.extend(diagnostics(profile, series));
    families.push(devices(profile));
    families.retain(|family| !family.samples.is_empty());
    let mut labels = vec![("host", profile.host.clone())];
    labels.extend(profile.rank.map(|rank| ("rank", rank.to_string())));
    Families { labels, families }
}

/// The functions that ran, by label.
#[derive(Default)]
struct FunctionsByLabel {
    rows: BTreeMap<String, FunctionMetrics>,
    over_limit: u64,
}

#[derive(Default)]
struct FunctionMetrics {
    calls: u64,
    open_calls: u64,
    cpu: DurationBuckets,
    /// By device.
    gpu: BTreeMap<u32, DurationBuckets>,
}

impl FunctionsByLabel {
    fn new(profile: &Profile, series: &mut Series) -> Self {
        let mut functions = Self::default();
        for function in profile
            .functions
            .iter()
            .filter(|function| function.has_run())
        {
            let label = series.function(function);
            functions.over_limit += u64::from(label == OTHER_FUNCTIONS);
            let row = functions.rows.entry(label).or_default();
            row.calls = row.calls.saturating_add(function.calls);
            row.open_calls = row.open_calls.saturating_add(function.open_calls);
            row.cpu.add(&function.cpu, function.calls);
            for gpu in function.gpu_on_each_device() {
                if let Some(device) = gpu.device {
                    row.gpu.entry(device).or_default().add(&gpu.times, 0);
                }
            }
        }
        functions
    }

    fn samples(&self, value: impl Fn(&FunctionMetrics) -> SeriesValue) -> Vec<SeriesSample> {
        let rows = self.rows.iter();
        rows.map(|(function, row)| SeriesSample {
            labels: vec![("function", function.clone())],
            value: value(row),
        })
        .collect()
    }

    fn calls(&self) -> Family {
        Family {
            name: "gpuprof_function_calls",
            unit: None,
            help: "Calls of an annotated function that ended on the CPU.",
            kind: MetricKind::Counter,
            samples: self.samples(|row| SeriesValue::Whole(row.calls)),
        }
    }

    fn open_calls(&self) -> Family {
        Family {
            name: "gpuprof_function_open_calls",
            unit: None,
            help: "Calls of an annotated function that are in progress.",
            kind: MetricKind::Gauge,
            samples: self.samples(|row| SeriesValue::Whole(row.open_calls)),
        }
    }

    fn cpu(&self) -> Family {
        Family {
            name: "gpuprof_function_cpu",
            unit: Some(BaseUnit::Seconds),
            help: "CPU time of the calls of an annotated function.",
            kind: MetricKind::Histogram,
            samples: self.samples(|row| SeriesValue::Durations(Box::new(row.cpu.clone()))),
        }
    }

    fn gpu(&self) -> Family {
        let rows = self.rows.iter();
        let samples = rows.flat_map(|(function, row)| {
            row.gpu.iter().map(|(device, durations)| SeriesSample {
                labels: vec![("function", function.clone()), device_label(*device)],
                value: SeriesValue::Durations(Box::new(durations.clone())),
            })
        });
        Family {
            name: "gpuprof_function_gpu",
            unit: Some(BaseUnit::Seconds),
            help: "Time between the two events of a call on its stream. Under sampling a timed \
                   call counts once for each call that it stands for.",
            kind: MetricKind::Histogram,
            samples: samples.collect(),
        }
    }

    fn over_limit(&self) -> Family {
        Family {
            name: "gpuprof_functions_over_limit",
            unit: None,
            help: "Functions that ran and have no series of their own.",
            kind: MetricKind::Gauge,
            samples: vec![SeriesSample {
                labels: Vec::new(),
                value: SeriesValue::Whole(self.over_limit),
            }],
        }
    }
}

fn device_label(ordinal: u32) -> SeriesLabel {
    ("device", ordinal.to_string())
}

fn busy(profile: &Profile, series: &mut Series) -> Family {
    let name = "gpuprof_gpu_busy";
    let samples = profile.gpu_busy.iter().filter_map(|busy| {
        // While many records are still to come, the time of the spans stands in, idle time
        // included. The counter waits for the records: it would not come down from there.
        let waits = profile.cupti.is_some() && busy.records.is_none();
        let known_ns = if waits { 0 } else { busy.busy_ns };
        let ns = series.estimate(name, Some(busy.device), known_ns);
        let is_known = !waits || ns > 0;
        is_known.then(|| SeriesSample {
            labels: vec![device_label(busy.device)],
            value: SeriesValue::Ns(ns),
        })
    });
    Family {
        name,
        unit: Some(BaseUnit::Seconds),
        help: "Time during which a kernel, copy or memset ran on the device; without \
               GPUPROF_CUPTI, during which a GPU span was open.",
        kind: MetricKind::Counter,
        samples: samples.collect(),
    }
}

fn memory(
    profile: &Profile,
    name: &'static str,
    help: &'static str,
    bytes: fn(&crate::profile::MemoryUse) -> u64,
) -> Family {
    let uses = profile.memory.iter().flat_map(|memory| &memory.uses);
    let samples = uses.map(|of_kind| {
        let mut labels = vec![("kind", of_kind.kind.as_str().to_owned())];
        labels.extend(of_kind.device.map(device_label));
        SeriesSample {
            labels,
            value: SeriesValue::Whole(bytes(of_kind)),
        }
    });
    Family {
        name,
        unit: Some(BaseUnit::Bytes),
        help,
        kind: MetricKind::Gauge,
        samples: samples.collect(),
    }
}

fn findings(profile: &Profile, series: &mut Series) -> Family {
    // By rule and function; the largest of those in `other functions`.
    let mut gains = BTreeMap::<(&str, Option<String>), u64>::new();
    for finding in &profile.findings {
        let mut functions = profile.functions.iter();
        let function = (finding.function.as_ref()).map(|name| {
            let found = functions.find(|function| function.name == *name);
            found.map_or_else(
                || OTHER_FUNCTIONS.to_owned(),
                |found| series.function(found),
            )
        });
        let gain = gains.entry((finding.rule.as_str(), function)).or_default();
        *gain = finding.gain_ns.max(*gain);
    }
    let samples = gains.into_iter().map(|((rule, function), gain_ns)| {
        let mut labels = vec![("rule", rule.to_owned())];
        labels.extend(function.map(|function| ("function", function)));
        SeriesSample {
            labels,
            value: SeriesValue::Ns(gain_ns),
        }
    });
    Family {
        name: "gpuprof_finding_gain",
        unit: Some(BaseUnit::Seconds),
        help: "The most wall time that following the advice of a finding can save. A finding that \
               no longer holds has no series.",
        kind: MetricKind::Gauge,
        samples: samples.collect(),
    }
}

fn diagnostics(profile: &Profile, series: &mut Series) -> [Family; 5] {
    let diagnostics = &profile.diagnostics;
    // A reset may come between the copy of the window and of the calls on ended threads.
    let mut counter = |name, unit, help, value| {
        let value = series.estimate(name, None, value);
        Family {
            name,
            unit,
            help,
            kind: MetricKind::Counter,
            samples: vec![SeriesSample {
                labels: Vec::new(),
                value: match unit {
                    Some(_) => SeriesValue::Ns(value),
                    None => SeriesValue::Whole(value),
                },
            }],
        }
    };
    let errors = diagnostics.errors.iter().map(|error| {
        let labels = vec![("call", error.call.clone()), ("error", error.name.clone())];
        (labels, error.count)
    });
    let failed = profile.api.iter().filter(|api| api.failed > 0);
    let failed = failed.map(|api| (vec![("call", api.name.clone())], api.failed));
    let family = |name, help, samples| Family {
        name,
        unit: None,
        help,
        kind: MetricKind::Counter,
        samples,
    };
    [
        counter(
            "gpuprof_measured",
            Some(BaseUnit::Seconds),
            "Time during which gpuprof measured.",
            profile.wall_ns,
        ),
        counter(
            "gpuprof_overhead",
            Some(BaseUnit::Seconds),
            "Estimated CPU time that gpuprof took, over all threads, without scrapes.",
            diagnostics.overhead_ns,
        ),
        counter(
            "gpuprof_dropped_calls",
            None,
            "Calls that are counted in no function, for lack of memory or call paths.",
            diagnostics.dropped,
        ),
        family(
            "gpuprof_cuda_errors",
            "CUDA errors of gpuprof's own calls, which the program does not see.",
            counts(errors),
        ),
        family(
            "gpuprof_api_errors",
            "CUDA calls of the program that returned an error, by CUPTI's records.",
            counts(failed),
        ),
    ]
}

/// One series for each call and error: Prometheus refuses two with the same labels.
fn counts(of: impl Iterator<Item = (Vec<SeriesLabel>, u64)>) -> Vec<SeriesSample> {
    let mut sums = BTreeMap::<Vec<SeriesLabel>, u64>::new();
    for (labels, count) in of {
        let sum = sums.entry(labels).or_default();
        *sum = sum.saturating_add(count);
    }
    let samples = sums.into_iter().map(|(labels, count)| SeriesSample {
        labels,
        value: SeriesValue::Whole(count),
    });
    samples.collect()
}

fn devices(profile: &Profile) -> Family {
    let labels = |device: &Device| {
        vec![
            device_label(device.ordinal),
            ("name", device.shown_name().into_owned()),
            ("uuid", device.uuid.clone()),
        ]
    };
    let samples = profile.devices.iter().map(|device| SeriesSample {
        labels: labels(device),
        value: SeriesValue::Whole(1),
    });
    Family {
        name: "gpuprof_device_info",
        unit: None,
        help: "The devices on which anything was timed.",
        kind: MetricKind::Gauge,
        samples: samples.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Series, SeriesValue, busy};
    use crate::profile::{BusyRecords, CuptiCompleteness, GpuBusy};

    fn profile(busy_ns: u64, has_records: bool) -> Profile {
        Profile {
            cupti: Some(CuptiCompleteness::default()),
            gpu_busy: vec![GpuBusy {
                device: 0,
                busy_ns,
                records: has_records.then(BusyRecords::default),
                ..GpuBusy::default()
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn the_time_of_spans_does_not_stand_in_for_records() {
        let mut series = Series::default();
        let mut shown = |profile: &Profile| {
            let samples = busy(profile, &mut series).samples;
            samples
                .into_iter()
                .map(|sample| sample.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&profile(100, false)), Vec::new());
        assert_eq!(shown(&profile(20, true)), [SeriesValue::Ns(20)]);
        assert_eq!(shown(&profile(200, false)), [SeriesValue::Ns(20)]);
        assert_eq!(shown(&profile(45, true)), [SeriesValue::Ns(45)]);
        let without_cupti = Profile {
            cupti: None,
            ..profile(0, false)
        };
        let mut other = Series::default();
        let samples = busy(&without_cupti, &mut other).samples;
        assert_eq!(samples.len(), 1, "it is 0, and not unknown");
    }
}
