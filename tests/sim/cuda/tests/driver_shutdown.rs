//! The driver shuts down at exit, or when a test asks for it.

mod common;

use std::process::Command;

use common::{context_and_stream, event, record, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUresult::CUDA_ERROR_DEINITIALIZED;

/// Set in the process that a test starts.
const CHILD: &str = "SIMCUDA_TEST_CHILD";

/// Runs `test` in a process of its own and returns its output.
fn child(test: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    let output = command.env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// CUresult, CUDA_ERROR_DEINITIALIZED: the CUDA driver is in the process of shutting down. Every
/// call returns it, including cuInit.
#[test]
fn after_shutdown_every_call_returns_deinitialized() {
    if std::env::var_os(CHILD).is_none() {
        child("after_shutdown_every_call_returns_deinitialized");
        return;
    }
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let made = event(CU_EVENT_DEFAULT);
    sim.shut_down();
    let answers = [
        result::init().map_err(|error| error.0),
        record(made, &stream),
        common::query(made),
        context.synchronize().map_err(|error| error.0),
        stream.synchronize().map_err(|error| error.0),
        // SAFETY: the simulator validates handles.
        unsafe { result::event::destroy(made) }.map_err(|error| error.0),
        result::ctx::get_current()
            .map(drop)
            .map_err(|error| error.0),
    ];
    assert_eq!(answers, [Err(CUDA_ERROR_DEINITIALIZED); 7]);
    // cudarc's destructors would panic or print errors.
    std::mem::forget((context, stream));
}

extern "C" fn registered_before() {
    println!("before cuInit: {:?}", result::ctx::get_current().map(drop));
}

extern "C" fn registered_after() {
    println!("after cuInit: {:?}", result::ctx::get_current().map(drop));
}

/// `atexit` (C standard 7.22.4.2): handlers run in the reverse order of their registration, so one
/// that was registered after `cuInit` runs before the driver's shutdown.
#[test]
fn the_driver_shuts_down_between_the_exit_handlers() {
    if std::env::var_os(CHILD).is_none() {
        let said = child("the_driver_shuts_down_between_the_exit_handlers");
        let after = said.find("after cuInit: Ok(())").expect(&said);
        let before = said
            .find("before cuInit: Err(DriverError(CUDA_ERROR_DEINITIALIZED")
            .expect(&said);
        assert!(after < before, "{said}");
        return;
    }
    let (_sim, _turn) = virtual_clock();
    // SAFETY: the handler only calls the driver and prints.
    unsafe { libc::atexit(registered_before) };
    result::init().unwrap();
    // SAFETY: as above.
    unsafe { libc::atexit(registered_after) };
}
