//! Promise: samples that were taken while the device was throttled are dropped and counted; if it
//! was throttled throughout, a note says so.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gpuprof::bench::{CallMode, Measurement, Stopped, StoppingRule, bench};
use simnvml::{Simulated, State};
use support::suite::Module;
use support::tests;
use support::{World, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        throttled_samples_are_dropped_and_counted,
        a_device_that_is_throttled_throughout_is_noted,
        a_cool_device_is_not_mentioned,
        a_short_benchmark_waits_until_the_device_is_cool,
    ]],
);

/// `nvmlClocksEventReasonSwThermalSlowdown`.
const THERMAL: u64 = 0x20;
const SLOW_NS: u64 = 40_000;
const FAST_NS: u64 = 10_000;
const SAMPLES: usize = 60;

fn set(nvml: &Simulated, reasons: u64) {
    nvml.set(State {
        reasons,
        sm_clock: 1_000,
        result: 0,
    });
}

/// Measures a kernel that takes as long as `ns` says at each call, which lasts some ms of the host
/// so that NVML is asked every few samples.
fn measure(w: &World, mut ns: impl FnMut() -> u64) -> Measurement {
    let mut rule = StoppingRule::default();
    (rule.min_samples, rule.max_samples) = (SAMPLES, SAMPLES);
    rule.max_time = Duration::from_secs(30);
    let stream = Arc::clone(&w.gpu.stream);
    let bench = bench("kernel").stream(&stream).modes(&[CallMode::Cold]);
    let results = bench.rule(rule).run(|| {
        thread::sleep(Duration::from_millis(5));
        w.gpu.kernel(ns());
    });
    results.expect("a result").measurements.remove(0)
}

fn throttled_samples_are_dropped_and_counted() {
    let nvml = simnvml::install();
    let w = world();
    set(&nvml, 0);
    let mut calls = 0;
    let measured = measure(&w, || {
        calls += 1;
        // Well after the first look that finds it cool.
        let is_hot = (40..55).contains(&calls);
        set(&nvml, if is_hot { THERMAL } else { 0 });
        if is_hot { SLOW_NS } else { FAST_NS }
    });
    assert_eq!(measured.samples.len(), SAMPLES);
    // A look that finds it hot drops all since the look before; the last hot ones may be before a
    // look that finds it cool again.
    let slow = measured.samples.iter().filter(|&&ns| ns > FAST_NS as f64);
    assert!(slow.count() <= 10);
    assert!(
        (5..=30).contains(&measured.throttled_samples),
        "{measured:?}"
    );
    assert_eq!(measured.median_ns, FAST_NS as f64);
}

fn a_device_that_is_throttled_throughout_is_noted() {
    let nvml = simnvml::install();
    let w = world();
    set(&nvml, THERMAL);
    let mut rule = StoppingRule::default();
    rule.max_time = Duration::from_millis(300);
    let stream = Arc::clone(&w.gpu.stream);
    let bench = bench("kernel").stream(&stream).modes(&[CallMode::Cold]);
    let results = bench.rule(rule).run(|| {
        thread::sleep(Duration::from_millis(5));
        w.gpu.kernel(SLOW_NS);
    });
    let results = results.expect("a result");
    let measured = &results.measurements[0];
    assert_eq!(measured.median_ns, SLOW_NS as f64);
    assert_eq!(measured.sm_clock_mhz, Some(1_000));
    assert!(
        measured
            .notes
            .iter()
            .any(|note| note.contains("throttled throughout"))
    );
}

fn a_cool_device_is_not_mentioned() {
    let nvml = simnvml::install();
    let w = world();
    set(&nvml, 0);
    let measured = measure(&w, || FAST_NS);
    assert_eq!((measured.throttled_samples, measured.notes.len()), (0, 0));
    assert_eq!(measured.samples, [FAST_NS as f64; SAMPLES]);
}

/// It converges long before NVML is asked for the first time.
fn a_short_benchmark_waits_until_the_device_is_cool() {
    let nvml = simnvml::install();
    let w = world();
    set(&nvml, THERMAL);
    let stream = Arc::clone(&w.gpu.stream);
    let mut calls = 0;
    let bench = bench("kernel").stream(&stream).modes(&[CallMode::Cold]);
    let results = bench.run(|| {
        calls += 1;
        // The first one, 10 to warm up, and two looks after 30 samples each.
        let is_hot = calls <= 11 + 60;
        set(&nvml, if is_hot { THERMAL } else { 0 });
        w.gpu.kernel(if is_hot { SLOW_NS } else { FAST_NS });
    });
    let results = results.expect("a result");
    let measured = &results.measurements[0];
    assert_eq!(measured.samples, [FAST_NS as f64; 30]);
    assert_eq!(
        (measured.throttled_samples, measured.stopped),
        (60, Stopped::Converged)
    );
    assert_eq!(measured.notes, Vec::<String>::new());
    let text = results.to_string();
    assert!(
        text.contains("60 samples dropped, the device was throttled"),
        "{text}"
    );
}
