//! cuStreamWaitValue32: what is queued behind it runs once the host has written the value.

mod common;

use std::time::Duration;

use common::{context_and_stream, elapsed, event, function, query, record, saxpy, virtual_clock};
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaStream, PinnedHostSlice};

fn wait_for(stream: &CudaStream, flag: *const u32, value: u32) -> CUresult {
    // SAFETY: the flag is page-locked memory that lives until the stream has been synchronized.
    unsafe { sys::cuStreamWaitValue32_v2(stream.cu_stream(), flag as u64, value, 0) }
}

fn write(flag: *mut u32, value: u32) {
    // SAFETY: as above; the device only reads it.
    unsafe { flag.write_volatile(value) };
}

fn flag(stream: &CudaStream) -> (PinnedHostSlice<u32>, *mut u32) {
    // SAFETY: any bits are a number, and the simulator zeroes it.
    let mut slice = unsafe { stream.context().alloc_pinned::<u32>(1) }.unwrap();
    let pointer = slice.as_mut_ptr().unwrap();
    (slice, pointer)
}

#[test]
fn work_behind_a_gate_starts_when_the_host_opens_it() {
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(64).unwrap(),
        stream.alloc_zeros(64).unwrap(),
    );
    sim.set_kernel_ns("saxpy", 4_000);
    let (_memory, flag) = flag(&stream);
    let (start, end) = (event(CU_EVENT_DEFAULT), event(CU_EVENT_DEFAULT));
    assert_eq!(wait_for(&stream, flag, 1), CUresult::CUDA_SUCCESS);
    record(start, &stream).unwrap();
    saxpy(&stream, &kernel, 2.0, &x, &mut y).unwrap();
    saxpy(&stream, &kernel, 2.0, &x, &mut y).unwrap();
    record(end, &stream).unwrap();
    sim.advance(1_000_000);
    assert_eq!(query(start), Err(CUresult::CUDA_ERROR_NOT_READY));
    let opened = sim.now();
    write(flag, 1);
    assert_eq!(query(start), Ok(()));
    assert_eq!(query(end), Err(CUresult::CUDA_ERROR_NOT_READY));
    stream.synchronize().unwrap();
    assert_eq!(sim.now() - opened, 8_000);
    assert_eq!(elapsed(start, end), Ok(0.008));
    // A gate whose value is there already.
    assert_eq!(wait_for(&stream, flag, 1), CUresult::CUDA_SUCCESS);
    stream.synchronize().unwrap();
    assert_eq!(sim.now() - opened, 8_000);
}

/// A synchronize in front of a closed gate waits for another thread.
#[test]
fn a_synchronize_waits_until_another_thread_opens_the_gate() {
    let (sim, _turn) = virtual_clock();
    let (_context, stream) = context_and_stream();
    let (_memory, flag) = flag(&stream);
    assert_eq!(wait_for(&stream, flag, 7), CUresult::CUDA_SUCCESS);
    let address = flag as usize;
    let before = sim.now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            write(address as *mut u32, 7);
        });
        stream.synchronize().unwrap();
    });
    // SAFETY: it lives as long as the slice.
    assert_eq!(unsafe { flag.read_volatile() }, 7);
    assert_eq!(sim.now(), before);
}
