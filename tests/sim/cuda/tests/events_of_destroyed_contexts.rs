//! What crashes a real driver aborts the process and prints the reason: a record of an event whose
//! context was destroyed, and any call on such an event after another context was created. Both
//! crashed a program on an H200 (driver 580.159).

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use common::{event, query, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUevent, CUevent_flags::CU_EVENT_DEFAULT, CUresult, CUstream};

/// Set in the process that a test starts.
const SCENE: &str = "SIMCUDA_GONE_EVENT";
const ABORT: i32 = 6;

#[test]
fn a_record_of_an_event_of_a_destroyed_context_aborts_the_process() {
    if std::env::var_os(SCENE).is_some() {
        let (event, stream) = orphaned_event();
        assert_eq!(query(event), Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
        // SAFETY: the simulator validates handles.
        let _ = unsafe { sys::cuEventRecord(event, stream) };
        return;
    }
    let ended = in_a_process("a_record_of_an_event_of_a_destroyed_context_aborts_the_process");
    crashed(&ended, "cuEventRecord of an event whose context is gone");
}

#[test]
fn a_call_on_such_an_event_after_another_context_aborts_the_process() {
    if std::env::var_os(SCENE).is_some() {
        let (event, _) = orphaned_event();
        create();
        let _ = query(event);
        return;
    }
    let ended = in_a_process("a_call_on_such_an_event_after_another_context_aborts_the_process");
    crashed(&ended, "after another context has come");
}

/// An event and a stream of a destroyed context.
fn orphaned_event() -> (CUevent, CUstream) {
    let (_sim, _turn) = virtual_clock();
    result::init().unwrap();
    let context = create();
    let stream = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
    let event = event(CU_EVENT_DEFAULT);
    // SAFETY: created above.
    unsafe { sys::cuCtxDestroy_v2(context) }.result().unwrap();
    (event, stream)
}

/// A context on device 0.
fn create() -> sys::CUcontext {
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is writable; no parameters, no flags.
    unsafe { sys::cuCtxCreate_v4(&mut context, std::ptr::null_mut(), 0, 0) }
        .result()
        .unwrap();
    context
}

fn in_a_process(test: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(SCENE, "1")
        .output()
        .unwrap()
}

fn crashed(ended: &Output, why: &str) {
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(ABORT), "{said}");
    let lines = said
        .lines()
        .filter(|line| line.starts_with("simulated device"));
    assert!(lines.clone().count() == 1 && said.contains(why), "{said}");
}
