//! Promise: counts, extremes, mean and spread are exact, percentiles are within 1/32, and the
//! stated work adds up.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::{Bucket, Precision, SpanStats};
use gpuprof::{Mode, Session, gpu_profile, scope};
use support::executor::poll;
use support::report_text::full_report;
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        sums_means_and_extremes_are_exact,
        one_call_has_no_spread,
        a_call_of_no_time_counts,
        percentiles_are_within_a_thirty_second,
        every_call_is_in_the_histogram_bucket_of_its_duration,
        stated_work_adds_up_and_is_evaluated_once_a_call,
        flops_are_compared_with_the_peak_of_the_stated_precision,
        work_of_untimed_calls_is_no_part_of_the_timed_work,
        sums_and_products_of_work_do_not_overflow,
        an_invalid_amount_is_left_out_and_counted,
        nothing_is_evaluated_that_is_not_used,
        the_stream_of_a_scope_is_evaluated_only_while_it_is_on,
        longer_than_the_histogram_reaches_is_counted_at_its_end,
    ]],
);

#[gpu_profile]
fn lasts(w: &World, stream: &Arc<CudaStream>, cpu_ns: u64, gpu_ns: u64) {
    w.gpu.kernel_on(stream, gpu_ns);
    w.cpu(cpu_ns);
}

thread_local! {
    static EVALUATED: Cell<u32> = const { Cell::new(0) };
}

/// An argument expression that counts its evaluations.
fn counted<T>(value: T) -> T {
    EVALUATED.set(EVALUATED.get() + 1);
    value
}

fn evaluated() -> u32 {
    EVALUATED.replace(0)
}

#[gpu_profile(bytes = counted(n * 4), flops = counted(n as f32 * 0.5), items = counted(&n))]
fn works(_stream: &Arc<CudaStream>, n: usize) {
    assert!(n > 0);
}

#[gpu_profile(cpu, items = 3)]
fn items_only() {}

#[gpu_profile(stream = counted(stream), bytes = 8)]
fn states_stream(stream: &Arc<CudaStream>) {
    assert!(Arc::strong_count(stream) > 0);
}

#[gpu_profile(payload = counted(7_u32), cpu)]
fn has_payload() {}

/// Runs `lasts` once per value, which is both its CPU time and its GPU time.
fn run(w: &World, values: impl Iterator<Item = u64>) -> (SpanStats, SpanStats) {
    let session = w.session();
    // The stream is busy with a long kernel, so that no CPU time is between two events.
    w.gpu.kernel(4_000_000_000);
    values.for_each(|ns| lasts(w, &w.gpu.stream, ns, ns));
    let profile = w.finish(session);
    let function = function(&profile, "lasts");
    (function.cpu.clone(), gpu(&profile, "lasts").times.clone())
}

fn sums_means_and_extremes_are_exact() {
    let w = world();
    let (cpu, gpu) = run(&w, [100, 200, 600, 1_100].into_iter());
    for times in [cpu, gpu] {
        assert_eq!((times.total_ns, times.self_ns), (2_000, 2_000));
        assert_eq!(
            (times.min_ns, times.mean_ns, times.max_ns),
            (100, 500, 1_100)
        );
        // √((400² + 300² + 100² + 600²) / 4) = √155,000 = 393.7
        assert_eq!(times.stddev_ns, 394);
    }
}

fn bounds_and_counts(buckets: &[Bucket]) -> Vec<(RangeInclusive<u64>, u64)> {
    let each = buckets.iter();
    each.map(|bucket| (bucket.bounds_ns(), bucket.count))
        .collect()
}

fn one_call_has_no_spread() {
    let w = world();
    let (cpu, gpu) = run(&w, [12_345].into_iter());
    for times in [cpu, gpu] {
        let all = [
            times.min_ns,
            times.mean_ns,
            times.max_ns,
            times.p50_ns,
            times.p99_ns,
        ];
        assert_eq!(all, [12_345; 5]);
        assert_eq!(times.stddev_ns, 0);
        // 12,345 lies in the octave 8,192 to 16,383, whose sixteen buckets are 512 wide.
        let buckets = &times.histogram;
        assert_eq!(bounds_and_counts(buckets), [(12_288..=12_799, 1)]);
    }
}

fn a_call_of_no_time_counts() {
    let w = world();
    let (cpu, gpu) = run(&w, [0, 0, 0].into_iter());
    for times in [cpu, gpu] {
        assert_eq!((times.total_ns, times.max_ns, times.p99_ns), (0, 0, 0));
        assert_eq!(bounds_and_counts(&times.histogram), [(0..=0, 3)]);
    }
}

