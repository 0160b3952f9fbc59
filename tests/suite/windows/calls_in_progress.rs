//! Promise: calls in progress are reported with their number and their time so far, until they end
//! and count as calls.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Mode, Profile, Session, gpu_profile};
use promises::open_calls::in_progress;
use promises::{Tolerance, assert_kept};
use support::executor::{pause, poll};
use support::report_text::full_report;
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_call_in_progress_has_its_time_so_far,
        of_recursive_calls_the_outermost_counts_in_the_time,
        what_ended_inside_a_call_of_the_same_function_has_its_time,
        calls_in_progress_on_several_threads_add_up,
        futures_between_two_polls_are_in_progress,
        a_future_that_ends_on_another_thread_is_in_progress_no_more,
        a_future_dropped_while_its_thread_ends_is_in_progress_no_more,
        a_call_in_progress_at_a_reset_stays_in_progress,
        nothing_is_in_progress_where_nothing_is_measured,
        a_function_that_runs_is_not_listed_as_never_called,
    ]],
);

#[gpu_profile]
fn serve(w: &World, _stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.cpu(1_000);
    inside();
}

#[gpu_profile(cpu)]
fn recurse(w: &World, depth: u32, inside: &dyn Fn()) {
    w.cpu(100);
    match depth {
        0 => inside(),
        _ => recurse(w, depth - 1, inside),
    }
}

#[gpu_profile(cpu)]
async fn wait(w: &World) {
    w.cpu(100);
    pause().await;
}

fn snapshot() -> Profile {
    let profile = gpuprof::snapshot();
    assert_consistent(&profile);
    profile
}

/// `(calls in progress, their time so far)` of the function of this name.
fn open(profile: &Profile, name: &str) -> (u64, u64) {
    let function = function(profile, name);
    (function.open_calls, function.open_ns)
}

fn a_call_in_progress_has_its_time_so_far() {
    assert_kept(in_progress(&world().gpu, Tolerance::EXACT));
}

fn of_recursive_calls_the_outermost_counts_in_the_time() {
    let w = world();
    let session = w.session();
    recurse(&w, 2, &|| {
        let profile = snapshot();
        assert_eq!(open(&profile, "recurse"), (3, 300));
        let inner = node(&profile, &["recurse", "recurse"]);
        assert_eq!((inner.open_calls, inner.open_ns), (1, 200));
    });
    assert_eq!(open(&w.finish(session), "recurse"), (0, 0));
}

fn what_ended_inside_a_call_of_the_same_function_has_its_time() {
    let w = world();
    let session = w.session();
    recurse(&w, 1, &|| {
        recurse(&w, 2, &|| ());
        // Three calls have ended, of 300, 200 and 100 ns, and two have not.
        let profile = snapshot();
        assert_eq!(cpu_times(&profile, "recurse"), (3, 300, 300));
    });
    assert_eq!(cpu_times(&w.finish(session), "recurse"), (5, 500, 500));
}

