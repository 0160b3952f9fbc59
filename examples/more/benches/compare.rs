//! Is the faster kernel faster, and still right? The three convolutions and the two matrix products
//! of these examples against each other: `cargo bench --bench compare`.
//!
//! The exit status is 1 if a candidate's output differs, or if the speed-up that it is to have is
//! not shown. `CANDIDATE=slower cargo bench --bench compare` spoils the candidates, `wrong` too.

use std::env;
use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::bench::{Bench, Comparison, Variant};
use gpuprof::gpu_bench;
use kernels::Geometry;

/// Sums of up to 2,048 products in single precision, added up in another order, stay within it.
const TOLERANCE: f64 = 1e-4;
/// What each candidate must reach.
const SPEEDUP: f64 = 1.2;

fn main() -> std::process::ExitCode {
    // Keeps the driver's library.
    let _device = simcuda::real_or_simulated();
    gpuprof::bench::main()
}

/// A blur of an image.
#[gpu_bench(candidate = [kernels::CONVOLVE_SINGLE, kernels::CONVOLVE_TILED])]
fn convolution(mut bench: Bench, candidate: &'static str) -> Result<Comparison, Box<dyn Error>> {
    let n = if bench.is_simulated()? { 512 } else { 8192 };
    let stream = bench.own_stream()?;
    let pixels = upload(&stream, n * n)?;
    let mask = upload(&stream, kernels::MASK * kernels::MASK)?;
    let with = |kernel, geometry| Problem {
        stream: &stream,
        ptx: kernels::CONVOLUTION_PTX,
        kernel,
        inputs: [&pixels, &mask],
        results: n * n,
        sizes: vec![n as i32; 2],
        geometry,
    };
    let plain = kernels::convolution_geometry(n as u32, n as u32);
    let (baseline, candidate) = match candidate {
        kernels::CONVOLVE_SINGLE => (kernels::CONVOLVE_DOUBLE, with(candidate, plain)),
        _ => {
            let tiles = kernels::convolution_tiled_geometry(n as u32, n as u32);
            (kernels::CONVOLVE_SINGLE, with(candidate, tiles))
        }
    };
    let bench = bench
        .bytes(kernels::convolution_bytes(n, n))
        .flops(kernels::convolution_flops(n, n));
    compare(bench, with(baseline, plain), candidate)
}

/// A product of two square matrices.
#[gpu_bench]
fn matmul(mut bench: Bench) -> Result<Comparison, Box<dyn Error>> {
    let n = if bench.is_simulated()? { 256 } else { 2048 };
    let stream = bench.own_stream()?;
    let (a, b) = (upload(&stream, n * n)?, upload(&stream, n * n)?);
    let with = |kernel| Problem {
        stream: &stream,
        ptx: kernels::MATMUL_PTX,
        kernel,
        inputs: [&a, &b],
        results: n * n,
        sizes: vec![n as i32; 3],
        geometry: kernels::matmul_geometry(n as u32, n as u32),
    };
    let bench = bench
        .bytes(kernels::matmul_bytes(n, n, n))
        .flops(kernels::matmul_flops(n, n, n));
    let (baseline, candidate) = (with(kernels::MATMUL_NAIVE), with(kernels::MATMUL_TILED));
    compare(bench, baseline, candidate)
}

fn compare(
    bench: Bench,
    baseline: Problem<'_>,
    candidate: Problem<'_>,
) -> Result<Comparison, Box<dyn Error>> {
    let spoiled = env::var("CANDIDATE").unwrap_or_default();
    let (baseline, candidate) = (baseline.variant(""), candidate.variant(&spoiled));
    let comparing = bench.compare(baseline, candidate);
    let comparing = comparing.tolerance(TOLERANCE, TOLERANCE);
    Ok(comparing
        .require_speedup(SPEEDUP)
        .require_memory(1.0)
        .run()?)
}

/// A kernel of two inputs, one output and some sizes.
#[derive(Clone)]
struct Problem<'a> {
    stream: &'a Arc<CudaStream>,
    ptx: &'static str,
    kernel: &'static str,
    inputs: [&'a CudaSlice<f32>; 2],
    /// Values of the output.
    results: usize,
    sizes: Vec<i32>,
    geometry: Geometry,
}

impl<'a> Problem<'a> {
    /// The kernel, eight times as slow or with a wrong value if it is to be `slower` or `wrong`.
    fn variant(self, spoiled: &str) -> Variant<'a> {
        let launches = if spoiled == "slower" { 8 } else { 1 };
        let error = if spoiled == "wrong" { 1.0 } else { 0.0 };
        let (name, stream) = (self.kernel, self.stream);
        Variant::new(
            name,
            move || Ready::new(self),
            move |ready| (0..launches).try_for_each(|_| ready.launch()),
            move |ready| -> Result<Vec<f32>, DriverError> {
                let mut output = stream.clone_dtoh(&ready.output)?;
                output[0] += error;
                Ok(output)
            },
        )
    }
}

/// A problem with its kernel loaded and its output allocated.
struct Ready<'a> {
    problem: Problem<'a>,
    kernel: CudaFunction,
    output: CudaSlice<f32>,
}

impl<'a> Ready<'a> {
    fn new(problem: Problem<'a>) -> Result<Self, DriverError> {
        let module = problem
            .stream
            .context()
            .load_module(Ptx::from_src(problem.ptx))?;
        Ok(Self {
            kernel: module.load_function(problem.kernel)?,
            output: problem.stream.alloc_zeros(problem.results)?,
            problem,
        })
    }

    fn launch(&mut self) -> Result<(), DriverError> {
        let Problem {
            stream,
            inputs: [first, second],
            sizes,
            geometry,
            ..
        } = &self.problem;
        let mut launch = stream.launch_builder(&self.kernel);
        launch.arg(*first).arg(*second).arg(&mut self.output);
        for size in sizes {
            launch.arg(size);
        }
        let config = LaunchConfig {
            grid_dim: geometry.grid,
            block_dim: geometry.block,
            shared_mem_bytes: 0,
        };
        // SAFETY: these are the kernel's parameters, and the slices have the sizes that they state.
        unsafe { launch.launch(config) }.map(drop)
    }
}

/// Values between 0 and 1 that differ from their neighbours.
fn upload(stream: &Arc<CudaStream>, count: usize) -> Result<CudaSlice<f32>, DriverError> {
    let value = |at: usize| (at * 7 % 31) as f32 / 31.0;
    stream.clone_htod(&(0..count).map(value).collect::<Vec<f32>>())
}
