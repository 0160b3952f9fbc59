//! Results as a profile, which all outputs of gpuprof take.

use gpuprof_report::histogram::Histogram;
use gpuprof_report::profile::{Benchmark, Function, GpuSpanStats, Profile, SpanStats};

use crate::measurement::{Measurement, Results, Stopped};

/// A profile in which each benchmark in each mode is a function, and its samples are the calls.
#[must_use]
pub fn to_profile(all: &[Results]) -> Profile {
    let mut profile = Profile::default();
    profile.schema = gpuprof_report::profile::SCHEMA.to_owned();
    for results in all {
        if !profile.devices.contains(&results.device) {
            profile.devices.push(results.device.clone());
        }
        for measured in &results.measurements {
            let function = profile.functions.len() as u32;
            profile.functions.push(self::function(results, measured));
            profile
                .benchmarks
                .push(benchmark(function, results, measured));
        }
    }
    profile
}

fn benchmark(function: u32, results: &Results, measured: &Measurement) -> Benchmark {
    let mut benchmark = Benchmark::default();
    benchmark.function = function;
    benchmark.name.clone_from(&results.group);
    benchmark.parameters.clone_from(&results.parameters);
    measured.mode.name().clone_into(&mut benchmark.mode);
    benchmark.device = results.device.ordinal;
    (benchmark.bytes, benchmark.flops) = (measured.bytes, measured.flops);
    benchmark.calls_per_sample = measured.calls_per_sample;
    benchmark.median_ns = measured.median_ns;
    benchmark.median_low_ns = measured.median_ci95_ns.map(|(low, _)| low);
    benchmark.median_high_ns = measured.median_ci95_ns.map(|(_, high)| high);
    benchmark.sm_clock_mhz = measured.sm_clock_mhz;
    benchmark.notes.clone_from(&measured.notes);
    benchmark.noise = measured.noise;
    benchmark.event_overhead_ns = measured.event_overhead_ns;
    benchmark.throttled_samples = measured.throttled_samples as u64;
    benchmark.converged = measured.stopped == Stopped::Converged;
    benchmark
}

fn function(results: &Results, measured: &Measurement) -> Function {
    let calls = measured.samples.len() as u64;
    let all = |amount: Option<u64>| amount.map(|amount| amount as f64 * calls as f64);
    let mut gpu = GpuSpanStats::default();
    gpu.device = Some(results.device.ordinal);
    gpu.timed_calls = calls;
    gpu.times = times(measured);
    gpu.timed_ns = gpu.times.total_ns;
    (gpu.timed_bytes, gpu.timed_flops) = (all(measured.bytes), all(measured.flops));
    gpu.timed_items = all(measured.items);
    let mut function = Function::default();
    function.name = name(&results.name, measured);
    (function.calls, function.threads, function.has_stream) = (calls, 1, true);
    (function.bytes, function.flops) = (gpu.timed_bytes, gpu.timed_flops);
    function.items = gpu.timed_items;
    function.cpu.mean_ns = measured.cpu_ns.round() as u64;
    function.cpu.p50_ns = function.cpu.mean_ns;
    function.cpu.total_ns = (measured.cpu_ns * calls as f64).round() as u64;
    function.cpu.self_ns = function.cpu.total_ns;
    function.precision = measured.precision;
    function.gpu = Some(gpu);
    function
}

/// The name of a benchmark in one mode: `saxpy n=1024, cold`.
pub(crate) fn name(name: &str, measured: &Measurement) -> String {
    format!("{name}, {}", measured.mode)
}

fn times(measured: &Measurement) -> SpanStats {
    let mut histogram = Histogram::default();
    let whole = |ns: f64| ns.round().max(0.0) as u64;
    measured
        .samples
        .iter()
        .for_each(|&ns| histogram.record(whole(ns)));
    let count = measured.samples.len().max(1) as f64;
    let total: f64 = measured.samples.iter().sum();
    let mean = total / count;
    let squares = measured.samples.iter().map(|ns| (ns - mean).powi(2));
    let max = measured.samples.iter().copied().fold(0.0, f64::max);
    let (min, max) = (whole(measured.min_ns), whole(max));
    let mut times = SpanStats::default();
    times.total_ns = whole(total);
    times.self_ns = times.total_ns;
    times.sum_ns = times.total_ns;
    times.mean_ns = whole(mean);
    (times.min_ns, times.max_ns) = (min, max);
    times.stddev_ns = whole((squares.sum::<f64>() / count).sqrt());
    times.p50_ns = whole(measured.median_ns);
    times.p90_ns = histogram.quantile(0.9, min, max);
    times.p95_ns = whole(measured.p95_ns);
    times.p99_ns = histogram.quantile(0.99, min, max);
    times.histogram = histogram.buckets().collect();
    times
}
