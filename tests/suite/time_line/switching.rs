//! Promise: the time line can be switched on and off, and without one nothing is recorded.

use gpuprof::gpu_profile;
use support::executor::{pause, run};
use support::suite::Module;
use support::tests;
use support::{World, world};

use crate::spans::{calls, finish, gpu_spans, recorded};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        what_begins_while_it_is_off_is_missing,
        a_call_that_is_open_at_a_switch_is_kept_by_its_begin,
        polls_go_on_after_a_switch,
        without_a_time_line_there_is_nothing_to_switch,
        sessions_go_on_with_one_time_line,
    ]],
);

#[gpu_profile(stream = w.gpu.stream, label = number)]
fn call(w: &World, number: u32) {
    w.gpu.kernel(1_000);
    w.cpu(2_000);
    let _ = number;
}

fn what_begins_while_it_is_off_is_missing() {
    let w = world();
    let session = recorded(1_000);
    call(&w, 1);
    w.gpu.context.synchronize().expect("synchronize");
    assert!(gpuprof::set_recording(false));
    call(&w, 2);
    w.gpu.context.synchronize().expect("synchronize");
    assert!(gpuprof::set_recording(true));
    call(&w, 3);
    let trace = finish(&w, session);
    let labels = ["call[1]", "call[2]", "call[3]"];
    assert_eq!(labels.map(|of| calls(&trace, of).len()), [1, 0, 1]);
    assert_eq!(labels.map(|of| gpu_spans(&trace, of).len()), [1, 0, 1]);
    assert_eq!(trace.gaps, []);
}

#[gpu_profile(cpu, label = number)]
fn switches(number: u32, on: bool) {
    gpuprof::set_recording(on);
    let _ = number;
}

fn a_call_that_is_open_at_a_switch_is_kept_by_its_begin() {
    let w = world();
    let session = recorded(1_000);
    switches(1, false);
    switches(2, true);
    let trace = finish(&w, session);
    let found = ["switches[1]", "switches[2]"].map(|of| calls(&trace, of).len());
    assert_eq!(found, [1, 0]);
}

#[gpu_profile]
async fn serves(w: &World) {
    for on in [false, true, true] {
        w.cpu(100);
        gpuprof::set_recording(on);
        pause().await;
    }
}

/// No other call of the function begins that could tell it what to do.
fn polls_go_on_after_a_switch() {
    let w = world();
    let session = recorded(1_000);
    run(&w, serves(&w), 1_000);
    let trace = finish(&w, session);
    // The first one ends while it is off.
    let polls = calls(&trace, "serves").len();
    assert!((2..=3).contains(&polls), "{polls}");
}

fn without_a_time_line_there_is_nothing_to_switch() {
    let w = world();
    let session = w.session();
    call(&w, 1);
    assert!(!gpuprof::set_recording(true));
    call(&w, 2);
    assert_eq!(gpuprof::collect_trace(), None);
    w.finish(session);
}

fn sessions_go_on_with_one_time_line() {
    let w = world();
    for number in 1..4 {
        let session = recorded(1_000);
        call(&w, number);
        let trace = finish(&w, session);
        let labels = ["call[1]", "call[2]", "call[3]"];
        let wanted = [1, 2, 3].map(|label| usize::from(label <= number));
        assert_eq!(labels.map(|of| calls(&trace, of).len()), wanted);
        assert_eq!(labels.map(|of| gpu_spans(&trace, of).len()), wanted);
        assert!(
            trace
                .cpu_spans
                .iter()
                .all(|span| span.end_ns <= trace.end_ns)
        );
        // Outside of a session.
        call(&w, number);
        let after = gpuprof::collect_trace().expect("a time line");
        assert_eq!(after.cpu_spans, trace.cpu_spans);
    }
}