fn percentiles_are_within_a_thirty_second() {
    let w = world();
    // Evenly distributed and unsorted: 7 and 1,000 have no common divisor, so each value occurs
    // once.
    let even: Vec<u64> = (0..1_000_u64)
        .map(|at| (at * 7 % 1_000 + 1) * 1_000)
        .collect();
    // A long-tailed distribution from 100 ns to 3.2 ms.
    let tailed: Vec<u64> = (0..1_000_u64)
        .map(|at| 100 + (at * at * at) / 310)
        .collect();
    for mut values in [even, tailed] {
        let (cpu, gpu) = run(&w, values.iter().copied());
        values.sort_unstable();
        for times in [&cpu, &gpu] {
            for (share, read) in [
                (500, times.p50_ns),
                (900, times.p90_ns),
                (950, times.p95_ns),
                (990, times.p99_ns),
            ] {
                // The smallest value such that `share` of the thousand values are at most that
                // value.
                let truth = values[share - 1];
                assert!(
                    read.abs_diff(truth) * 32 <= truth,
                    "p{share}: {read}, not {truth}"
                );
            }
            assert_eq!((times.min_ns, times.max_ns), (values[0], values[999]));
        }
        assert_eq!(cpu, gpu);
    }
}

fn every_call_is_in_the_histogram_bucket_of_its_duration() {
    let w = world();
    let values: Vec<u64> = (0..500).map(|at: u64| at.pow(3) + at).collect();
    let (cpu, gpu) = run(&w, values.iter().copied());
    for times in [cpu, gpu] {
        for bucket in &times.histogram {
            let inside = |ns: &&u64| bucket.bounds_ns().contains(*ns);
            assert_eq!(values.iter().filter(inside).count() as u64, bucket.count);
        }
        let counted: u64 = times.histogram.iter().map(|bucket| bucket.count).sum();
        assert_eq!(counted, 500);
    }
}

fn stated_work_adds_up_and_is_evaluated_once_a_call() {
    let w = world();
    let session = w.session();
    evaluated();
    (1..=10).for_each(|n| works(&w.gpu.stream, n));
    assert_eq!(evaluated(), 30);
    items_only();
    items_only();
    let profile = w.finish(session);
    // 1 + 2 + … + 10 = 55
    let all = function(&profile, "works");
    let stated = (all.bytes, all.flops, all.items);
    assert_eq!(stated, (Some(220.0), Some(27.5), Some(55.0)));
    let timed = gpu(&profile, "works");
    assert_eq!(
        (timed.timed_bytes, timed.timed_flops, timed.timed_items),
        stated
    );
    let items = function(&profile, "items_only");
    assert_eq!(
        (items.bytes, items.flops, items.items),
        (None, None, Some(6.0))
    );
    let none = function(&profile, "lasts");
    assert_eq!((none.bytes, none.flops, none.items), (None, None, None));
}

#[gpu_profile(flops = 1_000_000, precision = f16_tensor)]
fn multiplies_in_tensor_cores(w: &World, _stream: &Arc<CudaStream>) {
    w.gpu.kernel(1_000);
}

fn flops_are_compared_with_the_peak_of_the_stated_precision() {
    let w = world();
    let session = w.session();
    multiplies_in_tensor_cores(&w, &w.gpu.stream);
    lasts(&w, &w.gpu.stream, 10, 10);
    let profile = w.finish(session);
    let function = function(&profile, "multiplies_in_tensor_cores");
    assert_eq!(function.precision, Some(Precision::F16Tensor));
    assert_eq!(self::function(&profile, "lasts").precision, None);
    // The simulated Turing device: 512 multiply-adds per SM and clock, 8 times single precision.
    let device = &profile.devices[0];
    let (single, tensor) = (
        device.peak_flops_f32,
        device.peak_flops(Precision::F16Tensor),
    );
    assert_eq!(tensor, single.map(|single| 8 * single));
    let share = 1e12 / tensor.expect("a peak") as f64 * 100.0;
    assert!(
        full_report(&profile).contains(&format!("{share:.1} f16_tensor")),
        "{share}"
    );
}