fn calls_in_progress_on_several_threads_add_up() {
    let w = world();
    let session = w.session();
    serve(&w, &w.gpu.stream, || {
        let on_another_thread = || {
            serve(&w, &w.gpu.stream, || {
                // 1,000 ns here, and 2,000 ns in the call that waits for this thread.
                assert_eq!(open(&snapshot(), "serve"), (2, 3_000));
            });
        };
        thread::scope(|scope| scope.spawn(on_another_thread).join()).expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(
        (open(&profile, "serve"), function(&profile, "serve").calls),
        ((0, 0), 2)
    );
}

fn futures_between_two_polls_are_in_progress() {
    let w = world();
    let session = w.session();
    let mut futures = [(); 3].map(|()| Box::pin(wait(&w)));
    for future in &mut futures {
        assert!(poll(future.as_mut()).is_pending());
    }
    // Begun at 0, 100 and 200 ns; a future that was never polled is no call.
    let never_polled = wait(&w);
    w.cpu(1_000);
    assert_eq!(open(&snapshot(), "wait"), (3, 1_300 + 1_200 + 1_100));
    let [first, second, third] = &mut futures;
    assert!(poll(first.as_mut()).is_ready());
    assert_eq!(open(&snapshot(), "wait"), (2, 1_200 + 1_100));
    assert!(poll(second.as_mut()).is_ready() && poll(third.as_mut()).is_ready());
    drop(never_polled);
    let profile = w.finish(session);
    assert_eq!(
        (open(&profile, "wait"), function(&profile, "wait").calls),
        ((0, 0), 3)
    );
}

fn a_future_that_ends_on_another_thread_is_in_progress_no_more() {
    let w = world();
    let session = w.session();
    let mut first = pin!(wait(&w));
    let mut second = pin!(wait(&w));
    assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    w.cpu(500);
    let end_on =
        |future: Pin<&mut _>| assert!(poll::<dyn Future<Output = ()> + Send>(future).is_ready());
    thread::scope(|scope| scope.spawn(|| end_on(first.as_mut())).join()).expect("no panic");
    assert_eq!(open(&snapshot(), "wait"), (1, 600));
    thread::scope(|scope| scope.spawn(|| end_on(second.as_mut())).join()).expect("no panic");
    let profile = w.finish(session);
    assert_eq!(
        (open(&profile, "wait"), function(&profile, "wait").calls),
        ((0, 0), 2)
    );
}

fn a_future_dropped_while_its_thread_ends_is_in_progress_no_more() {
    thread_local! {
        static LAST: std::cell::RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>> =
            const { std::cell::RefCell::new(None) };
    }
    let w = world();
    let session = w.session();
    let task = || {
        // Initialized before gpuprof's thread-local, so that it is dropped after it.
        LAST.with(|_| ());
        let w: &'static World = Box::leak(Box::new(world()));
        let mut future = Box::pin(wait(w));
        assert!(poll(future.as_mut()).is_pending());
        LAST.set(Some(future));
    };
    thread::scope(|scope| scope.spawn(task).join()).expect("no panic");
    let profile = gpuprof::collect();
    assert_eq!(open(&profile, "wait"), (0, 0));
    let wait = function(&profile, "wait");
    assert_eq!(wait.calls + profile.diagnostics.dropped, 1);
    drop(session);
}

fn a_call_in_progress_at_a_reset_stays_in_progress() {
    let w = world();
    let session = w.session();
    serve(&w, &w.gpu.stream, || {
        gpuprof::reset();
        w.cpu(5);
        assert_eq!(open(&snapshot(), "serve"), (1, 1_005));
    });
    let profile = w.finish(session);
    assert_eq!(
        (open(&profile, "serve"), function(&profile, "serve").calls),
        ((0, 0), 1)
    );
}

fn nothing_is_in_progress_where_nothing_is_measured() {
    let w = world();
    let session = w.session();
    serve(&w, &w.gpu.stream, || {
        drop(session);
        let is_none_open = || snapshot().functions.iter().all(|one| one.open_calls == 0);
        assert!(is_none_open());
        let off = Session::builder().mode(Mode::Off).start().expect("start");
        assert!(is_none_open());
        drop(off);
    });
}

fn a_function_that_runs_is_not_listed_as_never_called() {
    let w = world();
    let session = w.session();
    serve(&w, &w.gpu.stream, || {
        let table = full_report(&snapshot());
        let line = |label: &str| {
            table
                .lines()
                .find(|line| line.starts_with(label))
                .unwrap_or("")
        };
        assert!(
            line("in progress:").contains("serve for 1.00 µs"),
            "{table}"
        );
        assert!(!line("never called:").contains("serve"), "{table}");
        assert!(table.contains("Open(µs)"), "{table}");
    });
    assert!(!w.finish(session).to_string().contains("in progress"));
}
