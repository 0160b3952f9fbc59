//! Promise: if hardware counters are not sampled, or no longer, one line says why and what to do,
//! and everything else is the same.

use gpuprof::profile::Metric;
use gpuprof::{CuptiMode, Profile, Sampling, Session};
use support::cupti_world::{Tier, work};
use support::sampled_world::{
    KERNEL_NS, assert_mean, begin, first, note, sampled_world, second, session, values,
};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        no_permission_is_one_line_with_the_fix,
        an_old_libcupti_is_one_line_with_the_fix,
        a_libcupti_without_its_host_library_is_one_line,
        sampling_that_fails_later_keeps_what_was_measured,
        a_device_that_cannot_be_started_again_is_stopped_once,
        samples_that_come_too_fast_at_any_interval_are_one_line,
        where_cupti_is_off_one_line_says_what_is_missing,
        counters_alone_switch_cupti_on,
        nobody_who_does_not_ask_is_sampled,
    ]],
);

/// The profile of a program whose device is not sampled, but everything else is recorded.
fn refused(t: &Tier) -> Profile {
    let session = session(t);
    begin(t);
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    assert!(profile.counters.is_empty());
    assert_eq!(work(&profile, "first").counters, None);
    assert_eq!(work(&profile, "first").busy_ns, Some(KERNEL_NS + 1_000));
    profile
}

fn no_permission_is_one_line_with_the_fix() {
    let t = sampled_world();
    // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES.
    t.cupti.fail("cuptiPmSamplingEnable", 1, u64::MAX, 35);
    let profile = refused(&t);
    let note = note(&profile);
    assert!(
        note.starts_with("hardware counters are not sampled (GPUPROF_COUNTERS)"),
        "{note}"
    );
    assert!(
        note.contains("https://developer.nvidia.com/ERR_NVGPUCTRPERM"),
        "{note}"
    );
    assert!(
        note.contains("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
        "{note}"
    );
}

fn an_old_libcupti_is_one_line_with_the_fix() {
    let t = sampled_world();
    t.cupti
        .set_version_reporting(simcupti::Version::Cuda12_0, 23);
    let profile = refused(&t);
    assert!(note(&profile).contains("has version 23, and sampling needs that of CUDA 12.6"));
}

fn a_libcupti_without_its_host_library_is_one_line() {
    let t = sampled_world();
    t.cupti.fail("cuptiProfilerHostInitialize", 1, u64::MAX, 15);
    let profile = refused(&t);
    assert!(
        note(&profile).contains("libnvperf_host.so"),
        "{}",
        note(&profile)
    );
}

fn sampling_that_fails_later_keeps_what_was_measured() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    first(&t.gpu, KERNEL_NS);
    t.synchronize();
    let _ = gpuprof::collect();
    t.cupti.fail("cuptiPmSamplingDecodeData", 1, 1, 999);
    second(&t.gpu, 2 * KERNEL_NS);
    let profile = t.finish(session);
    let note = note(&profile);
    assert!(
        note.starts_with("sampling of hardware counters stopped after 0."),
        "{note}"
    );
    assert!(note.contains("cuptiPmSamplingDecodeData returned 999"));
    assert_mean(values(&profile, "first"), Metric::DramRead, 3e9);
    assert_eq!(work(&profile, "second").busy_ns, Some(2 * KERNEL_NS));
    assert_eq!(t.cupti.calls("cuptiPmSamplingDisable"), 1);
}

fn a_device_that_cannot_be_started_again_is_stopped_once() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    let _ = gpuprof::collect();
    t.cupti.fail("cuptiPmSamplingEnable", 1, u64::MAX, 999);
    t.cupti.fail("cuptiPmSamplingDecodeData", 1, 1, 8);
    let profile = t.finish(session);
    assert!(
        note(&profile).contains("cuptiPmSamplingEnable returned 999"),
        "{}",
        note(&profile)
    );
    assert_eq!(t.cupti.calls("cuptiPmSamplingDisable"), 1);
}

fn samples_that_come_too_fast_at_any_interval_are_one_line() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    t.cupti.fail("cuptiPmSamplingDecodeData", 1, u64::MAX, 8);
    // From 100 µs to 5 ms.
    for _ in 0..8 {
        let _ = gpuprof::collect();
    }
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    assert!(
        note(&profile).contains("even at 5 ms"),
        "{}",
        note(&profile)
    );
    assert_eq!(profile.counters[0].overflows, 6);
    assert_eq!(work(&profile, "first").busy_ns, Some(KERNEL_NS + 1_000));
}

fn where_cupti_is_off_one_line_says_what_is_missing() {
    let t = sampled_world();
    let builder = Session::builder().sampling(Sampling::EveryCall);
    let session = builder
        .cupti(CuptiMode::Off)
        .counters(true)
        .start()
        .expect("no other session is open");
    begin(&t);
    let profile = session.finish();
    assert!(
        note(&profile).contains("GPUPROF_CUPTI is off"),
        "{}",
        note(&profile)
    );
}

fn counters_alone_switch_cupti_on() {
    let t = sampled_world();
    let builder = Session::builder().sampling(Sampling::EveryCall);
    let session = builder.counters(true).start().expect("no other session");
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    assert!(profile.cupti.is_some());
    assert!(work(&profile, "first").counters.is_some());
}

fn nobody_who_does_not_ask_is_sampled() {
    let t = sampled_world();
    let session = t.session();
    begin(&t);
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    assert!(profile.counters.is_empty());
    assert_eq!(work(&profile, "first").counters, None);
    let calls = t.cupti.calls_by_symbol();
    let is_sampling = |name: &str| name.contains("Pm") || name.contains("Profiler");
    assert!(
        !calls.iter().any(|(name, _)| is_sampling(name)),
        "{calls:?}"
    );
}
