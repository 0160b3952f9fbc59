//! Promise: the header of a sample says what it lacks, and has an interval only if the sample tells
//! of the spread of each estimated row.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Session, gpu_profile};
use support::report_text::full_report;
use support::suite::Module;
use support::tests;
use support::{World, function, one_in, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_function_of_which_no_call_was_drawn_is_missing_from_the_header,
        one_that_is_nested_in_a_timed_span_is_not,
        without_an_interval_of_any_row_the_header_has_none,
        beside_an_exact_row_the_header_has_the_interval_of_the_estimated_one,
    ]],
);

const US: u64 = 1_000;

#[gpu_profile]
fn upload(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 2_000 * US);
}

#[gpu_profile]
fn clear(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 16 * US);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn varies(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.gpu.kernel_on(stream, ns);
}

#[gpu_profile(sample = 3)]
fn rarely(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 16 * US);
}

/// Calls that were timed.
fn timed(profile: &Profile, name: &str) -> u64 {
    let gpu = function(profile, name).gpu.as_ref();
    gpu.map_or(0, |gpu| gpu.timed_calls)
}

/// Measures the program with every third call timed until a sample is as wanted.
fn sampled(w: &World, program: impl Fn(), is_wanted: impl Fn(&Profile) -> bool) -> Profile {
    for _ in 0..10_000 {
        let builder = Session::builder().sampling(one_in(3));
        let session = builder.start().expect("start");
        w.cpu(10_000 * US);
        program();
        let profile = w.finish(session);
        if is_wanted(&profile) {
            return profile;
        }
    }
    panic!("no such sample");
}

fn upload_and_clear(w: &World) {
    upload(w, &w.gpu.stream);
    (0..10).for_each(|_| clear(w, &w.gpu.stream));
}

fn a_function_of_which_no_call_was_drawn_is_missing_from_the_header() {
    let w = world();
    let is_wanted =
        |profile: &Profile| timed(profile, "upload") == 0 && timed(profile, "clear") > 4;
    let profile = sampled(&w, || upload_and_clear(&w), is_wanted);
    let busy = profile.gpu_busy[0];
    assert!(busy.is_partial && busy.is_estimated, "{busy:?}");
    assert_eq!(busy.busy_ci95_ns, None);
    let text = full_report(&profile);
    let header = text.lines().nth(1).unwrap_or_default();
    assert!(header.contains("GPU spans ≥ ~"), "{text}");
    assert!(!header.contains('±'), "{text}");
    let lacking = |line: &str| line.starts_with("≥ ") && line.contains("upload 0 of 1 sampled");
    assert!(text.lines().any(lacking), "{text}");
}

fn one_that_is_nested_in_a_timed_span_is_not() {
    let w = world();
    let stream = &w.gpu.stream;
    let program = || around(stream, || rarely(&w, stream));
    let is_wanted =
        |profile: &Profile| timed(profile, "around") == 1 && timed(profile, "rarely") == 0;
    let profile = sampled(&w, program, is_wanted);
    let busy = profile.gpu_busy[0];
    assert_eq!((busy.is_partial, busy.is_estimated), (false, false));
    let text = full_report(&profile);
    assert!(text.contains("GPU spans 16.0 µs ("), "{text}");
}

/// Half the interval of the function's total, ns.
fn half_of(profile: &Profile, name: &str) -> Option<u64> {
    let gpu = function(profile, name).gpu.as_ref()?;
    gpu.estimate.as_ref()?.total_ci95_ns
}

fn without_an_interval_of_any_row_the_header_has_none() {
    let w = world();
    for rarely_calls in [0, 10] {
        let program = || {
            upload_and_clear(&w);
            (0..rarely_calls).for_each(|_| rarely(&w, &w.gpu.stream));
        };
        let is_wanted = |profile: &Profile| {
            timed(profile, "upload") == 1
                && timed(profile, "clear") == 3
                && timed(profile, "rarely") == rarely_calls / 5
        };
        let profile = sampled(&w, program, is_wanted);
        let busy = profile.gpu_busy[0];
        assert_eq!(
            (half_of(&profile, "clear"), busy.busy_ci95_ns),
            (None, None)
        );
        assert!(busy.is_estimated && !busy.is_partial, "{busy:?}");
        let text = full_report(&profile);
        let header = text.lines().nth(1).unwrap_or_default();
        assert!(header.contains("GPU spans ~"), "{text}");
        assert!(!header.contains('±'), "{text}");
    }
}

fn beside_an_exact_row_the_header_has_the_interval_of_the_estimated_one() {
    let w = world();
    let program = || {
        upload(&w, &w.gpu.stream);
        (0..30).for_each(|call| varies(&w, &w.gpu.stream, (10 + call % 3) * US));
    };
    let is_wanted =
        |profile: &Profile| timed(profile, "upload") == 1 && half_of(profile, "varies").is_some();
    let profile = sampled(&w, program, is_wanted);
    let half = half_of(&profile, "varies");
    assert!(half > Some(0), "{half:?}");
    assert_eq!(profile.gpu_busy[0].busy_ci95_ns, half);
}
