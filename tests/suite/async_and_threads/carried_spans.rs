//! Promise: `gpuprof::current()` carries the open span to other threads: calls there are nested in
//! it, with times of their own, and at the root once it has ended. The stream is not carried.

use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{CurrentSpan, Profile, gpu_profile};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use support::executor::{pause, poll};
use support::profile_lookups::local_name;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_on_another_thread_are_nested_in_the_carried_span,
        calls_without_an_open_span_are_told,
        every_item_of_rayon_is_in_the_span_that_spread_them,
        the_stream_is_not_carried,
        a_call_on_another_stream_keeps_its_gpu_time,
        a_span_that_has_ended_is_a_root,
        a_future_is_carried_between_its_polls_and_not_after_its_end,
        futures_of_one_path_do_not_mix,
        a_carried_span_is_carried_on,
        a_thread_with_an_open_span_stays_in_it,
        a_recursion_over_threads_has_all_its_time,
        outside_every_span_nothing_is_carried,
        a_panic_ends_what_was_carried,
    ]],
);

#[gpu_profile(cpu)]
fn outer(w: &World, inside: impl FnOnce()) {
    w.cpu(10);
    inside();
    w.cpu(1);
}

#[gpu_profile(cpu)]
fn item(w: &World) {
    w.cpu(100);
}

/// Runs `f` on a thread of its own, to its end.
fn on_a_thread(f: impl FnOnce() + Send) {
    thread::scope(|scope| scope.spawn(f).join()).expect("it ends");
}

/// The paths of the call tree by name, with their calls, sorted.
fn paths(profile: &Profile) -> Vec<(String, u64)> {
    let path = |id: u32| {
        let mut names = Vec::new();
        let mut next = Some(id);
        while let Some(node) = next.and_then(|id| profile.tree.iter().find(|node| node.id == id)) {
            names.insert(0, local_name(&node.name));
            next = node.parent;
        }
        names.join(" ")
    };
    let nodes = profile.tree.iter();
    let mut paths: Vec<_> = nodes.map(|node| (path(node.id), node.calls)).collect();
    paths.sort();
    paths
}

#[track_caller]
fn assert_paths(profile: &Profile, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, calls)| ((*path).to_owned(), *calls))
        .collect();
    assert_eq!(paths(profile), expected);
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn calls_on_another_thread_are_nested_in_the_carried_span() {
    let w = world();
    let session = w.session();
    outer(&w, || {
        let span = gpuprof::current();
        on_a_thread(|| {
            span.run(|| {
                item(&w);
                item(&w);
            });
            item(&w);
        });
    });
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 1), ("outer", 1), ("outer item", 2)]);
    // The thread of `outer` waited meanwhile, so no time of the other one is subtracted.
    assert_eq!(cpu_times(&profile, "outer"), (1, 311, 311));
    assert_eq!(cpu_times(&profile, "item"), (3, 300, 300));
    assert_eq!(node(&profile, &["outer", "item"]).cpu_total_ns, 200);
    assert_eq!(function(&profile, "item").threads, 1);
}

fn calls_without_an_open_span_are_told() {
    let w = world();
    let session = w.session();
    on_a_thread(|| item(&w));
    // Nothing could have been around them.
    let line = |profile: &Profile| {
        let text = profile.to_string();
        let begin = "began on threads without an open span:";
        let line = text.split_once(begin).map(|(_, rest)| rest.to_owned());
        line.and_then(|rest| Some(rest.split_once('.')?.0.trim().to_owned()))
    };
    assert_eq!(line(&gpuprof::snapshot()), None);
    outer(&w, || {
        let span = gpuprof::current();
        on_a_thread(|| {
            item(&w);
            span.run(|| item(&w));
            outer(&w, || item(&w));
        });
        item(&w);
    });
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 2), ("outer", 2), ("outer item", 3)]);
    let unnested = |name| function(&profile, name).unnested_calls;
    assert_eq!((unnested("item"), unnested("outer")), (2, 1));
    let names = ["item", "outer"].map(|name| function(&profile, name).name.clone());
    let told = format!("{} (2 calls), {} (1 call)", names[0], names[1]);
    let shown = line(&profile).expect("a line");
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>().join(" "), told);
}

