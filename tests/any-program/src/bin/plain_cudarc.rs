//! A program with cudarc and without gpuprof: three launches and two copies.

use std::error::Error;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

/// A kernel that the simulated device does not know: a launch takes 10 µs there.
const KERNEL: &str = ".version 7.0\n.target sm_50\n.address_size 64\n\
                      .visible .entry triple(.param .u64 values) { ret; }\n";

fn main() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let triple = context
        .load_module(Ptx::from_src(KERNEL))?
        .load_function("triple")?;
    let mut values = stream.clone_htod(&[1.0_f32; 1_000])?;
    for _ in 0..3 {
        let mut launch = stream.launch_builder(&triple);
        launch.arg(&mut values);
        // SAFETY: the kernel does nothing with its one parameter.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1_000)) }?;
    }
    println!("{}", stream.clone_dtoh(&values)?.len());
    Ok(())
}
