//! The device that checks run on: a context, and two kernels with a known effect and duration.
//!
//! Nothing here is annotated: each check annotates its own functions.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, sys};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
pub(crate) use promises::failed_in;
use promises::{Done, Tolerance, World};

use crate::check::RunMode;

/// Selects the device before cudarc does, because cudarc's choice is final.
///
/// # Errors
/// A message for the user: there is no device and simulation was not requested, or the simulator
/// cannot be loaded.
pub(crate) fn open(run_mode: &RunMode) -> Result<(), String> {
    if run_mode.simulated {
        simcuda::install().map_err(|error| format!("cannot load the simulated device: {error}"))?;
        // Only checks that use CUPTI load it.
        return simcupti::install()
            .map(drop)
            .map_err(|error| format!("cannot load the simulated libcupti: {error}"));
    }
    match simcuda::real_or_simulated() {
        simcuda::Device::Real => Ok(()),
        simcuda::Device::Simulated(_) => {
            Err("no CUDA device answers; --simulated runs on the simulated device".into())
        }
    }
}

/// The accepted span around a spin kernel: 2 %, and what two records and a launch add on a busy
/// stream. The simulated device runs each kernel for exactly the requested time.
pub(crate) const TOLERANCE: Tolerance = Tolerance {
    longer: 0.02,
    longer_ns: 20_000,
    shorter_ns: 2_000,
    nested_ns: 4_000,
    resolution_ns: 500,
    of_host_ns: 5_000_000_000,
};

/// What is taken off a span for each timed call nested in it on the simulated device, whose events
/// are as far apart as the host records them: on a machine with much else to do, 18 µs were seen.
pub(crate) const SIMULATED_OVERHEAD_NS: u64 = 100_000;

/// `cuLaunchKernel`, or a variant of it.
pub(crate) type LaunchKernel = unsafe extern "C" fn(
    sys::CUfunction,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    sys::CUstream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> sys::CUresult;

/// A context and the kernels.
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    saxpy: CudaFunction,
    spin: CudaFunction,
}

impl Gpu {
    /// The primary context of device 0. cudarc's event tracking is off and both kernels have been
    /// launched once, so that a check's streams contain only the check's own work.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn new() -> Result<Gpu, DriverError> {
        Gpu::of(CudaContext::new(0)?)
    }

    /// Like [`Gpu::new`] for any context.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn of(context: Arc<CudaContext>) -> Result<Gpu, DriverError> {
        // SAFETY: checks order their streams themselves.
        unsafe { context.disable_event_tracking() };
        let load = |ptx: &str, name| context.load_module(Ptx::from_src(ptx))?.load_function(name);
        let saxpy = load(kernels::SAXPY_PTX, kernels::SAXPY)?;
        let spin = load(kernels::SPIN_PTX, kernels::SPIN)?;
        let gpu = Gpu {
            context,
            saxpy,
            spin,
        };
        gpu.warm_up()?;
        Ok(gpu)
    }

    /// Launches each kernel once, because drivers load a kernel's code at its first launch.
    fn warm_up(&self) -> Result<(), DriverError> {
        let stream = self.context.default_stream();
        let x = stream.alloc_zeros(1)?;
        let mut y = stream.alloc_zeros(1)?;
        self.saxpy(&stream, 0.0, &x, &mut y)?;
        self.spin(&stream, 0)?;
        stream.synchronize()
    }

    /// Keeps `stream` busy for `ns` nanoseconds.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn spin(&self, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
        let mut launch = stream.launch_builder(&self.spin);
        launch.arg(&ns);
        // SAFETY: `ns` is the kernel's only parameter.
        unsafe { launch.launch(config(kernels::spin_geometry())) }.map(drop)
    }

    /// Like [`Gpu::spin`] by another variant of the driver's call.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn spin_by(
        &self,
        launch: LaunchKernel,
        stream: &Arc<CudaStream>,
        ns: u64,
    ) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        let kernels::Geometry { grid, block } = kernels::spin_geometry();
        let mut arguments = [ptr::from_ref(&ns).cast_mut().cast()];
        // SAFETY: `ns` is the kernel's only parameter, and the driver reads it during the call.
        unsafe {
            launch(
                self.spin.cu_function(),
                grid.0,
                grid.1,
                grid.2,
                block.0,
                block.1,
                block.2,
                0,
                stream.cu_stream(),
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
        .result()
    }

    /// Queues `y = a * x + y`; both slices must have the same length.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn saxpy(
        &self,
        stream: &Arc<CudaStream>,
        a: f32,
        x: &CudaSlice<f32>,
        y: &mut CudaSlice<f32>,
    ) -> Result<(), DriverError> {
        assert_eq!(x.len(), y.len());
        let n = y.len() as u32;
        let mut launch = stream.launch_builder(&self.saxpy);
        launch.arg(&n).arg(&a).arg(x).arg(y);
        // SAFETY: these are the kernel's parameters, and both slices hold n elements.
        unsafe { launch.launch(config(kernels::saxpy_geometry(n))) }.map(drop)
    }
}

impl World for Gpu {
    fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    fn spin(&self, stream: &Arc<CudaStream>, ns: u64) -> Done {
        Gpu::spin(self, stream, ns)
    }

    fn add(
        &self,
        stream: &Arc<CudaStream>,
        from: &CudaSlice<f32>,
        to: &mut CudaSlice<f32>,
    ) -> Done {
        self.saxpy(stream, 1.0, from, to)
    }

    fn pass(&self, time: Duration) {
        thread::sleep(time);
    }
}

fn config(geometry: kernels::Geometry) -> LaunchConfig {
    LaunchConfig {
        grid_dim: geometry.grid,
        block_dim: geometry.block,
        shared_mem_bytes: 0,
    }
}
