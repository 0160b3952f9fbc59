//! Promise: what CUPTI records is in the metrics: busy time by kernels, failed calls, memory and
//! findings, of all sessions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::gpu_profile;
use gpuprof::metrics::prometheus_text;
use support::cupti_world::{Tier, builder, tier};
use support::suite::Module;
use support::tests;

use crate::exposition::Exposition;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        busy_time_is_that_of_the_kernels_of_all_windows,
        failed_calls_stay_in_a_session_without_records,
        memory_has_what_is_live_and_the_peak,
        a_finding_has_a_series_while_it_holds,
    ]],
);

#[gpu_profile]
fn step(t: &Tier, stream: &Arc<CudaStream>, host_ns: u64, kernel_ns: u64) {
    t.cpu(host_ns);
    t.gpu.kernel_on(stream, kernel_ns);
}

#[gpu_profile]
fn alloc(stream: &Arc<CudaStream>, bytes: usize) -> CudaSlice<u8> {
    // SAFETY: nothing reads the memory.
    unsafe { stream.alloc::<u8>(bytes) }.expect("an allocation")
}

fn scrape() -> Exposition {
    Exposition::read(&prometheus_text())
}

fn busy_time_is_that_of_the_kernels_of_all_windows() {
    let t = tier();
    let busy_ns = || {
        let busy = scrape().one("gpuprof_gpu_busy_seconds_total", &[("device", "0")]);
        (busy * 1e9).round() as u64
    };
    let session = t.session();
    step(&t, &t.gpu.stream, 1_000, 10_000);
    t.settle();
    // The GPU span is 11,000 ns.
    assert_eq!(busy_ns(), 10_000);
    gpuprof::reset();
    assert_eq!(busy_ns(), 10_000);
    step(&t, &t.gpu.stream, 1_000, 5_000);
    t.settle();
    assert_eq!(busy_ns(), 15_000);
    let _ = t.finish(session);
    assert_eq!(busy_ns(), 15_000);
}

fn failed_calls_stay_in_a_session_without_records() {
    let t = tier();
    let failed = || scrape().one("gpuprof_api_errors_total", &[("call", "cuLaunchKernel")]);
    for failures in 1..3 {
        let session = t.session();
        // CUDA_ERROR_INVALID_VALUE.
        t.sim.fail("cuLaunchKernel", 1, 1, 1);
        let call = || step(&t, &t.gpu.stream, 1_000, 1_000);
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        t.settle();
        assert_eq!(failed(), f64::from(failures));
        let _ = t.finish(session);
        assert_eq!(failed(), f64::from(failures));
        let session = t.w.session();
        step(&t, &t.gpu.stream, 1_000, 1_000);
        t.settle();
        assert_eq!(failed(), f64::from(failures));
        let _ = t.w.finish(session);
    }
}

fn memory_has_what_is_live_and_the_peak() {
    let t = tier();
    t.cpu(1_000);
    let session = builder().memory(true).start().expect("the only one");
    let kept = alloc(&t.gpu.stream, 1_000);
    drop(alloc(&t.gpu.stream, 300));
    t.settle();
    let device = [("kind", "device"), ("device", "0")];
    let memory = |name: &str| scrape().one(&format!("gpuprof_memory_{name}_bytes"), &device);
    assert_eq!((memory("live"), memory("peak")), (1_000.0, 1_300.0));
    drop(kept);
    t.settle();
    assert_eq!((memory("live"), memory("peak")), (0.0, 1_300.0));
    let _ = t.finish(session);
}

fn a_finding_has_a_series_while_it_holds() {
    let t = tier();
    let session = t.session();
    for _ in 0..100 {
        step(&t, &t.gpu.stream, 50_000, 10_000);
        t.synchronize();
    }
    t.settle();
    assert_eq!(
        rules_as_reported(),
        ["host-bound", "synchronization", "underused-gpu"]
    );
    // From now on the device is hardly idle.
    step(&t, &t.gpu.stream, 0, 10_000_000_000);
    t.settle();
    assert_eq!(rules_as_reported(), ["underused-gpu"]);
    let _ = t.finish(session);
}

/// The rules of the report so far, whose findings are those of the metrics.
fn rules_as_reported() -> Vec<&'static str> {
    let (name, found) = ("gpuprof_finding_gain_seconds", scrape());
    let findings = gpuprof::snapshot().findings;
    assert_eq!(found.of(name, &[]).count(), findings.len());
    for finding in &findings {
        let mut labels = vec![("rule", finding.rule.as_str())];
        labels.extend((finding.function.as_deref()).map(|function| ("function", function)));
        let gain = found.one(name, &labels);
        assert_eq!((gain * 1e9).round() as u64, finding.gain_ns);
    }
    findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect()
}
