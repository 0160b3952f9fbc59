//! What checks run on: the device that was asked for, a context, and two kernels of known effect
//! and length.
//!
//! Nothing here is annotated: a check annotates what it is about. Must never import: checks,
//! runner.

use std::fmt::Display;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::check::World;

/// Finds the device before cudarc does, which cannot change its mind later.
///
/// # Errors
/// A text for the user: no device answers and none may be simulated, or the simulator cannot be
/// loaded.
pub(crate) fn open(world: &World) -> Result<(), String> {
    if world.simulated {
        simcuda::install().map_err(|error| format!("the simulated device: {error}"))?;
        // For the checks that ask for CUPTI; the others never open it.
        return simcupti::install()
            .map(drop)
            .map_err(|error| format!("the simulated libcupti: {error}"));
    }
    match simcuda::real_or_simulated() {
        simcuda::Device::Real => Ok(()),
        simcuda::Device::Simulated(_) => Err(
            "no CUDA device answers here, and nothing but a device is asked for; \
             --simulated runs on the simulated device"
                .into(),
        ),
    }
}

/// The error of a call as a check gives it on, with what was being done.
pub(crate) fn while_doing<E: Display>(what: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{what}: {error}")
}

/// A context, where nothing else is said the primary one of device 0, and the kernels.
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    saxpy: CudaFunction,
    spin: CudaFunction,
}

impl Gpu {
    /// With cudarc's own event tracking off, and both kernels launched once: what a check launches
    /// is all that stands on its streams.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn new() -> Result<Gpu, DriverError> {
        Gpu::of(CudaContext::new(0)?)
    }

    /// The same of any context.
    ///
    /// # Errors
    /// The driver's.
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

    /// Launches each kernel once: drivers load a kernel's code at its first launch, which no check
    /// is about.
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
    /// The driver's.
    pub(crate) fn spin(&self, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
        let mut launch = stream.launch_builder(&self.spin);
        launch.arg(&ns);
        // SAFETY: this is the kernel's one parameter.
        unsafe { launch.launch(config(kernels::spin_geometry())) }.map(drop)
    }

    /// Queues `y = a * x + y`, which must be of one length.
    ///
    /// # Errors
    /// The driver's.
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

fn config(geometry: kernels::Geometry) -> LaunchConfig {
    LaunchConfig {
        grid_dim: geometry.grid,
        block_dim: geometry.block,
        shared_mem_bytes: 0,
    }
}