fn every_item_of_rayon_is_in_the_span_that_spread_them() {
    const ITEMS: u32 = 64;
    let w = world();
    let pool = ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.expect("threads are to be had");
    let session = w.session();
    outer(&w, || {
        let span = gpuprof::current();
        pool.install(|| {
            let items = (0..ITEMS).into_par_iter().with_max_len(1);
            items.for_each(|_| span.run(|| item(&w)));
        });
        pool.scope(|scope| scope.spawn(|_| item(&w)));
    });
    let profile = w.finish(session);
    assert_paths(
        &profile,
        &[("item", 1), ("outer", 1), ("outer item", ITEMS.into())],
    );
}

#[gpu_profile]
fn fan(w: &World, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.gpu.kernel_on(stream, 1_000);
    inside();
}

#[gpu_profile]
fn without_stream(w: &World) {
    w.cpu(7);
}

#[gpu_profile]
fn with_stream(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 500);
}

fn the_stream_is_not_carried() {
    let w = world();
    let other = w.gpu.another_stream();
    let session = w.session();
    fan(&w, &w.gpu.stream, || {
        let span = gpuprof::current();
        on_a_thread(|| {
            span.run(|| without_stream(&w));
            span.run(|| gpuprof::with_stream(&other, || without_stream(&w)));
        });
    });
    let profile = w.finish(session);
    assert_paths(&profile, &[("fan", 1), ("fan without_stream", 2)]);
    let function = function(&profile, "without_stream");
    assert_eq!((function.calls, function.untimed.no_stream), (2, 1));
}

fn a_call_on_another_stream_keeps_its_gpu_time() {
    let w = world();
    let other = w.gpu.another_stream();
    w.warm_up(|| fan(&w, &w.gpu.stream, || with_stream(&w, &other)));
    let session = w.session();
    outer(&w, || {
        fan(&w, &w.gpu.stream, || {
            let span = gpuprof::current();
            on_a_thread(|| span.run(|| with_stream(&w, &other)));
        });
    });
    let profile = w.finish(session);
    assert_paths(
        &profile,
        &[("outer", 1), ("outer fan", 1), ("outer fan with_stream", 1)],
    );
    assert_eq!(gpu_times(&profile, "with_stream"), (1, 500, 500));
    assert_eq!(gpu_times(&profile, "fan"), (1, 1_000, 1_000));
    // Of all that is below it.
    assert_eq!(function(&profile, "outer").gpu_nested_ns, 1_500);
}

fn a_span_that_has_ended_is_a_root() {
    let w = world();
    let session = w.session();
    let carried = Cell::new(None);
    outer(&w, || carried.set(Some(gpuprof::current())));
    let span = carried.take().expect("it ran");
    // Another call of the same function is not the one that was carried.
    w.cpu(1);
    outer(&w, || on_a_thread(|| span.run(|| item(&w))));
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 1), ("outer", 2)]);
}

#[gpu_profile(cpu)]
async fn waits(carry: impl Fn(CurrentSpan)) {
    carry(gpuprof::current());
    pause().await;
    carry(gpuprof::current());
    pause().await;
}

fn a_future_is_carried_between_its_polls_and_not_after_its_end() {
    let w = world();
    let session = w.session();
    let carried = Cell::new(None);
    {
        let mut future = pin!(waits(|span| carried.set(Some(span))));
        for _ in 0..2 {
            assert!(poll(future.as_mut()).is_pending());
            let span = carried.take().expect("it ran");
            on_a_thread(|| span.run(|| item(&w)));
            carried.set(Some(span));
        }
        assert!(poll(future.as_mut()).is_ready());
    }
    let span = carried.take().expect("it ran");
    on_a_thread(|| span.run(|| item(&w)));
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 1), ("waits", 1), ("waits item", 2)]);
}

