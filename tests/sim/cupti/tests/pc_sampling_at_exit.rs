//! Calls after the library's static objects were destroyed, as with an H100 and CUDA 13.0: each
//! test is a process that ends in such a call.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use common::pc_client::{Buffer, disable, enable};
use common::world;

static CONTEXT: AtomicU64 = AtomicU64::new(0);

extern "C" fn call_disable() {
    disable(CONTEXT.load(Ordering::Relaxed));
}

extern "C" fn call_get_data() {
    Buffer::new(1).fill(CONTEXT.load(Ordering::Relaxed));
}

/// The signal that ends a process that enables sampling, and calls `last` when the library's
/// handlers of its exit have run.
fn signal(test: &str, last: extern "C" fn()) -> Option<i32> {
    const IS_CHILD: &str = "GPUPROF_TEST_EXITS";
    if std::env::var_os(IS_CHILD).is_some() {
        // Handlers run last registered first.
        // SAFETY: the handler is a function that stays loaded.
        unsafe { libc::atexit(last) };
        let world = world();
        let context = world.context();
        CONTEXT.store(context, Ordering::Relaxed);
        assert_eq!(enable(context), 0);
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("it runs");
    let mut child = Command::new(program);
    child.args([test, "--exact"]).env(IS_CHILD, "1");
    let output = child.output().expect("it starts");
    output.status.signal()
}

#[test]
fn the_end_of_sampling_aborts() {
    let signal = signal("the_end_of_sampling_aborts", call_disable);
    assert_eq!(signal, Some(libc::SIGABRT));
}

#[test]
fn a_read_aborts() {
    assert_eq!(signal("a_read_aborts", call_get_data), Some(libc::SIGABRT));
}
