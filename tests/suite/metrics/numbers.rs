//! Promise: calls, sums and buckets are those of the calls, to the nanosecond, in the text format
//! and in a registry of the program's own.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use gpuprof::metrics::{Collector, prometheus_text};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use support::suite::Module;
use support::tests;
use support::{World, world, world_with};

use crate::exposition::Exposition;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_sums_and_buckets_are_exact,
        a_call_counts_in_the_bucket_that_ends_at_its_duration,
        recursive_calls_are_all_in_the_sum,
        each_device_has_a_series,
        a_registry_has_the_same_numbers,
        gpu_time_is_counted_as_soon_as_it_is_read,
    ]],
);

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 1_000 * ns);
}

#[gpu_profile(cpu)]
fn host(w: &World, ns: u64) {
    w.cpu(ns);
}

#[gpu_profile(cpu)]
fn recursive(w: &World, depth: u64) {
    w.cpu(100);
    if depth > 0 {
        recursive(w, depth - 1);
    }
}

/// The label of a function of this file.
fn name(function: &str) -> String {
    format!("numbers::{function}")
}

fn scrape() -> Exposition {
    Exposition::read(&prometheus_text())
}

fn calls_sums_and_buckets_are_exact() {
    let w = world();
    let _session = w.session();
    for ns in [2_000, 3_000, 70_000] {
        step(&w, &w.gpu.stream, ns);
        w.settle();
    }
    let found = scrape();
    let step = name("step");
    let function = [("function", step.as_str())];
    assert_eq!(found.one("gpuprof_function_calls_total", &function), 3.0);
    assert_eq!(found.one("gpuprof_function_open_calls", &function), 0.0);
    // Bounds are 2ⁿ − 1 ns.
    let cpu = found.histogram("gpuprof_function_cpu_seconds", &function);
    assert_eq!(cpu, (3, 75_000, vec![(2_047, 1), (4_095, 1), (131_071, 1)]));
    // The stream is idle when a call begins: the CPU time before the launch is in the GPU span.
    let gpu = found.histogram("gpuprof_function_gpu_seconds", &function);
    assert_eq!(
        gpu,
        (
            3,
            75_075_000,
            vec![(2_097_151, 1), (4_194_303, 1), (134_217_727, 1)]
        )
    );
    assert_eq!(
        found.one("gpuprof_gpu_busy_seconds_total", &[("device", "0")]),
        0.075_075
    );
    for (metric, kind) in [
        ("gpuprof_function_calls_total", "counter"),
        ("gpuprof_function_cpu_seconds", "histogram"),
        ("gpuprof_function_gpu_seconds", "histogram"),
        ("gpuprof_gpu_busy_seconds_total", "counter"),
        ("gpuprof_measured_seconds_total", "counter"),
        ("gpuprof_functions_over_limit", "gauge"),
    ] {
        assert_eq!(found.kind(metric), Some(kind), "{metric}");
    }
    let (info, _) = (found.of("gpuprof_device_info", &[]))
        .next()
        .expect("a device");
    assert!(info.contains("simulated device"), "{info}");
}

fn a_call_counts_in_the_bucket_that_ends_at_its_duration() {
    let w = world();
    let _session = w.session();
    for ns in [0, 1_023, 1_024, 2_047, 2_048, (1 << 37) - 1, 1 << 37] {
        host(&w, ns);
    }
    let host = name("host");
    let (count, sum, buckets) =
        scrape().histogram("gpuprof_function_cpu_seconds", &[("function", &host)]);
    let expected = [
        (1_023, 2),
        (2_047, 2),
        (4_095, 1),
        ((1 << 37) - 1, 1),
        (u64::MAX, 1),
    ];
    assert_eq!((count, buckets), (7, expected.to_vec()));
    assert_eq!(sum, 1_023 + 1_024 + 2_047 + 2_048 + (1 << 38) - 1);
}

