//! The time and the memory of a profile with very many kernels, each launched by several functions.
//!
//! The kernels are empty. A driver compiles them from PTX; the simulated one knows none of them,
//! and has them take 10 µs.

use std::ffi::CString;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use gpuprof::gpu_profile;

use crate::host_memory;
use crate::outcome::Quartiles;

/// Profiles in a row, of which the median counts.
const PROFILES: usize = 5;

/// Launches between two synchronizations.
const LAUNCHES_AT_ONCE: usize = 300;

/// How long the records of all launches may take.
const RECORDS_LIMIT: Duration = Duration::from_secs(60);

/// Has every function launch `kernels` kernels, and makes profiles of it. Returns the functions,
/// the time of a profile in ms, and the most memory that one took on the heap, in bytes.
///
/// # Errors
/// A driver error, or a profile lacks a row.
pub(crate) fn measure(kernels: u64) -> Result<String, String> {
    simcuda::real_or_simulated_with(&simcuda::Options {
        unknown_kernels_fail: false,
        ..simcuda::Options::default()
    });
    let failed = |error: DriverError| format!("kernels: {error}");
    let context = CudaContext::new(0).map_err(failed)?;
    let stream = context.new_stream().map_err(failed)?;
    let loaded = load(kernels).map_err(failed)?;
    for function in FUNCTIONS {
        function(&stream, &loaded).map_err(failed)?;
    }
    wait_for_records(kernels)?;
    let (mut times, mut bytes) = (Vec::new(), 0);
    for _ in 0..PROFILES {
        host_memory::start_counting();
        let began = Instant::now();
        let profile = gpuprof::snapshot();
        times.push(began.elapsed().as_secs_f64() * 1e3);
        bytes = bytes.max(host_memory::stop_counting_peak());
        drop(profile);
    }
    let time = Quartiles::of(&times).median;
    Ok(format!("{} {time} {bytes}", FUNCTIONS.len()))
}

/// Until every function has a row of every kernel.
fn wait_for_records(kernels: u64) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let profile = gpuprof::collect();
        let functions = profile.functions.iter();
        let complete = functions.filter(|of| of.activity.kernels.len() as u64 == kernels);
        let complete = complete.count();
        if complete == FUNCTIONS.len() && profile.kernels.len() as u64 == kernels {
            return Ok(());
        }
        if began.elapsed() > RECORDS_LIMIT {
            let rows = profile.kernels.len();
            return Err(format!("{complete} functions are complete, {rows} kernels"));
        }
    }
}

/// Empty kernels with names as templates give them.
fn load(kernels: u64) -> Result<Vec<sys::CUfunction>, DriverError> {
    let names: Vec<String> = (0..kernels).map(symbol).collect();
    let mut ptx = String::from(".version 7.0\n.target sm_50\n.address_size 64\n");
    for name in &names {
        let _ = writeln!(ptx, ".visible .entry {name}()\n{{\n    ret;\n}}");
    }
    let image = CString::new(ptx).unwrap_or_default();
    // SAFETY: the image is PTX that ends in NUL.
    let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
    let function = |name: String| {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded and never unloaded.
        unsafe { result::module::get_function(module, name) }
    };
    names.into_iter().map(function).collect()
}

/// `void cutlass::device_kernel<gemm::Universal<cute::tuple<int, int>, gemm::Mma<STAGES,
/// cute::tuple<cute::C<M>, cute::C<N> > > > >(gemm::Params)`
fn symbol(number: u64) -> String {
    let (stages, m, n) = (number % 8, number / 8 % 50, number / 400);
    format!(
        "_ZN7cutlass13device_kernelIN4gemm9UniversalIN4cute5tupleIJiiEEEN4gemm3MmaILi{stages}EN4\
         cute5tupleIJN4cute1CILi{m}EEEN4cute1CILi{n}EEEEEEEEEEEEvN4gemm6ParamsE"
    )
}

type Launcher = fn(&Arc<CudaStream>, &[sys::CUfunction]) -> Result<(), DriverError>;

macro_rules! launchers {
    ($($name:ident)*) => {
        $(
            #[gpu_profile]
            fn $name(
                stream: &Arc<CudaStream>,
                kernels: &[sys::CUfunction],
            ) -> Result<(), DriverError> {
                launch_all(stream, kernels)
            }
        )*

        const FUNCTIONS: &[Launcher] = &[$($name),*];
    };
}

launchers!(forward backward optimize evaluate augment initialize);

fn launch_all(stream: &Arc<CudaStream>, kernels: &[sys::CUfunction]) -> Result<(), DriverError> {
    for kernels in kernels.chunks(LAUNCHES_AT_ONCE) {
        for kernel in kernels {
            let one = (1, 1, 1);
            // SAFETY: the kernel has no parameters.
            unsafe { result::launch_kernel(*kernel, one, one, 0, stream.cu_stream(), &mut []) }?;
        }
        stream.synchronize()?;
    }
    Ok(())
}
