//! saxpy, `y = a * x + y`: what one attribute per function shows.
//!
//! Run `cargo run --release --example 01_quickstart`; the table comes on standard error at exit.
//! Look at `saxpy`: on a GPU its CPU time is far below its GPU time, for it returns once the kernel
//! is queued. Two flops for twelve bytes: memory limits it, see its GB/s. `download` is where the
//! host waits.

use std::{error::Error, sync::Arc};

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::gpu_profile;

#[gpu_profile(bytes = 4 * host.len())]
fn upload(stream: &Arc<CudaStream>, host: &[f32]) -> Result<CudaSlice<f32>, DriverError> {
    stream.clone_htod(host)
}

#[gpu_profile(bytes = 12 * y.len(), flops = 2 * y.len())]
fn saxpy(
    stream: &Arc<CudaStream>,
    f: &CudaFunction,
    a: f32,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    let n = y.len() as u32;
    let mut saxpy = stream.launch_builder(f);
    saxpy.arg(&n).arg(&a).arg(x).arg(y);
    // SAFETY: these are the kernel's parameters, and both slices hold n elements.
    unsafe { saxpy.launch(LaunchConfig::for_num_elems(n)) }.map(drop)
}

#[gpu_profile(bytes = 4 * slice.len())]
fn download(stream: &Arc<CudaStream>, slice: &CudaSlice<f32>) -> Result<Vec<f32>, DriverError> {
    stream.clone_dtoh(slice)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = simcuda::real_or_simulated();
    let real = matches!(device, simcuda::Device::Real);
    let n = 1 << if real { 24 } else { 20 };
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(kernels::SAXPY_PTX))?;
    let f = module.load_function(kernels::SAXPY)?;

    let host: Vec<f32> = (0..n).map(|i| (i % 100) as f32).collect();
    let x = upload(&stream, &host)?;
    let mut y = upload(&stream, &vec![1.0; n])?;
    for _ in 0..100 {
        saxpy(&stream, &f, 0.5, &x, &mut y)?;
    }
    // Small halves have no rounding in f32, so the result must be exact.
    let expected = host.iter().map(|x| 1.0 + 50.0 * x);
    assert!(expected.eq(download(&stream, &y)?), "saxpy is wrong");
    println!("saxpy: {n} elements, all right after 100 rounds");
    Ok(())
}