fn work_of_untimed_calls_is_no_part_of_the_timed_work() {
    let w = world();
    w.warm_up(|| works(&w.gpu.stream, 1));
    let session = w.session();
    works(&w.gpu.stream, 1);
    // First the second call's start event fails, then the third call's end event.
    w.sim.fail("cuEventRecord", 1, 1, 2);
    works(&w.gpu.stream, 10);
    w.sim.fail("cuEventRecord", 2, 1, 2);
    works(&w.gpu.stream, 100);
    works(&w.gpu.stream, 1_000);
    let profile = w.finish(session);
    let all = function(&profile, "works");
    assert_eq!((all.calls, all.items), (4, Some(1_111.0)));
    let timed = gpu(&profile, "works");
    assert_eq!((timed.timed_calls, timed.timed_items), (2, Some(1_001.0)));
    assert_eq!(timed.timed_bytes, Some(4_004.0));
    assert_eq!((all.untimed_calls, all.untimed.cuda_error), (2, 2));
    let errors = &profile.diagnostics.errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(
        (
            errors[0].call.as_str(),
            errors[0].name.as_str(),
            errors[0].count
        ),
        ("cuEventRecord", "CUDA_ERROR_OUT_OF_MEMORY", 2)
    );
}

#[gpu_profile(flops = 2 * m * n * (n + m), items = n - m, bytes = m / 2 * 2)]
fn multiplies(_stream: &Arc<CudaStream>, m: u32, n: u32) {}

fn sums_and_products_of_work_do_not_overflow() {
    let w = world();
    let session = w.session();
    multiplies(&w.gpu.stream, 3_000_001, 3_000_000);
    let profile = w.finish(session);
    let function = function(&profile, "multiplies");
    assert_eq!(
        function.flops,
        Some(2.0 * 3_000_001.0 * 3_000_000.0 * 6_000_001.0)
    );
    // The difference is negative.
    assert_eq!((function.items, function.bytes), (None, Some(3_000_000.0)));
    assert_eq!(profile.diagnostics.invalid_amounts, 1);
}

#[gpu_profile(bytes = bytes, flops = 1)]
fn states_bytes(w: &World, stream: &Arc<CudaStream>, bytes: f64) {
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile(cpu, items = items)]
async fn states_items(items: f64) {
    let _ = items;
}

fn an_invalid_amount_is_left_out_and_counted() {
    let w = world();
    let session = w.session();
    for amount in [f64::NAN, f64::INFINITY, -5.0, 1e31, 4e6, 0.0, 2e6] {
        assert!(poll(pin!(states_items(amount))).is_ready());
        states_bytes(&w, &w.gpu.stream, amount);
    }
    let profile = w.finish(session);
    let calls = function(&profile, "states_bytes");
    let gpu = calls.gpu.as_ref().expect("it is timed");
    assert_eq!((calls.bytes, calls.flops), (Some(6e6), Some(7.0)));
    assert_eq!((gpu.timed_calls, gpu.timed_bytes), (7, Some(6e6)));
    assert_eq!(function(&profile, "states_items").items, Some(6e6));
    assert_eq!(profile.diagnostics.invalid_amounts, 8);
}

fn nothing_is_evaluated_that_is_not_used() {
    let w = world();
    evaluated();
    let call_all = || {
        works(&w.gpu.stream, 1);
        states_stream(&w.gpu.stream);
        has_payload();
    };
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    call_all();
    drop(off);
    assert_eq!(evaluated(), 0, "off");
    let filtered = Session::builder()
        .filter("^statistics::lasts$")
        .start()
        .expect("start");
    call_all();
    drop(filtered);
    assert_eq!(evaluated(), 0, "filtered out");
    // No session is open.
    call_all();
    assert_eq!(evaluated(), 0, "stopped");
    let ranges = Session::builder().mode(Mode::Nvtx).start().expect("start");
    works(&w.gpu.stream, 1);
    states_stream(&w.gpu.stream);
    drop(ranges);
    assert_eq!(evaluated(), 0, "ranges carry neither work nor streams");
    let on = w.session();
    states_stream(&w.gpu.stream);
    assert_eq!(evaluated(), 1, "the stream, once");
    drop(on);
}

fn the_stream_of_a_scope_is_evaluated_only_while_it_is_on() {
    let w = world();
    evaluated();
    let enter = || {
        scope!("counted scope", counted(&w.gpu.stream));
    };
    // A session ends the environment's window, so nothing is measured after it.
    drop(w.session());
    enter();
    assert_eq!(evaluated(), 0);
    let session = w.session();
    enter();
    enter();
    assert_eq!(evaluated(), 2);
    assert_eq!(gpu(&w.finish(session), "counted scope").timed_calls, 2);
}

fn longer_than_the_histogram_reaches_is_counted_at_its_end() {
    let w = world();
    let session = w.session();
    // Three hours in ns.
    let ns = 3 * 3_600 * 1_000_000_000;
    {
        scope!("three hours");
        w.cpu(ns);
    }
    let profile = w.finish(session);
    let cpu = &function(&profile, "three hours").cpu;
    assert_eq!((cpu.total_ns, cpu.max_ns, cpu.min_ns), (ns, ns, ns));
    assert_eq!(cpu.p50_ns, ns);
}
