//! A fault of a kernel is an asynchronous, sticky error.

mod common;

use common::{context_and_stream, event, function, query, record, saxpy, virtual_clock};
use cudarc::driver::result;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::CUresult::{CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_INVALID_HANDLE};

/// CUresult: after ILLEGAL_ADDRESS the context is in an inconsistent state, and later calls return
/// the same error.
#[test]
fn an_access_outside_memory_makes_later_calls_fail() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let x = stream.alloc_zeros(64).unwrap();
    let mut y = stream.alloc_zeros(128).unwrap();
    let (made, pending) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    record(made, &stream).unwrap();
    saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
    record(pending, &stream).unwrap();
    assert_eq!(
        stream.synchronize().unwrap_err().0,
        CUDA_ERROR_ILLEGAL_ADDRESS
    );
    assert_eq!(
        stream.synchronize().unwrap_err().0,
        CUDA_ERROR_ILLEGAL_ADDRESS
    );
    assert_eq!(
        context.new_event(None).map(drop).unwrap_err().0,
        CUDA_ERROR_ILLEGAL_ADDRESS
    );
    let sticky = Err(CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!([query(made), query(pending)], [sticky; 2]);
    assert_eq!(record(made, &stream), sticky);
    assert_eq!(common::elapsed(made, pending).map(drop), sticky);
    // SAFETY: made above.
    let destroyed = || unsafe { result::event::destroy(made) }.map_err(|error| error.0);
    assert_eq!(destroyed(), sticky);
    assert_eq!(
        destroyed(),
        Err(CUDA_ERROR_INVALID_HANDLE),
        "the event was destroyed all the same"
    );
}
