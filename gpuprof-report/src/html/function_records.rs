//! The records of the functions: what the page shows of a single one.

use std::collections::HashMap;

use super::json_text::JsonText;
use crate::profile::{
    ApiStats, CopyStats, DurationStats, Function, GpuSpanStats, LabelStats, Profile, SpanStats,
};
use crate::sanitize;

const FIELDS: [&str; 18] = [
    "name",
    "module",
    "file",
    "line",
    "calls",
    "threads",
    "is_async",
    "cpu_only",
    "has_stream",
    "timed_calls",
    "cpu",
    "gpu",
    "wall",
    "devices",
    "labels",
    "kernels",
    "copies",
    "api",
];

/// The position of each kernel in `Profile::kernels`, by name and device.
pub(super) struct KernelNumbers<'a>(HashMap<(&'a str, u32), usize>);

impl<'a> KernelNumbers<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let kernels = profile.kernels.iter().enumerate();
        Self(
            kernels
                .map(|(at, kernel)| ((kernel.name.as_str(), kernel.device), at))
                .collect(),
        )
    }
}

/// Adds the names of the fields, and one array for each function.
pub(super) fn write(functions: &[Function], numbers: &KernelNumbers<'_>, json: &mut JsonText) {
    json.key("fields").strings(FIELDS);
    json.key("rows").array(|json| {
        for function in functions {
            json.array(|json| record(function, numbers, json));
        }
    });
}

fn record(function: &Function, numbers: &KernelNumbers<'_>, json: &mut JsonText) {
    for text in [&function.name, &function.module, &function.file] {
        json.string(&sanitize::name(text));
    }
    json.integer(function.line.into());
    json.integer(function.calls);
    json.integer(function.threads.into());
    for flag in [function.is_async, function.cpu_only, function.has_stream] {
        json.integer(flag.into());
    }
    let gpu = function.gpu.as_ref();
    json.integer(gpu.map_or(0, |gpu| gpu.timed_calls));
    let called = (function.calls > 0).then_some(&function.cpu);
    span_stats(called, json);
    span_stats(gpu.map(|gpu| &gpu.times), json);
    span_stats(function.wall.as_ref(), json);
    let several = function.gpu_by_device.len() > 1;
    json.array(|json| {
        for part in function.gpu_by_device.iter().filter(|_| several) {
            json.array(|json| device(part, json));
        }
    });
    json.array(|json| {
        for stats in &function.labels {
            json.array(|json| label(stats, json));
        }
    });
    json.array(|json| {
        for kernel in &function.activity.kernels {
            json.array(|json| {
                match numbers.0.get(&(kernel.name.as_str(), kernel.device)) {
                    Some(at) => json.integer(*at as u64),
                    None => json.string(&sanitize::name(&kernel.name)),
                }
                durations(&kernel.times, json);
            });
        }
    });
    json.array(|json| {
        for copy in &function.activity.copies {
            json.array(|json| copies(copy, json));
        }
    });
    json.array(|json| {
        for call in &function.activity.api {
            json.array(|json| api(call, json));
        }
    });
}

/// Total, self, mean, min, median, p90, p95, p99, max and standard deviation in ns, then the
/// histogram: each filled bucket's distance to the one before, and its count. 0 for no statistics.
fn span_stats(stats: Option<&SpanStats>, json: &mut JsonText) {
    let Some(stats) = stats else {
        return json.integer(0);
    };
    json.array(|json| {
        for ns in stats.times() {
            json.integer(ns);
        }
        json.array(|json| {
            let mut before = 0;
            for bucket in &stats.histogram {
                json.integer(bucket.index.saturating_sub(before).into());
                json.integer(bucket.count);
                before = bucket.index;
            }
        });
    });
}

/// Ordinal, timed calls, total, self, mean, median, p95 and max.
fn device(part: &GpuSpanStats, json: &mut JsonText) {
    let times = &part.times;
    json.integer(part.device.unwrap_or(0).into());
    for number in [
        part.timed_calls,
        times.total_ns,
        times.self_ns,
        times.mean_ns,
        times.p50_ns,
        times.p95_ns,
        times.max_ns,
    ] {
        json.integer(number);
    }
}

/// Label, calls, CPU total and mean, then GPU busy, span total, mean and max, or null.
fn label(stats: &LabelStats, json: &mut JsonText) {
    json.string(&sanitize::name(&stats.label));
    for number in [stats.calls, stats.cpu_total_ns, stats.cpu_mean_ns] {
        json.integer(number);
    }
    let gpu = stats.gpu.as_ref();
    for number in [
        stats.gpu_busy_ns,
        gpu.map(|gpu| gpu.total_ns),
        gpu.map(|gpu| gpu.mean_ns),
        gpu.map(|gpu| gpu.max_ns),
    ] {
        json.integer_or_null(number);
    }
}

/// Calls, total, mean, median and max.
fn durations(times: &DurationStats, json: &mut JsonText) {
    for number in [
        times.calls,
        times.total_ns,
        times.mean_ns,
        times.p50_ns,
        times.max_ns,
    ] {
        json.integer(number);
    }
}

/// Name, durations and bytes.
fn copies(copies: &CopyStats, json: &mut JsonText) {
    json.string(&copies.kind.row_name());
    durations(&copies.times, json);
    json.integer(copies.bytes);
}

/// Name, durations and failed calls.
fn api(call: &ApiStats, json: &mut JsonText) {
    json.string(&sanitize::name(&call.name));
    durations(&call.times, json);
    json.integer(call.failed);
}
