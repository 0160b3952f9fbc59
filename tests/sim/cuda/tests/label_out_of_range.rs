//! A fault of the loss kernel, in a process of its own because the error is sticky.

mod common;

use common::{context_and_stream, function, virtual_clock};
use cudarc::driver::sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// A label that is not a column would make a device read outside the row.
#[test]
fn a_label_outside_the_columns_is_a_fault() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let kernel = function(&context, "softmax_cross_entropy");
    let logits = stream.clone_htod(&[0.0_f32; 3]).unwrap();
    let label = stream.clone_htod(&[3_i32]).unwrap();
    let mut loss = stream.alloc_zeros::<f32>(1).unwrap();
    let mut gradient = stream.alloc_zeros::<f32>(3).unwrap();
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&logits).arg(&label);
    launch
        .arg(&mut loss)
        .arg(&mut gradient)
        .arg(&1_i32)
        .arg(&3_i32);
    // SAFETY: the arguments are the kernel's; the simulator checks the label.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    assert_eq!(
        stream.synchronize().unwrap_err().0,
        CUDA_ERROR_ILLEGAL_ADDRESS
    );
}
