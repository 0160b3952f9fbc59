//! Promise: the time line can be switched on and off, and without one nothing is recorded.

use gpuprof::gpu_profile;
use support::suite::Module;
use support::tests;
use support::{World, world};

use crate::spans::{calls, finish, recorded};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        what_ends_while_it_is_off_is_missing,
        without_a_time_line_there_is_nothing_to_switch,
        a_new_session_begins_a_new_one,
    ]],
);

#[gpu_profile(label = number)]
fn call(w: &World, number: u32) {
    w.gpu.kernel(1_000);
    w.cpu(2_000);
    let _ = number;
}

fn what_ends_while_it_is_off_is_missing() {
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
    let found = ["call[1]", "call[2]", "call[3]"].map(|of| calls(&trace, of).len());
    assert_eq!(found, [1, 0, 1]);
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

fn a_new_session_begins_a_new_one() {
    let w = world();
    for number in 1..3 {
        let session = recorded(1_000);
        call(&w, number);
        let trace = finish(&w, session);
        let found = ["call[1]", "call[2]"].map(|of| calls(&trace, of).len());
        assert_eq!(found, [usize::from(number == 1), usize::from(number == 2)]);
        // Of the session that has ended.
        call(&w, number);
        let after = gpuprof::collect_trace().expect("a time line");
        assert_eq!(after.cpu_spans, trace.cpu_spans);
    }
}