fn recursive_calls_are_all_in_the_sum() {
    let w = world();
    let _session = w.session();
    recursive(&w, 2);
    let recursive = name("recursive");
    let cpu = scrape().histogram("gpuprof_function_cpu_seconds", &[("function", &recursive)]);
    assert_eq!((cpu.0, cpu.1), (3, 100 + 200 + 300));
}

fn each_device_has_a_series() {
    let w = world_with(2);
    let _session = w.session();
    let other = support::Gpu::new(w.sim, 1);
    step(&w, &w.gpu.stream, 1_000);
    w.settle();
    let step_name = name("step");
    let gpu = |device| {
        let labels = [("function", step_name.as_str()), ("device", device)];
        let (count, _, buckets) = scrape().histogram("gpuprof_function_gpu_seconds", &labels);
        (count, buckets)
    };
    let before = gpu("0");
    assert_eq!(before, (1, vec![(1_048_575, 1)]));
    w.cpu(1);
    on_second(&w, &other);
    other.context.synchronize().expect("synchronize");
    let _ = gpuprof::collect();
    assert_eq!(gpu("0"), before);
    let second = name("on_second");
    let labels = [("function", second.as_str()), ("device", "1")];
    assert_eq!(
        scrape()
            .histogram("gpuprof_function_gpu_seconds", &labels)
            .0,
        1
    );
}

#[gpu_profile(stream = gpu.stream)]
fn on_second(w: &World, gpu: &support::Gpu) {
    w.cpu(10);
    gpu.kernel(5_000);
}

fn a_registry_has_the_same_numbers() {
    let w = world();
    let _session = w.session();
    for ns in [1_500, 1_500, 900_000] {
        step(&w, &w.gpu.stream, ns);
    }
    w.settle();
    let mut registry = Registry::with_prefix("app");
    registry.register_collector(Box::new(Collector::default()));
    let mut text = String::new();
    encode(&mut text, &registry).expect("memory");
    let registered: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    // Labels are a set, and a bound is a number.
    let normal = |line: &str| {
        let (series, value) = line.rsplit_once(' ').expect("a sample");
        let (name, labels) = series.split_once('{').expect("labels");
        let labels = labels.trim_end_matches('}').split(',').map(|label| {
            let bound = label
                .strip_prefix("le=\"")
                .map(|le| le.trim_end_matches('"'));
            match bound.map(|le| le.parse::<f64>().expect("a bound")) {
                Some(le) => format!("le={le}"),
                None => label.to_owned(),
            }
        });
        let mut labels: Vec<String> = labels.collect();
        labels.sort();
        let value: f64 = value.parse().expect("a number");
        (format!("{name} {}", labels.join(" ")), value)
    };
    let mut registered: Vec<_> = registered.into_iter().map(normal).collect();
    let plain = prometheus_text();
    let plain = plain.lines().filter(|line| !line.starts_with('#'));
    let mut plain: Vec<_> = plain.map(|line| normal(&format!("app_{line}"))).collect();
    // Time goes on for the program, but not for the virtual clock.
    let by_series = |a: &(String, f64), b: &(String, f64)| a.0.cmp(&b.0);
    registered.sort_by(by_series);
    plain.sort_by(by_series);
    assert!(plain.len() > 60, "{plain:#?}");
    for (registered, plain) in registered.iter().zip(&plain) {
        assert_eq!(registered, plain);
    }
    assert_eq!(registered.len(), plain.len());
    assert!(
        text.contains("# UNIT app_gpuprof_function_gpu_seconds seconds\n"),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"));
}

fn gpu_time_is_counted_as_soon_as_it_is_read() {
    let w = world();
    let _session = w.session();
    step(&w, &w.gpu.stream, 5_000);
    let step = name("step");
    let function = [("function", step.as_str())];
    let found = scrape();
    assert_eq!(found.one("gpuprof_function_calls_total", &function), 1.0);
    assert_eq!(
        found
            .of("gpuprof_function_gpu_seconds_count", &function)
            .count(),
        0
    );
    w.settle();
    let found = scrape();
    assert_eq!(
        found.one("gpuprof_function_gpu_seconds_count", &function),
        1.0
    );
}
