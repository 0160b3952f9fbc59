//! A program that does not install the simulator itself, and whose kernels the simulator does not
//! know: `cargo xtask sim` loads the driver before it starts.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use libloading::os::unix::Library;

const PTX: &str = ".visible .entry unheard_of(.param .u64 x)\n{ ret; }";

/// The launch succeeds, its kernel changes nothing and takes 10 µs.
#[test]
fn an_unknown_kernel_is_a_no_op() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::current_exe()?.with_file_name("libsimcuda.so");
    // SAFETY: the library is this workspace's own; it has no initializers.
    let driver = unsafe { Library::new(&path) }?;
    // It has an exit handler.
    std::mem::forget(driver);
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let kernel = context
        .load_module(Ptx::from_src(PTX))?
        .load_function("unheard_of")?;
    let mut x = stream.clone_htod(&[1.0_f32, 2.0])?;
    let flags = Some(cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(flags)?;
    for _ in 0..100 {
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&mut x);
        // SAFETY: the kernel is a no-op.
        unsafe { launch.launch(LaunchConfig::for_num_elems(2)) }?;
    }
    let end = stream.record_event(flags)?;
    assert_eq!(stream.clone_dtoh(&x)?, [1.0, 2.0]);
    // Under the host's clock a slow program adds gaps between the launches.
    let milliseconds = start.elapsed_ms(&end)?;
    assert!(
        milliseconds >= 1.0,
        "{milliseconds} ms for 100 no-ops of 10 µs"
    );
    Ok(())
}
