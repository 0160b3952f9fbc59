//! Promise: if stalls are not sampled, or no longer, one line says why and what to do, and
//! everything else is the same.

use std::time::{Duration, Instant};

use gpuprof::{CuptiMode, Sampling, Session};
use simcupti::StallModel;
use support::cupti_world::{Tier, builder, tier};
use support::sampled_world::{note, with_counters};
use support::suite::Module;
use support::{tests, until};

use crate::stalls::{Kernel, begin, launches, load, only_kernel, samples, session, stalls};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        after_a_full_buffer_samples_are_taken_less_often,
        no_permission_is_one_line_with_the_fix,
        a_libcupti_without_the_functions_is_one_line,
        a_short_run_with_counters_has_no_stalls_and_says_so,
        a_long_run_with_counters_has_stalls_after_them,
        a_read_that_fails_keeps_what_was_sampled,
        where_cupti_is_off_one_line_says_what_is_missing,
        nobody_who_does_not_ask_is_sampled,
    ]],
);

fn after_a_full_buffer_samples_are_taken_less_often() {
    let t = tier();
    let session = session(&t);
    let kernel = load(&t);
    begin(&t, &kernel);
    let model = StallModel {
        offset: 0,
        reason: "wait",
        samples: 64,
        not_issued: true,
    };
    t.cupti.set_stalls(kernels::SAXPY, &[model]);
    let mut samples = 0;
    for (starts, of_launch) in [(2, 8), (3, 1)] {
        t.cupti.fill_hardware_buffer();
        until(|| t.cupti.calls("cuptiPCSamplingStart") == starts);
        launches(&t, &kernel, 2);
        t.synchronize();
        samples += 2 * of_launch;
        until(|| {
            let stalls = session.snapshot().stalls;
            stalls.is_some_and(|stalls| stalls.samples == samples)
        });
    }
    let profile = t.finish(session);
    assert_eq!(stalls(&profile).period_cycles, 1 << 18);
    let notes = [
        "a device had no room for more samples of stalls 2x, and lost those since they were last \
         read",
        "stalls are sampled each 262144 cycles, because a device had no room for more samples",
    ];
    assert_eq!(profile.diagnostics.notes, notes);
}

fn no_permission_is_one_line_with_the_fix() {
    let t = tier();
    // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES.
    t.cupti.fail("cuptiPCSamplingEnable", 1, u64::MAX, 35);
    let session = session(&t);
    let kernel = load(&t);
    launches(&t, &kernel, 1);
    until(|| t.cupti.calls("cuptiPCSamplingEnable") > 0);
    until(|| !session.snapshot().diagnostics.notes.is_empty());
    let profile = t.finish(session);
    assert_eq!(profile.stalls, None);
    let note = note(&profile);
    assert!(
        note.starts_with("stalls are not sampled (GPUPROF_STALLS)"),
        "{note}"
    );
    assert!(
        note.contains("https://developer.nvidia.com/ERR_NVGPUCTRPERM"),
        "{note}"
    );
    assert_eq!(profile.kernels[0].times.calls, 1);
}

fn a_libcupti_without_the_functions_is_one_line() {
    let w = support::world();
    let options = simcupti::Options {
        hide: vec!["cuptiPCSamplingGetData".to_owned()],
        ..simcupti::Options::default()
    };
    let cupti = simcupti::install_with(&options).expect("the simulated libcupti is built");
    let t = Tier { w, cupti };
    let session = session(&t);
    let kernel = load(&t);
    launches(&t, &kernel, 1);
    until(|| !session.snapshot().diagnostics.notes.is_empty());
    let profile = t.finish(session);
    assert_eq!(profile.stalls, None);
    assert!(
        note(&profile).contains("has no PC sampling"),
        "{}",
        note(&profile)
    );
}

fn with_both() -> (Tier, Session, Kernel) {
    let t = with_counters(tier());
    t.cpu(1_000);
    let both = builder().stalls(true).counters(true);
    let session = both.start().expect("no other session is open");
    let kernel = load(&t);
    launches(&t, &kernel, 1);
    t.synchronize();
    (t, session, kernel)
}

fn a_short_run_with_counters_has_no_stalls_and_says_so() {
    let (t, session, _) = with_both();
    let profile = t.finish(session);
    assert_eq!(t.cupti.calls("cuptiPCSamplingEnable"), 0);
    assert_eq!(profile.stalls, None);
    assert_eq!(profile.counters.len(), 1);
    assert!(
        note(&profile).contains("the first 5 s are for counters"),
        "{}",
        note(&profile)
    );
}

fn a_long_run_with_counters_has_stalls_after_them() {
    let (t, session, kernel) = with_both();
    let began = Instant::now();
    until(|| t.cupti.calls("cuptiPCSamplingGetData") > 0);
    assert!(
        began.elapsed() > Duration::from_millis(4_500),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(t.cupti.calls("cuptiPmSamplingDisable"), 1);
    t.cupti.set_stalls(kernels::SAXPY, &samples());
    launches(&t, &kernel, 2);
    let profile = t.finish(session);
    assert_eq!(only_kernel(&profile).samples, 90);
    assert_eq!(profile.counters.len(), 1);
    let note = note(&profile);
    assert!(note.contains("the rest of the run is for stalls"), "{note}");
}

fn a_read_that_fails_keeps_what_was_sampled() {
    let t = tier();
    let session = session(&t);
    let kernel = load(&t);
    begin(&t, &kernel);
    launches(&t, &kernel, 2);
    t.synchronize();
    let samples = || session.snapshot().stalls.map_or(0, |stalls| stalls.samples);
    until(|| samples() == 90);
    // CUPTI_ERROR_UNKNOWN.
    t.cupti.fail("cuptiPCSamplingGetData", 1, 1, 999);
    until(|| t.cupti.calls("cuptiPCSamplingDisable") > 0);
    launches(&t, &kernel, 2);
    let profile = t.finish(session);
    assert_eq!(only_kernel(&profile).samples, 90);
    let note = note(&profile);
    assert!(note.contains("no longer sampled in a context"), "{note}");
}

fn where_cupti_is_off_one_line_says_what_is_missing() {
    let t = tier();
    let settings = Session::builder()
        .cupti(CuptiMode::Off)
        .stalls(true)
        .sampling(Sampling::EveryCall);
    let session = settings.start().expect("no other session is open");
    let kernel = load(&t);
    launches(&t, &kernel, 1);
    let profile = t.w.finish(session);
    assert_eq!(profile.stalls, None);
    assert!(
        note(&profile).contains("GPUPROF_CUPTI is off"),
        "{}",
        note(&profile)
    );
}

fn nobody_who_does_not_ask_is_sampled() {
    let t = tier();
    let session = t.session();
    let kernel = load(&t);
    launches(&t, &kernel, 3);
    let profile = t.finish(session);
    assert_eq!((profile.stalls, profile.double_lines), (None, Vec::new()));
    for call in [
        "cuptiPCSamplingEnable",
        "cuptiPCSamplingGetData",
        "cuptiGetCubinCrc",
    ] {
        assert_eq!(t.cupti.calls(call), 0, "{call}");
    }
}
