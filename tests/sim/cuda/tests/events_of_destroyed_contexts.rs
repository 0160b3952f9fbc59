//! What crashes a real driver ends the process with a line that says why: an H200 (driver 580.159)
//! took a program down that recorded an event of a context that was gone, or made any call on one
//! once another context had come.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use common::{event, query, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUevent, CUevent_flags::CU_EVENT_DEFAULT, CUresult, CUstream};

/// Which of the two this process, started by its test, is to do.
const SCENE: &str = "SIMCUDA_GONE_EVENT";
const ABORT: i32 = 6;

#[test]
fn recording_an_event_of_a_gone_context_ends_the_process() {
    if std::env::var_os(SCENE).is_some() {
        let (event, stream) = gone();
        assert_eq!(query(event), Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
        // SAFETY: the simulator validates handles.
        let _ = unsafe { sys::cuEventRecord(event, stream) };
        return;
    }
    let ended = in_a_process("recording_an_event_of_a_gone_context_ends_the_process");
    crashed(&ended, "cuEventRecord of an event whose context is gone");
}

#[test]
fn a_call_on_an_event_that_another_context_has_outlived_ends_the_process() {
    if std::env::var_os(SCENE).is_some() {
        let (event, _) = gone();
        create();
        let _ = query(event);
        return;
    }
    let ended =
        in_a_process("a_call_on_an_event_that_another_context_has_outlived_ends_the_process");
    crashed(&ended, "after another context has come");
}

/// An event and a stream of a context that is gone.
fn gone() -> (CUevent, CUstream) {
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
