//! The kernels of these examples as benchmarks: `cargo bench --bench kernels`, and with arguments
//! `cargo bench --bench kernels -- saxpy --axis n=16777216 --save-baseline main`.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::bench::{Bench, Results};
use gpuprof::gpu_bench;
use kernels::Geometry;

/// Values of a matrix that the simulated device multiplies in a moment.
const SIMULATED: usize = 256 * 256;

fn main() -> std::process::ExitCode {
    // Keeps the driver's library.
    let _device = simcuda::real_or_simulated();
    gpuprof::bench::main()
}

fn load(stream: &Arc<CudaStream>, ptx: &str, kernel: &str) -> Result<CudaFunction, Box<dyn Error>> {
    let module = stream.context().load_module(Ptx::from_src(ptx))?;
    Ok(module.load_function(kernel)?)
}

fn config(Geometry { grid, block }: Geometry) -> LaunchConfig {
    LaunchConfig {
        grid_dim: grid,
        block_dim: block,
        shared_mem_bytes: 0,
    }
}

#[gpu_bench(n = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26])]
fn saxpy(mut bench: Bench, n: usize) -> Result<Results, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let kernel = load(&stream, kernels::SAXPY_PTX, kernels::SAXPY)?;
    let (x, mut y) = (stream.alloc_zeros::<f32>(n)?, stream.alloc_zeros::<f32>(n)?);
    let (count, config) = (n as u32, config(kernels::saxpy_geometry(n as u32)));
    let bench = bench
        .bytes(kernels::saxpy_bytes(n))
        .flops(kernels::saxpy_flops(n));
    let launch = || {
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&count).arg(&2.0_f32).arg(&x).arg(&mut y);
        // SAFETY: these are the kernel's parameters, and both slices hold n elements.
        unsafe { launch.launch(config) }.map(drop)
    };
    Ok(bench.run(launch)?)
}

/// A copy by the driver.
#[gpu_bench(n = [1 << 20, 1 << 24, 1 << 26])]
fn copy(mut bench: Bench, n: usize) -> Result<Results, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let x = stream.alloc_zeros::<f32>(n)?;
    let mut y = stream.alloc_zeros::<f32>(n)?;
    let bench = bench.bytes(8 * n as u64);
    Ok(bench.run(|| stream.memcpy_dtod(&x, &mut y))?)
}

#[gpu_bench(n = [1 << 20, 1 << 24, 1 << 26])]
fn reduce_sum(mut bench: Bench, n: u32) -> Result<Results, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let kernel = load(&stream, kernels::REDUCTION_PTX, kernels::REDUCE_SUM)?;
    let geometry = kernels::reduce_sum_geometry(n);
    let x = stream.alloc_zeros::<f32>(n as usize)?;
    let mut partial = stream.alloc_zeros::<f32>(geometry.grid.0 as usize)?;
    let config = config(geometry);
    let bench = bench
        .bytes(kernels::reduce_sum_bytes(n))
        .flops(kernels::reduce_sum_flops(n));
    let launch = || {
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&x).arg(&mut partial).arg(&n);
        // SAFETY: these are the kernel's parameters; there is a partial sum for each block.
        unsafe { launch.launch(config) }.map(drop)
    };
    Ok(bench.run(launch)?)
}

#[gpu_bench(n = [1 << 10, 1 << 12, 1 << 13])]
fn transpose(mut bench: Bench, n: usize) -> Result<Results, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let kernel = load(&stream, kernels::TRANSPOSE_PTX, kernels::TRANSPOSE)?;
    let x = stream.alloc_zeros::<f32>(n * n)?;
    let mut y = stream.alloc_zeros::<f32>(n * n)?;
    let (side, config) = (
        n as i32,
        config(kernels::transpose_geometry(n as u32, n as u32)),
    );
    let bench = bench.bytes(kernels::transpose_bytes(n, n));
    let launch = || {
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&x).arg(&mut y).arg(&side).arg(&side);
        // SAFETY: these are the kernel's parameters, and both slices hold n² elements.
        unsafe { launch.launch(config) }.map(drop)
    };
    Ok(bench.run(launch)?)
}

#[gpu_bench(
    kernel = [kernels::MATMUL_NAIVE, kernels::MATMUL_TILED],
    n = [256, 512, 1024, 2048, 4096]
)]
fn matmul(mut bench: Bench, kernel: &'static str, n: usize) -> Result<Results, Box<dyn Error>> {
    if bench.is_simulated()? && n * n > SIMULATED {
        return Ok(bench.skip("the simulated device would compute it for minutes"));
    }
    let stream = bench.own_stream()?;
    let kernel = load(&stream, kernels::MATMUL_PTX, kernel)?;
    let (a, b) = (
        stream.alloc_zeros::<f32>(n * n)?,
        stream.alloc_zeros::<f32>(n * n)?,
    );
    let mut product = stream.alloc_zeros::<f32>(n * n)?;
    let (side, config) = (
        n as i32,
        config(kernels::matmul_geometry(n as u32, n as u32)),
    );
    let bench = bench
        .bytes(kernels::matmul_bytes(n, n, n))
        .flops(kernels::matmul_flops(n, n, n));
    let launch = || {
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&a).arg(&b).arg(&mut product);
        launch.arg(&side).arg(&side).arg(&side);
        // SAFETY: these are the kernel's parameters, and each slice holds n² elements.
        unsafe { launch.launch(config) }.map(drop)
    };
    Ok(bench.run(launch)?)
}
