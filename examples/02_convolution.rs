//! A 13×13 blur of a photograph, three times over, one of them with a costly slip.
//!
//! Run `cargo run --release --example 02_convolution`; the table comes on standard error at exit.
//!
//! Look at the GPU time of `convolve_double` against `convolve_single`: both state the same bytes
//! and flops, but the first adds up in a `double` by mistake. The result is right, so no test finds
//! it; the TFLOP/s of its row shows it. How much it costs is a matter of the device: GeForce-class
//! GPUs have one double-precision unit for 64 or 32 single-precision ones, those of the A100 and
//! H100 class one for two. `convolve_tiled` then reads from shared memory what the other two read
//! from the cache. `run_version` is the parent of all three: its self time on the GPU is the
//! check's launch, the warm-up, and what the GPU waits for the host in between.

use std::error::Error;
use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DriverError, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::gpu_profile;
use kernels::{Geometry, MASK, RADIUS};
use simcuda::Device;

/// In the program, so that it runs without the repository; data/README.md has origin and licence.
const PHOTOGRAPH: &[u8] = include_bytes!("data/astronaut.png");
/// The part of the photograph that is compared with the reference.
const ROWS: Range<usize> = 150..350;
const COLUMNS: Range<usize> = 200..400;
/// The largest relative error of a result; 169 roundings to f32 stay within it.
const TOLERANCE: f64 = 1e-5;

struct Version {
    kernel: &'static str,
    geometry: fn(u32, u32) -> Geometry,
    convolve: fn(&Arc<CudaStream>, &mut Convolution<'_>) -> Result<(), DriverError>,
}

const VERSIONS: [Version; 3] = [
    Version {
        kernel: kernels::CONVOLVE_DOUBLE,
        geometry: kernels::convolution_geometry,
        convolve: convolve_double,
    },
    Version {
        kernel: kernels::CONVOLVE_SINGLE,
        geometry: kernels::convolution_geometry,
        convolve: convolve_single,
    },
    Version {
        kernel: kernels::CONVOLVE_TILED,
        geometry: kernels::convolution_tiled_geometry,
        convolve: convolve_tiled,
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let device = simcuda::real_or_simulated();
    // A GPU needs milliseconds of work; the simulated one computes on the host.
    let (side, repetitions) = match device {
        Device::Real => (8192, 20),
        Device::Simulated(_) => (1024, 10),
    };
    let photograph = decode(PHOTOGRAPH)?;
    let mask = gaussian();
    let part = photograph.cut(ROWS, COLUMNS);
    let whole = photograph.cut(0..side, 0..side);

    let stream = CudaContext::new(0)?.default_stream();
    let ptx = Ptx::from_src(kernels::CONVOLUTION_PTX);
    let module = stream.context().load_module(ptx)?;
    let input = Input {
        expected: reference(&part, &mask),
        part: part.upload(&stream)?,
        whole: whole.upload(&stream)?,
        mask: upload(&stream, &mask)?,
        repetitions,
    };
    for version in &VERSIONS {
        run_version(&stream, &module, version, &input)?;
    }

    if let Device::Simulated(_) = device {
        println!("simulated device: the results are real, the GPU times are modelled");
    }
    println!(
        "what convolve_double costs depends on the device: double precision runs at 1/64 or 1/32 \
         of single on GeForce-class GPUs, at 1/2 on those of the A100 and H100 class"
    );
    Ok(())
}

/// Checks one version on a part of the photograph, then times it on the whole.
#[gpu_profile]
fn run_version(
    stream: &Arc<CudaStream>,
    module: &Arc<CudaModule>,
    version: &Version,
    input: &Input,
) -> Result<(), Box<dyn Error>> {
    let kernel = version.kernel;
    let f = module.load_function(kernel)?;
    let mut part = Convolution::new(stream, &f, version.geometry, &input.part, &input.mask)?;
    let mut whole = Convolution::new(stream, &f, version.geometry, &input.whole, &input.mask)?;

    // The check on the small image and the warm-up launch below call `launch`, which is not
    // profiled, so neither widens the spread (p95, max) in the row of this version.
    part.launch(stream)?;
    let error = check(&download(stream, &part.result)?, &input.expected);
    println!("{kernel}: relative error {error:.1e}");
    if error > TOLERANCE {
        return Err(format!("{kernel} is wrong: off by more than {TOLERANCE:.0e}").into());
    }
    whole.launch(stream)?;

    for _ in 0..input.repetitions {
        (version.convolve)(stream, &mut whole)?;
    }
    Ok(())
}

#[gpu_profile(
    bytes = kernels::convolution_bytes(work.image.height, work.image.width),
    flops = kernels::convolution_flops(work.image.height, work.image.width)
)]
fn convolve_double(
    stream: &Arc<CudaStream>,
    work: &mut Convolution<'_>,
) -> Result<(), DriverError> {
    work.launch(stream)
}

#[gpu_profile(
    bytes = kernels::convolution_bytes(work.image.height, work.image.width),
    flops = kernels::convolution_flops(work.image.height, work.image.width)
)]
fn convolve_single(
    stream: &Arc<CudaStream>,
    work: &mut Convolution<'_>,
) -> Result<(), DriverError> {
    work.launch(stream)
}

#[gpu_profile(
    bytes = kernels::convolution_bytes(work.image.height, work.image.width),
    flops = kernels::convolution_flops(work.image.height, work.image.width)
)]
fn convolve_tiled(stream: &Arc<CudaStream>, work: &mut Convolution<'_>) -> Result<(), DriverError> {
    work.launch(stream)
}

