//! A fault of a kernel is asynchronous and sticky.

mod common;

use common::{context_and_stream, function, saxpy, virtual_clock};
use cudarc::driver::sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

/// CUresult: after ILLEGAL_ADDRESS "the context is in an inconsistent state"; later calls answer the same.
#[test]
fn a_kernel_past_its_memory_poisons_the_context() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let x = stream.alloc_zeros(64).unwrap();
    let mut y = stream.alloc_zeros(128).unwrap();
    saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
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
}
