//! Promise: time that spans share on a stream is divided and marked, and GPU time that may be the
//! host's is marked; with CUPTI it is known whether it is. Other rows have no such mark.

use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile, set_default_stream};
use support::cupti_world::{busy, tier};
use support::executor::{pause, poll};
use support::profile_lookups::local_name;
use support::report_text::{cells, full_report, row_name};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu_times, node, world};

use model::{forward, with_own_stream};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_host_function_on_an_idle_stream_is_marked,
        a_host_function_on_a_busy_stream_is_marked,
        a_host_function_on_the_default_stream_is_marked,
        a_function_that_launches_in_most_calls_is_not_marked,
        a_function_around_work_is_not_marked,
        a_function_with_a_stream_of_its_own_is_not_marked,
        records_say_what_launched_nothing,
        records_say_it_also_where_times_do_not,
        tasks_that_share_a_stream_are_marked_and_add_up_to_its_time,
        the_shares_of_nested_calls_add_up_too,
        tasks_in_turn_have_no_mark,
    ]],
);

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

#[gpu_profile]
mod model {
    use super::*;

    pub(super) fn forward(w: &World, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
        let _ = (w, stream);
        inside();
    }

    pub(super) fn tokenize(w: &World) {
        w.cpu(60 * US);
        log(w, 34 * US);
    }

    pub(super) fn log(w: &World, ns: u64) {
        w.cpu(ns);
    }

    pub(super) fn layer(w: &World, kernel_ns: u64) {
        w.cpu(5 * US);
        if kernel_ns > 0 {
            w.gpu.kernel(kernel_ns);
        }
    }

    /// Its time is what the host takes between launches.
    pub(super) fn layers(w: &World) {
        for _ in 0..10 {
            w.cpu(100 * US);
            layer(w, 20 * US);
        }
        w.cpu(15 * US);
    }

    pub(super) fn wait(others: impl FnOnce()) {
        others();
    }

    pub(super) fn with_own_stream(w: &World, stream: &Arc<CudaStream>) {
        let _ = stream;
        w.cpu(94 * US);
    }
}

/// The marks before the rows of the table that have one, and the names of the rows.
fn row_marks(profile: &Profile) -> Vec<(String, String)> {
    let text = profile.to_string();
    let table = text.split("GPU-timed").next().unwrap_or_default();
    let marked = table.lines().filter_map(|line| {
        let (mark, row) = line.split_at_checked(line.chars().next()?.len_utf8())?;
        let name = row_name(row.strip_prefix(' ')?);
        let is_mark = ["∅", "?", "!"].contains(&mark);
        is_mark.then(|| (mark.to_owned(), local_name(name).to_owned()))
    });
    marked.collect()
}

/// The line of the report that begins so.
fn line(profile: &Profile, beginning: &str) -> Option<String> {
    let text = profile.to_string();
    let found = text.lines().find(|line| line.starts_with(beginning));
    found.map(str::to_owned)
}

fn marked(mark: &str, names: &[&str]) -> Vec<(String, String)> {
    let marked = |name: &&str| (mark.to_owned(), format!("model::{name}"));
    names.iter().map(marked).collect()
}

/// Timed calls, those that inherited their stream, and those that may be host time.
fn counts(profile: &Profile, name: &str) -> (u64, u64, u64) {
    let function = function(profile, name);
    let timed = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    (timed, function.gpu_inherited_calls, function.gpu_host_calls)
}