#[gpu_profile(bytes = 4 * host.len())]
fn upload(stream: &Arc<CudaStream>, host: &[f32]) -> Result<CudaSlice<f32>, DriverError> {
    stream.clone_htod(host)
}

#[gpu_profile(bytes = 4 * slice.len())]
fn download(stream: &Arc<CudaStream>, slice: &CudaSlice<f32>) -> Result<Vec<f32>, DriverError> {
    stream.clone_dtoh(slice)
}

/// The largest relative error; infinite where a result is not a number or missing.
#[gpu_profile(cpu, items = expected.len())]
fn check(result: &[f32], expected: &[f64]) -> f64 {
    if result.len() != expected.len() {
        return f64::INFINITY;
    }
    let errors = result.iter().zip(expected).map(|(&result, &expected)| {
        let error = (f64::from(result) - expected).abs() / expected.max(f64::MIN_POSITIVE);
        if error.is_nan() { f64::INFINITY } else { error }
    });
    errors.fold(0.0, f64::max)
}

/// Row-major pixels: a `Vec` on the host, a `CudaSlice` on the device.
struct Image<Pixels> {
    pixels: Pixels,
    height: usize,
    width: usize,
}

impl Image<Vec<f32>> {
    /// The given rows and columns, where the image repeats without end in both directions.
    fn cut(&self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let pixel = |i, j| self.pixels[i % self.height * self.width + j % self.width];
        let row = |i| columns.clone().map(move |j| pixel(i, j));
        Self {
            height: rows.len(),
            width: columns.len(),
            pixels: rows.flat_map(row).collect(),
        }
    }

    fn upload(&self, stream: &Arc<CudaStream>) -> Result<Image<CudaSlice<f32>>, DriverError> {
        Ok(Image {
            pixels: upload(stream, &self.pixels)?,
            height: self.height,
            width: self.width,
        })
    }
}

/// What every version gets.
struct Input {
    part: Image<CudaSlice<f32>>,
    /// The right result of `part`.
    expected: Vec<f64>,
    whole: Image<CudaSlice<f32>>,
    mask: CudaSlice<f32>,
    repetitions: usize,
}

/// A kernel, the image it is for, and the place of its result.
struct Convolution<'a> {
    f: &'a CudaFunction,
    geometry: Geometry,
    image: &'a Image<CudaSlice<f32>>,
    mask: &'a CudaSlice<f32>,
    result: CudaSlice<f32>,
}

impl<'a> Convolution<'a> {
    fn new(
        stream: &Arc<CudaStream>,
        f: &'a CudaFunction,
        geometry: fn(u32, u32) -> Geometry,
        image: &'a Image<CudaSlice<f32>>,
        mask: &'a CudaSlice<f32>,
    ) -> Result<Self, DriverError> {
        Ok(Self {
            f,
            geometry: geometry(image.height as u32, image.width as u32),
            image,
            mask,
            result: stream.alloc_zeros(image.pixels.len())?,
        })
    }

    fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
        let (height, width) = (self.image.height as i32, self.image.width as i32);
        let mut launch = stream.launch_builder(self.f);
        launch.arg(&self.image.pixels).arg(self.mask);
        launch.arg(&mut self.result).arg(&height).arg(&width);
        // SAFETY: these are the kernel's parameters, and image and result hold height * width
        // pixels.
        unsafe {
            launch.launch(LaunchConfig {
                grid_dim: self.geometry.grid,
                block_dim: self.geometry.block,
                shared_mem_bytes: 0,
            })
        }?;
        Ok(())
    }
}

/// The photograph in gray, by the luma weights of ITU-R BT.601, from 0 to 1.
fn decode(file: &[u8]) -> Result<Image<Vec<f32>>, Box<dyn Error>> {
    let mut reader = png::Decoder::new(Cursor::new(file)).read_info()?;
    let size = reader
        .output_buffer_size()
        .ok_or("the photograph is too large")?;
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes)?;
    if (frame.color_type, frame.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
        return Err("the photograph is not 8-bit RGB".into());
    }
    let gray = |rgb: &[u8]| {
        let [r, g, b] = [rgb[0], rgb[1], rgb[2]].map(f32::from);
        (0.299 * r + 0.587 * g + 0.114 * b) / 255.0
    };
    Ok(Image {
        pixels: bytes.chunks_exact(3).map(gray).collect(),
        height: frame.height as usize,
        width: frame.width as usize,
    })
}

/// A Gaussian that sums to 1. It is off centre and wider than high, so that a mask that is mirrored
/// or transposed by mistake gives another picture.
fn gaussian() -> Vec<f32> {
    let weight = |n: usize| {
        let k = (n / MASK) as f64 - RADIUS as f64 - 0.5;
        let l = (n % MASK) as f64 - RADIUS as f64 + 1.0;
        (-k * k / 8.0 - l * l / 18.0).exp()
    };
    let weights: Vec<f64> = (0..MASK * MASK).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| (w / sum) as f32).collect()
}

/// The convolution in double precision on the host; zero outside the image, as in the kernels.
fn reference(image: &Image<Vec<f32>>, mask: &[f32]) -> Vec<f64> {
    let (height, width) = (image.height, image.width);
    let mut result = vec![0.0; height * width];
    for (n, sum) in result.iter_mut().enumerate() {
        for (m, weight) in mask.iter().enumerate() {
            let (i, j) = (n / width + RADIUS, n % width + RADIUS);
            let (k, l) = (m / MASK, m % MASK);
            if (k..height + k).contains(&i) && (l..width + l).contains(&j) {
                let pixel = image.pixels[(i - k) * width + j - l];
                *sum += f64::from(*weight) * f64::from(pixel);
            }
        }
    }
    result
}
