//! The settings of a kernel's modelled duration, by precedence.

mod common;

use common::{context_and_stream, function, saxpy, virtual_clock};

/// `set_kernel_ns` of the kernel comes first, then that of all kernels, then GPUPROF_SIM_KERNEL_NS.
#[test]
fn the_most_specific_setting_applies() {
    // SAFETY: the process's only test, and nothing else runs yet.
    unsafe { std::env::set_var("GPUPROF_SIM_KERNEL_NS", "7000") };
    let (sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "saxpy");
    let (x, mut y) = (
        stream.alloc_zeros(8).unwrap(),
        stream.alloc_zeros(8).unwrap(),
    );
    let mut launch_ns = || {
        let before = sim.now();
        saxpy(&stream, &kernel, 1.0, &x, &mut y).unwrap();
        stream.synchronize().unwrap();
        sim.now() - before
    };
    assert_eq!(launch_ns(), 7_000);
    sim.set_kernel_ns("", 5_000);
    assert_eq!(launch_ns(), 5_000);
    sim.set_kernel_ns("saxpy", 3_000);
    assert_eq!(launch_ns(), 3_000);
}
