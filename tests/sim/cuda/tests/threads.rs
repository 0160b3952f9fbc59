//! Many threads on one context, and calls from exit handlers.

mod common;

use std::process::Command;

use common::{context_and_stream, event, function, record, saxpy, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;

/// Threads launch, copy, record, query, synchronize and free at the same time without a deadlock,
/// and each gets its own results.
#[test]
fn threads_get_their_own_results() {
    let (_sim, _turn) = virtual_clock();
    let (context, _stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (context, kernel) = (&context, &kernel);
            scope.spawn(move || {
                let stream = context.new_stream().unwrap();
                let end = event(CU_EVENT_DEFAULT);
                for round in 0..50 {
                    let value = (number * 1_000 + round) as f32;
                    let x = stream.clone_htod(&[value; 100]).unwrap();
                    let mut y = stream.alloc_zeros(100).unwrap();
                    saxpy(&stream, kernel, 2.0, &x, &mut y).unwrap();
                    record(end, &stream).unwrap();
                    if round % 2 == 0 {
                        stream.synchronize().unwrap();
                        common::query(end).unwrap();
                    }
                    assert_eq!(stream.clone_dtoh(&y).unwrap(), [2.0 * value; 100]);
                }
            });
        }
    });
    context.synchronize().unwrap();
}

extern "C" fn after_main() {
    let (made, context) = AT_EXIT.get().copied().unwrap();
    // SAFETY: made in `call_after_main`, alive.
    unsafe { result::ctx::set_current(context as _) }.unwrap();
    common::query(made as _).unwrap();
    println!("called after main");
}

static AT_EXIT: std::sync::OnceLock<(usize, usize)> = std::sync::OnceLock::new();

/// Set in the process whose exit handler calls the driver.
const CHILD: &str = "SIMCUDA_TEST_CHILD";

fn call_after_main() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT);
    record(made, &stream).unwrap();
    AT_EXIT
        .set((made as usize, context.cu_ctx() as usize))
        .unwrap();
    std::mem::forget((context, stream));
    // SAFETY: the handler uses only objects that are never freed.
    unsafe { libc::atexit(after_main) };
}

/// An exit handler, which runs after the destructors of the main thread's thread-locals, can call
/// the driver.
#[test]
fn exit_handlers_can_call() {
    if std::env::var_os(CHILD).is_some() {
        return call_after_main();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "exit_handlers_can_call", "--nocapture"]);
    let output = command.env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("called after main"),
        "{output:?}"
    );
}
