//! Promise: what may have had the time of an untimed call on its stream is marked, and only that.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cudarc::driver::CudaStream;
use gpuprof::{Session, gpu_profile};
use support::executor::{join, pause, run};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, on_two_threads, until, world};

use crate::automatic_rate::{session, settle, with_event_overhead};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_call_beside_an_untimed_one_is_marked,
        a_call_beside_one_that_automatic_sampling_leaves_out_is_marked,
        a_call_beside_an_untimed_one_is_marked_if_that_thread_began_with_a_default_stream,
        a_call_after_an_untimed_one_is_not_marked,
        a_call_before_which_others_on_the_new_thread_were_untimed_is_not_marked,
        a_call_beside_an_untimed_one_on_another_stream_is_not_marked,
        a_call_around_an_untimed_one_is_not_marked,
        a_future_beside_an_untimed_one_is_marked,
        a_future_around_an_untimed_one_is_not_marked,
    ]],
);

const MS: u64 = 1_000_000;

#[gpu_profile]
fn timed(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
fn tiny(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile]
async fn request(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    pause().await;
    w.gpu.kernel_on(stream, ns);
    pause().await;
}

/// Practically never timed.
#[gpu_profile(sample = 1_000_000_000)]
async fn untimed_request(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    pause().await;
    w.gpu.kernel_on(stream, ns);
    pause().await;
}

#[gpu_profile]
async fn handler(w: &World, stream: &Arc<CudaStream>) {
    untimed_request(w, stream, MS).await;
    pause().await;
    w.gpu.kernel_on(stream, MS);
}

/// Practically never timed.
#[gpu_profile(sample = 1_000_000_000)]
fn untimed(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

/// Launches a kernel while the other thread is where it meets this one twice.
fn kernel_between(w: &World, stream: &Arc<CudaStream>, meet: &dyn Fn()) {
    meet();
    w.gpu.kernel_on(stream, 10 * MS);
    meet();
}

/// Waits until so many calls have their time.
fn wait_for(session: &Session, calls: u64) {
    until(|| session.snapshot().diagnostics.timed_calls == calls);
}

fn a_call_beside_an_untimed_one_is_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            timed(s, || kernel_between(&w, s, meet));
        },
        |meet| {
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
            untimed(s, || kernel_between(&w, s, meet));
        },
    );
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 1);
    assert!(function(&profile, "timed").gpu_overlaps);
    assert_eq!(gpu(&profile, "timed").times.self_ns, 20 * MS);
    assert!(profile.to_string().contains("≤20.0"), "{profile}");
}

fn a_call_beside_one_that_automatic_sampling_leaves_out_is_marked() {
    let w = with_event_overhead();
    let s = &w.gpu.stream;
    // Until the call is left out: one in hundreds is timed.
    let profile = loop {
        let session = session();
        let left_out = || function(&session.snapshot(), "tiny").untimed.sampled_out;
        let before = AtomicU64::new(0);
        on_two_threads(
            |meet| {
                meet();
                timed(s, || kernel_between(&w, s, meet));
            },
            |meet| {
                // All of a thread's first calls are timed.
                (0..4_000).for_each(|_| tiny(s, || w.gpu.kernel_on(s, 1_000)));
                settle(&w, &session);
                before.store(left_out(), Relaxed);
                meet();
                tiny(s, || kernel_between(&w, s, meet));
            },
        );
        let is_left_out = left_out() > before.into_inner();
        let profile = w.finish(session);
        if is_left_out {
            break profile;
        }
    };
    assert!(function(&profile, "timed").gpu_overlaps);
    assert_eq!(gpu(&profile, "timed").times.self_ns, 20 * MS);
}

fn a_call_beside_an_untimed_one_is_marked_if_that_thread_began_with_a_default_stream() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            timed(s, || kernel_between(&w, s, meet));
        },
        |meet| {
            gpuprof::with_stream(s, || {
                around(s, || w.gpu.kernel_on(s, MS));
                meet();
                untimed(s, || kernel_between(&w, s, meet));
            });
        },
    );
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 1);
    assert!(function(&profile, "timed").gpu_overlaps);
    assert_eq!(gpu(&profile, "timed").times.self_ns, 20 * MS);
}

fn a_call_after_an_untimed_one_is_not_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            w.gpu.context.synchronize().expect("synchronize");
            wait_for(&session, 1);
            // gpuprof may see the end of the untimed call a moment after that of the timed one.
            around(s, || w.gpu.kernel_on(s, MS));
            w.gpu.context.synchronize().expect("synchronize");
            wait_for(&session, 2);
            timed(s, || w.gpu.kernel_on(s, 10 * MS));
            w.gpu.context.synchronize().expect("synchronize");
            wait_for(&session, 3);
            meet();
        },
        |meet| {
            untimed(s, || w.gpu.kernel_on(s, MS));
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
            meet();
            untimed(s, || w.gpu.kernel_on(s, MS));
        },
    );
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 2);
    assert!(!function(&profile, "timed").gpu_overlaps);
    assert_eq!(gpu(&profile, "timed").times.self_ns, 10 * MS);
}

fn a_call_before_which_others_on_the_new_thread_were_untimed_is_not_marked() {
    let w = world();
    let (s, other) = (&w.gpu.stream, &w.gpu.another_stream());
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            timed(s, || {
                meet();
                w.gpu.kernel_on(s, 10 * MS);
                meet();
                meet();
            });
        },
        |meet| {
            untimed(other, || w.gpu.kernel_on(other, MS));
            meet();
            meet();
            meet();
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
        },
    );
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 1);
    assert!(!function(&profile, "timed").gpu_overlaps);
    // 10 ms alone and half of the other thread's.
    assert_eq!(gpu(&profile, "timed").times.self_ns, 10 * MS + MS / 2);
}

fn a_call_beside_an_untimed_one_on_another_stream_is_not_marked() {
    let w = world();
    let (s, other) = (&w.gpu.stream, &w.gpu.another_stream());
    let session = w.session();
    on_two_threads(
        |meet| {
            meet();
            timed(s, || kernel_between(&w, s, meet));
        },
        |meet| {
            around(other, || w.gpu.kernel_on(other, MS));
            meet();
            untimed(other, || kernel_between(&w, other, meet));
        },
    );
    let profile = w.finish(session);
    assert!(!function(&profile, "timed").gpu_overlaps);
}

fn a_call_around_an_untimed_one_is_not_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    // Another thread has used the stream before.
    on_two_threads(
        |meet| meet(),
        |meet| {
            around(s, || w.gpu.kernel_on(s, MS));
            meet();
        },
    );
    for _ in 0..10 {
        timed(s, || untimed(s, || w.gpu.kernel_on(s, MS)));
    }
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed").untimed.sampled_out, 10);
    assert!(!function(&profile, "timed").gpu_overlaps);
}

fn a_future_beside_an_untimed_one_is_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    let both: [Pin<Box<dyn Future<Output = ()> + '_>>; 2] = [
        Box::pin(request(&w, s, MS)),
        Box::pin(untimed_request(&w, s, MS)),
    ];
    let both = join(both.into());
    run(&w, both, 0);
    let profile = w.finish(session);
    assert!(function(&profile, "request").gpu_overlaps);
    assert_eq!(gpu(&profile, "request").times.self_ns, 2 * MS);
}

fn a_future_around_an_untimed_one_is_not_marked() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    run(&w, handler(&w, s), 0);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "untimed_request").untimed.sampled_out, 1);
    assert!(!function(&profile, "handler").gpu_overlaps);
    assert_eq!(gpu(&profile, "handler").times.total_ns, 2 * MS);
}