fn a_host_function_on_an_idle_stream_is_marked() {
    let w = world();
    let session = w.session();
    forward(&w, &w.gpu.stream, || {
        model::tokenize(&w);
        model::layer(&w, MS);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model::tokenize"), (1, 94_000, 60_000));
    assert_eq!(
        gpu_times(&profile, "model::layer"),
        (1, 1_005_000, 1_005_000)
    );
    assert_eq!(counts(&profile, "model::tokenize"), (1, 1, 1));
    assert_eq!(counts(&profile, "model::layer"), (1, 1, 0));
    assert_eq!(counts(&profile, "model::forward"), (1, 0, 0));
    assert_eq!(row_marks(&profile), marked("?", &["tokenize", "log"]));
    let line = line(&profile, "? may be host time: ").expect("a line below the table");
    for words in [
        "model::log",
        "model::tokenize.",
        "#[gpu_profile(cpu)]",
        "GPUPROF_CUPTI=on",
    ] {
        assert!(line.contains(words), "{words} in {line}");
    }
}

fn a_host_function_on_a_busy_stream_is_marked() {
    let w = world();
    let session = w.session();
    forward(&w, &w.gpu.stream, || {
        model::layer(&w, 5 * MS);
        model::tokenize(&w);
        model::layer(&w, 5 * MS);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model::tokenize").1, 0);
    assert_eq!(counts(&profile, "model::tokenize"), (1, 1, 1));
    assert_eq!(counts(&profile, "model::layer"), (2, 2, 0));
    assert_eq!(row_marks(&profile), marked("?", &["tokenize", "log"]));
}

fn a_host_function_on_the_default_stream_is_marked() {
    let w = world();
    set_default_stream(&w.gpu.stream);
    let session = w.session();
    model::tokenize(&w);
    model::layer(&w, MS);
    with_own_stream(&w, &w.gpu.another_stream());
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model::tokenize"), (1, 94_000, 60_000));
    assert_eq!(counts(&profile, "model::tokenize"), (1, 1, 1));
    assert_eq!(counts(&profile, "model::layer"), (1, 1, 0));
    assert_eq!(counts(&profile, "model::with_own_stream"), (1, 0, 0));
    assert_eq!(row_marks(&profile), marked("?", &["tokenize", "log"]));
}

fn a_function_that_launches_in_most_calls_is_not_marked() {
    let w = world();
    for (launching, marks) in [(2, marked("?", &[])), (1, marked("?", &["layer"]))] {
        let session = w.session();
        forward(&w, &w.gpu.stream, || {
            for call in 0..4 {
                // The stream is idle.
                w.gpu.context.synchronize().expect("synchronize");
                model::layer(&w, if call < launching { MS } else { 0 });
            }
        });
        let profile = w.finish(session);
        assert_eq!(counts(&profile, "model::layer"), (4, 4, 4 - launching));
        assert_eq!(row_marks(&profile), marks, "{profile}");
    }
}

fn a_function_around_work_is_not_marked() {
    let w = world();
    let session = w.session();
    forward(&w, &w.gpu.stream, || model::layers(&w));
    let profile = w.finish(session);
    // Within 10 µs of the host time.
    assert_eq!(cpu_times(&profile, "model::layers").1, 1_065_000);
    let (_, total, own) = gpu_times(&profile, "model::layers");
    assert_eq!((total, own), (1_070_000, 820_000));
    assert_eq!(counts(&profile, "model::layers"), (1, 1, 0));
    assert_eq!(row_marks(&profile), []);
}

fn a_function_with_a_stream_of_its_own_is_not_marked() {
    let w = world();
    let session = w.session();
    with_own_stream(&w, &w.gpu.stream);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "model::with_own_stream").1, 94_000);
    assert_eq!(counts(&profile, "model::with_own_stream"), (1, 0, 0));
    assert_eq!(row_marks(&profile), []);
}

/// Kernels, copies and memsets of all calls, those of nested spans included.
fn activities(profile: &Profile, name: &str) -> u64 {
    busy(profile, name).2
}

fn records_say_what_launched_nothing() {
    let t = tier();
    let session = t.session();
    forward(&t, &t.gpu.stream, || {
        for call in 0..10 {
            t.synchronize();
            model::tokenize(&t);
            // Nine of ten calls look like host time.
            model::layer(&t, if call == 0 { MS } else { 0 });
        }
        model::layers(&t);
    });
    with_own_stream(&t, &t.gpu.stream);
    let profile = t.finish(session);
    assert_eq!(counts(&profile, "model::tokenize"), (10, 10, 10));
    assert_eq!(activities(&profile, "model::tokenize"), 0);
    assert_eq!(counts(&profile, "model::layer"), (20, 20, 9));
    assert_eq!(row_marks(&profile), marked("∅", &["tokenize", "log"]));
    let beginning = "∅ launched no kernel, copy or memset on its thread: ";
    let line = line(&profile, beginning).expect("a line below the table");
    assert!(line.contains("model::tokenize. "), "{line}");
    assert!(!profile.to_string().contains("may be host time"));
}

fn records_say_it_also_where_times_do_not() {
    let t = tier();
    let session = t.session();
    forward(&t, &t.gpu.stream, || {
        // Another thread uses the stream meanwhile.
        model::wait(|| {
            thread::scope(|threads| {
                threads.spawn(|| t.gpu.kernel(3 * MS));
            });
        });
    });
    let profile = t.finish(session);
    assert_eq!(gpu_times(&profile, "model::wait"), (1, 3 * MS, 3 * MS));
    assert_eq!(counts(&profile, "model::wait"), (1, 1, 0));
    assert_eq!(row_marks(&profile), marked("∅", &["wait"]));
}

#[gpu_profile]
async fn request(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_200 * US);
    pause().await;
}

/// Has no stream.
#[gpu_profile]
fn serve(inside: impl FnOnce()) {
    inside();
}

fn tasks_that_share_a_stream_are_marked_and_add_up_to_its_time() {
    let w = world();
    let session = w.session();
    serve(|| {
        let mut requests: Vec<_> = (0..4)
            .map(|_| Box::pin(request(&w, &w.gpu.stream)))
            .collect();
        for request in &mut requests {
            assert!(poll(request.as_mut()).is_pending());
        }
        for request in &mut requests {
            assert!(poll(request.as_mut()).is_ready());
        }
    });
    let profile = w.finish(session);
    // From the first start of each to the last kernel's end: 4, 3, 2 and 1 kernels.
    assert_eq!(gpu_times(&profile, "request"), (4, 12 * MS, 4_800 * US));
    assert_eq!(function(&profile, "request").gpu_divided_calls, 4);
    assert!(function(&profile, "serve").gpu_nested_divided);
    assert_eq!(function(&profile, "serve").gpu_nested_ns, 4_800 * US);
    let text = full_report(&profile);
    let row = |name| cells(&text, "Function, all paths", name);
    assert!(row("request").contains(&"÷4.80"), "{text}");
    assert!(row("serve").contains(&"Σ÷4.80"), "{text}");
    assert!(profile.wall_ns >= 4_800 * US);
    assert!(
        profile.to_string().contains("GPU spans 4.80 ms (100.0 %)"),
        "{profile}"
    );
    let line = line(&profile, "÷ Span self has").expect("a line below the table");
    assert!(line.ends_with("request 4 of 4"), "{line}");
}

#[gpu_profile]
async fn outer_request(w: &World, stream: &Arc<CudaStream>) {
    let _ = stream;
    request(w, stream).await;
}

fn the_shares_of_nested_calls_add_up_too() {
    let w = world();
    let session = w.session();
    serve(|| {
        let mut requests: Vec<_> = (0..4)
            .map(|_| Box::pin(outer_request(&w, &w.gpu.stream)))
            .collect();
        for request in &mut requests {
            assert!(poll(request.as_mut()).is_pending());
        }
        for request in &mut requests {
            assert!(poll(request.as_mut()).is_ready());
        }
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "outer_request").1, 12 * MS);
    let outer = node(&profile, &["serve", "outer_request"]);
    // What the call tree takes as its share.
    let own_ns = outer.gpu_self_ns.expect("it is timed");
    assert_eq!(own_ns + outer.gpu_nested_ns, 4_800 * US);
    assert_eq!(node(&profile, &["serve"]).gpu_nested_ns, 4_800 * US);
}

fn tasks_in_turn_have_no_mark() {
    let w = world();
    let session = w.session();
    serve(|| {
        for _ in 0..4 {
            let mut request = Box::pin(request(&w, &w.gpu.stream));
            assert!(poll(request.as_mut()).is_pending());
            assert!(poll(request.as_mut()).is_ready());
        }
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "request"), (4, 4_800 * US, 4_800 * US));
    assert_eq!(function(&profile, "request").gpu_divided_calls, 0);
    assert!(!profile.to_string().contains('÷'), "{profile}");
}
