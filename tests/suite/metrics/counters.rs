//! Promise: counters never go down: they count from the start of the process, also across resets
//! and sessions.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use gpuprof::metrics::prometheus_text;
use support::suite::Module;
use support::tests;
use support::{World, world};

use crate::exposition::Exposition;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_reset_takes_nothing_away,
        sessions_add_up,
        gpu_time_read_after_a_reset_still_counts,
        gpu_time_read_in_the_next_session_still_counts,
        errors_of_ended_windows_stay,
        no_counter_goes_down_in_any_of_many_windows,
    ]],
);

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

fn scrape() -> Exposition {
    Exposition::read(&prometheus_text())
}

/// Calls, CPU time, and calls and time on the GPU.
fn totals() -> (u64, u64, u64, u64) {
    let found = scrape();
    let function = [("function", "counters::step")];
    let calls = found.one("gpuprof_function_calls_total", &function) as u64;
    let (count, cpu, _) = found.histogram("gpuprof_function_cpu_seconds", &function);
    assert_eq!(count, calls);
    let is_timed = found
        .of("gpuprof_function_gpu_seconds_count", &function)
        .count()
        > 0;
    let gpu = if is_timed {
        found.histogram("gpuprof_function_gpu_seconds", &function)
    } else {
        (0, 0, vec![])
    };
    (calls, cpu, gpu.0, gpu.1)
}

fn busy_ns() -> u64 {
    let busy = scrape().one("gpuprof_gpu_busy_seconds_total", &[]);
    (busy * 1e9).round() as u64
}

fn a_reset_takes_nothing_away() {
    let w = world();
    let _session = w.session();
    step(&w, &w.gpu.stream, 1_000);
    w.settle();
    assert_eq!(totals(), (1, 1_000, 1, 11_000));
    gpuprof::reset();
    assert_eq!(totals(), (1, 1_000, 1, 11_000));
    assert_eq!(busy_ns(), 11_000);
    step(&w, &w.gpu.stream, 500);
    w.settle();
    assert_eq!(totals(), (2, 1_500, 2, 16_500));
    assert_eq!(busy_ns(), 16_500);
    assert_eq!(gpuprof::snapshot().diagnostics.calls, 1);
}

fn sessions_add_up() {
    let w = world();
    for calls in 1..4 {
        let session = w.session();
        step(&w, &w.gpu.stream, 1_000);
        let profile = w.finish(session);
        assert_eq!(profile.diagnostics.calls, 1);
        assert_eq!(totals(), (calls, 1_000 * calls, calls, 11_000 * calls));
        // Between two sessions nothing is measured.
        step(&w, &w.gpu.stream, 1_000);
        w.settle();
        assert_eq!(totals(), (calls, 1_000 * calls, calls, 11_000 * calls));
    }
    let found = scrape();
    let measured = found.one("gpuprof_measured_seconds_total", &[]);
    assert_eq!((measured * 1e9).round() as u64, 3 * 11_000);
}

fn gpu_time_read_after_a_reset_still_counts() {
    let w = world();
    let _session = w.session();
    step(&w, &w.gpu.stream, 1_000);
    for _ in 0..2 {
        gpuprof::reset();
        assert_eq!(totals(), (1, 1_000, 0, 0));
    }
    w.settle();
    // The new window has neither the call nor its time.
    let profile = gpuprof::snapshot();
    assert_eq!(
        profile.diagnostics.calls + profile.diagnostics.timed_calls,
        0
    );
    assert_eq!(totals(), (1, 1_000, 1, 11_000));
    gpuprof::reset();
    assert_eq!(totals(), (1, 1_000, 1, 11_000));
}

fn gpu_time_read_in_the_next_session_still_counts() {
    let w = world();
    let session = w.session();
    step(&w, &w.gpu.stream, 1_000);
    drop(session);
    let _session = w.session();
    assert_eq!(totals(), (1, 1_000, 0, 0));
    w.settle();
    assert_eq!(totals(), (1, 1_000, 1, 11_000));
}

fn errors_of_ended_windows_stay() {
    let w = world();
    let _session = w.session();
    step(&w, &w.gpu.stream, 1_000);
    w.settle();
    let errors = || {
        let found = scrape();
        let errors = found.of("gpuprof_cuda_errors_total", &[("call", "cuEventRecord")]);
        errors.map(|(_, count)| count).sum::<f64>()
    };
    for failures in 1..4 {
        // CUDA_ERROR_OUT_OF_MEMORY.
        w.sim.fail("cuEventRecord", 1, 1, 2);
        step(&w, &w.gpu.stream, 1_000);
        w.settle();
        assert_eq!(errors(), f64::from(failures));
        gpuprof::reset();
        assert_eq!(errors(), f64::from(failures));
    }
}

fn no_counter_goes_down_in_any_of_many_windows() {
    let w = world();
    let _session = w.session();
    let mut random = fastrand::Rng::with_seed(7);
    let mut last: Option<Exposition> = None;
    for _ in 0..200 {
        match random.u32(0..4) {
            0 => gpuprof::reset(),
            1 => w.settle(),
            _ => step(&w, &w.gpu.stream, random.u64(1..50_000)),
        }
        let now = scrape();
        if let Some(last) = &last {
            now.assert_not_below(last);
        }
        last = Some(now);
    }
}