fn futures_of_one_path_do_not_mix() {
    let w = world();
    let session = w.session();
    let [first, second] = [const { Cell::new(None) }; 2];
    {
        let mut lasting = pin!(waits(|span| first.set(Some(span))));
        assert!(poll(lasting.as_mut()).is_pending());
        let mut ending = Box::pin(waits(|span| second.set(Some(span))));
        assert!(poll(ending.as_mut()).is_pending());
        drop(ending);
        let spans = [first.take(), second.take()].map(|span| span.expect("it ran"));
        on_a_thread(|| spans.iter().for_each(|span| span.run(|| item(&w))));
        assert!(poll(lasting.as_mut()).is_pending());
        assert!(poll(lasting.as_mut()).is_ready());
    }
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 1), ("waits", 2), ("waits item", 1)]);
}

fn a_carried_span_is_carried_on() {
    let w = world();
    let session = w.session();
    outer(&w, || {
        let span = gpuprof::current();
        on_a_thread(|| {
            span.run(|| {
                // Of what is carried, and of a span in it.
                let spans = [Some(gpuprof::current()), None];
                let [first, second] = spans.map(Cell::new);
                outer(&w, || second.set(Some(gpuprof::current())));
                for span in [first, second].map(|span| span.take().expect("it ran")) {
                    on_a_thread(|| span.run(|| item(&w)));
                    span.run(|| item(&w));
                }
            });
        });
    });
    let profile = w.finish(session);
    // The second one has ended: the other thread has it at the root, and this one where it is.
    assert_paths(
        &profile,
        &[
            ("item", 1),
            ("outer", 1),
            ("outer item", 3),
            ("outer outer", 1),
        ],
    );
}

fn a_thread_with_an_open_span_stays_in_it() {
    let w = world();
    let session = w.session();
    outer(&w, || {
        let span = gpuprof::current();
        on_a_thread(|| fan(&w, &w.gpu.stream, || span.run(|| item(&w))));
        span.run(|| item(&w));
    });
    let profile = w.finish(session);
    assert_paths(
        &profile,
        &[("fan", 1), ("fan item", 1), ("outer", 1), ("outer item", 1)],
    );
    // The time of the nested call is subtracted where it ran.
    assert_eq!(cpu_times(&profile, "fan"), (1, 100, 0));
    assert_eq!(cpu_times(&profile, "outer"), (1, 211, 111));
}

/// Halves its range, each half on a thread of its own.
#[gpu_profile(cpu)]
fn halves(w: &World, len: u64) {
    w.cpu(1);
    if len > 1 {
        let span = gpuprof::current();
        on_a_thread(|| span.run(|| halves(w, len / 2)));
        on_a_thread(|| span.run(|| halves(w, len - len / 2)));
    }
}

fn a_recursion_over_threads_has_all_its_time() {
    let w = world();
    let session = w.session();
    halves(&w, 4);
    let profile = w.finish(session);
    assert_paths(
        &profile,
        &[
            ("halves", 1),
            ("halves halves", 2),
            ("halves halves halves", 4),
        ],
    );
    // Each waits for its halves; on every thread the whole time is the call's own.
    assert_eq!(cpu_times(&profile, "halves"), (7, 17, 17));
}

fn outside_every_span_nothing_is_carried() {
    let w = world();
    let session = w.session();
    let span = gpuprof::current();
    on_a_thread(|| span.run(|| item(&w)));
    outer(&w, || span.run(|| item(&w)));
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 1), ("outer", 1), ("outer item", 1)]);
}

fn a_panic_ends_what_was_carried() {
    let w = world();
    let session = w.session();
    outer(&w, || {
        let span = gpuprof::current();
        on_a_thread(|| {
            let inside = std::panic::AssertUnwindSafe(|| span.run(|| panic!("as it is told")));
            assert!(std::panic::catch_unwind(inside).is_err());
            item(&w);
        });
    });
    let profile = w.finish(session);
    assert_paths(&profile, &[("item", 1), ("outer", 1)]);
}
