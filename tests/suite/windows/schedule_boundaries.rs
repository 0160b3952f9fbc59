//! Promise: what spans the boundary of a schedule's cycle, or of measuring, is counted once and
//! applies on both sides.

use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{Mode, Profile, Schedule, Session, gpu_profile};
use support::executor::{pause, poll};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_call_that_outlasts_its_cycle_counts_once,
        a_future_that_outlasts_its_cycle_counts_once,
        a_call_that_outlasts_its_cycle_on_another_thread_counts_once,
        a_default_stream_set_in_a_pause_applies_to_the_next_steps,
        a_default_stream_set_before_a_session_applies_in_it,
        default_streams_set_while_nothing_is_measured_nest,
        a_default_stream_costs_no_driver_call_where_nothing_is_measured,
    ]],
);

#[gpu_profile]
fn serve(w: &World, _stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.cpu(1_000);
    inside();
    w.cpu(30);
}

#[gpu_profile(cpu)]
fn request(w: &World, inside: impl FnOnce()) {
    w.cpu(10);
    inside();
}

#[gpu_profile(cpu)]
async fn wait(w: &World) {
    w.cpu(100);
    pause().await;
}

#[gpu_profile]
fn launch(w: &World) {
    w.gpu.kernel(5_000);
}

#[gpu_profile]
fn launch_on(w: &World, stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.gpu.kernel_on(stream, 7_000);
    inside();
}

/// One active step in each cycle, with what comes between two of them.
fn scheduled(wait: u32, warmup: u32) -> Session {
    let schedule = Schedule {
        wait,
        warmup,
        active: 1,
        ..Schedule::default()
    };
    let session = Session::builder().schedule(schedule).start();
    session.expect("no other session is open")
}

fn snapshot() -> Profile {
    let profile = gpuprof::snapshot();
    assert_consistent(&profile);
    profile
}

/// What comes between the active steps: a pause, a warm-up, or both.
const BETWEEN: [(u32, u32); 4] = [(1, 0), (0, 1), (1, 1), (2, 2)];

fn a_call_that_outlasts_its_cycle_counts_once() {
    let w = world();
    for (wait, warmup) in BETWEEN {
        let session = scheduled(wait, warmup);
        let begin_cycle = || (0..wait + warmup).for_each(|_| gpuprof::step());
        begin_cycle();
        serve(&w, &w.gpu.stream, || {
            request(&w, gpuprof::step);
            w.gpu.context.synchronize().expect("synchronize");
            assert_eq!(function(&snapshot(), "serve").open_calls, 1);
        });
        // These belong to the pause or to the warm-up.
        serve(&w, &w.gpu.stream, || ());
        request(&w, || ());
        for profile in [snapshot(), {
            begin_cycle();
            w.finish(session)
        }] {
            let serve = function(&profile, "serve");
            let counted = (
                serve.calls,
                serve.untimed.crossed_reset + serve.untimed.no_stream,
            );
            assert_eq!(counted, (1, 1), "{wait},{warmup}");
            assert_eq!(cpu_times(&profile, "serve"), (1, 1_040, 1_030));
            assert_eq!(cpu_times(&profile, "request"), (1, 10, 10));
            assert_eq!((serve.cpu.min_ns, serve.cpu.max_ns), (1_040, 1_040));
        }
    }
}

fn a_future_that_outlasts_its_cycle_counts_once() {
    let w = world();
    for (steps, warmup) in BETWEEN {
        let session = scheduled(steps, warmup);
        let begin_cycle = || (0..steps + warmup).for_each(|_| gpuprof::step());
        begin_cycle();
        let mut futures = [(); 3].map(|()| Box::pin(wait(&w)));
        for future in &mut futures {
            assert!(poll(future.as_mut()).is_pending());
        }
        gpuprof::step();
        let [first, second, third] = &mut futures;
        for future in [first, second] {
            assert!(poll(future.as_mut()).is_ready());
        }
        let profile = snapshot();
        let pending = function(&profile, "wait").open_calls;
        assert_eq!((cpu_times(&profile, "wait").0, pending), (2, 1));
        begin_cycle();
        assert!(poll(third.as_mut()).is_ready());
        assert_eq!(cpu_times(&w.finish(session), "wait"), (3, 300, 300));
    }
}

fn a_call_that_outlasts_its_cycle_on_another_thread_counts_once() {
    let w = world();
    for (wait, warmup) in BETWEEN {
        let session = scheduled(wait, warmup);
        let begin_cycle = || (0..wait + warmup).for_each(|_| gpuprof::step());
        begin_cycle();
        request(&w, || {
            let begin = std::sync::Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    request(&w, || {
                        begin.wait();
                        begin.wait();
                    });
                });
                begin.wait();
                gpuprof::step();
                begin.wait();
            });
        });
        begin_cycle();
        let profile = w.finish(session);
        let request = function(&profile, "request");
        assert_eq!((request.calls, request.threads), (2, 2), "{wait},{warmup}");
    }
}

fn a_default_stream_set_in_a_pause_applies_to_the_next_steps() {
    let w = world();
    let session = scheduled(2, 1);
    gpuprof::with_stream(&w.gpu.stream, || {
        for _ in 0..8 {
            launch(&w);
            w.gpu.context.synchronize().expect("synchronize");
            gpuprof::step();
        }
    });
    launch(&w);
    assert_eq!(gpu_times(&w.finish(session), "launch"), (2, 10_000, 10_000));
}

fn a_default_stream_set_before_a_session_applies_in_it() {
    let w = world();
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let session = gpuprof::with_stream(&w.gpu.stream, || {
        drop(off);
        let session = w.session();
        launch(&w);
        session
    });
    // Without the default stream.
    launch(&w);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "launch"), (1, 5_000, 5_000));
    assert_eq!(function(&profile, "launch").untimed.no_stream, 1);
}

fn default_streams_set_while_nothing_is_measured_nest() {
    let w = world();
    let other = w.gpu.another_stream();
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let session = gpuprof::with_stream(&other, || {
        let session = gpuprof::with_stream(&w.gpu.stream, || {
            drop(off);
            let session = w.session();
            // The span around it has a stream of its own, which comes first.
            launch_on(&w, &other, || launch(&w));
            launch(&w);
            session
        });
        // On the other stream, where nothing runs.
        launch(&w);
        session
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "launch_on").0, 1);
    let launch = gpu_times(&profile, "launch");
    assert_eq!((launch.0, launch.1), (3, 5_000));
}

fn a_default_stream_costs_no_driver_call_where_nothing_is_measured() {
    let w = world();
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let calls = || w.sim.calls_by_symbol();
    w.sim.reset_calls();
    // gpuprof has met neither the stream nor its context.
    gpuprof::with_stream(&w.gpu.stream, || request(&w, || ()));
    assert_eq!(calls(), []);
    drop(off);
    let session = w.session();
    gpuprof::with_stream(&w.gpu.stream, || ());
    assert_ne!(calls(), []);
    w.finish(session);
}
