//! Promise: a function's GPU busy time is the union of its activity intervals, not their sum; the
//! rest of its GPU span is idle.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use promises::timed_streams::{self, SpanMargins};
use promises::{Tolerance, assert_kept};
use support::cupti_world::{Tier, builder, busy, tier, work};
use support::suite::Module;
use support::tests;
use support::{gpu_times, one_in};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        kernels_that_run_beside_each_other_count_once,
        a_span_on_the_wrong_stream_is_named,
        under_sampling_busy_time_is_exact_and_idle_time_an_estimate,
    ]],
)
.with_subscriber_calls();

#[gpu_profile(stream = [a, b])]
fn beside_each_other(t: &Tier, a: &Arc<CudaStream>, b: &Arc<CudaStream>) {
    t.gpu.kernel_on(a, 1_000);
    t.cpu(400);
    t.gpu.kernel_on(b, 1_000);
}

#[gpu_profile]
fn with_pauses(t: &Tier, stream: &Arc<CudaStream>) {
    part(t, stream);
    t.cpu(500);
    part(t, stream);
}

#[gpu_profile]
fn part(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 300);
}

fn kernels_that_run_beside_each_other_count_once() {
    let t = tier();
    let (a, b) = (t.gpu.another_stream(), t.gpu.another_stream());
    let session = t.session();
    beside_each_other(&t, &a, &b);
    t.synchronize();
    beside_each_other(&t, &a, &b);
    let profile = t.finish(session);
    // From the first kernel's start to the second one's end, without a gap.
    assert_eq!(busy(&profile, "beside_each_other"), (2_800, 2, 4, 4));
    let work = work(&profile, "beside_each_other");
    assert_eq!(
        (work.kernels[0].times.total_ns, work.work_streams),
        (4_000, 2)
    );
    assert_eq!(work.kernels[0].streams, 2);
    assert_eq!(gpu_times(&profile, "beside_each_other").1, 2_800);
    assert_eq!(work.idle_ns, Some(0));
}

fn a_span_on_the_wrong_stream_is_named() {
    let t = tier();
    let (a, b) = (t.gpu.another_stream(), t.gpu.another_stream());
    let session = t.session();
    timed_streams::work(&t.gpu, [&a, &b], 20).expect("launches");
    let profile = t.finish_unchecked(session);
    let margins = SpanMargins {
        outside: 0,
        inside: 0,
    };
    let observed = timed_streams::observe(&profile, 20, Tolerance::EXACT, margins);
    assert_kept(Ok(observed));
    // Its idle time is unknown.
    let wrong = promises::function(&profile, "timed on another stream").expect("it ran");
    assert_eq!(wrong.activity.idle_ns, None);
    assert!(
        profile.diagnostics.notes[0].contains("40.000ms"),
        "{:?}",
        profile.diagnostics.notes
    );
}

fn under_sampling_busy_time_is_exact_and_idle_time_an_estimate() {
    let t = tier();
    t.cpu(1_000);
    let session = builder()
        .sampling(one_in(4))
        .start()
        .expect("no other session is open");
    for _ in 0..400 {
        with_pauses(&t, &t.gpu.stream);
        t.synchronize();
    }
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "with_pauses"), (240_000, 400, 800, 800));
    let (_, total, _) = gpu_times(&profile, "with_pauses");
    assert_eq!(work(&profile, "with_pauses").idle_ns, Some(total - 240_000));
}
