//! The simulated device on its virtual clock, and one kernel there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use simcuda::{Options, Sim, install_with};

pub(crate) const KERNEL_NS: u64 = 12_500;

pub(crate) struct Saxpy {
    pub(crate) stream: Arc<CudaStream>,
    kernel: CudaFunction,
    x: CudaSlice<f32>,
    pub(crate) y: CudaSlice<f32>,
}

impl Saxpy {
    pub(crate) fn new() -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        // SAFETY: there is one stream.
        unsafe { context.disable_event_tracking() };
        Self::on(&context.new_stream()?)
    }

    pub(crate) fn on(stream: &Arc<CudaStream>) -> Result<Self, DriverError> {
        let (context, stream) = (stream.context(), Arc::clone(stream));
        let module = context.load_module(Ptx::from_src(kernels::SAXPY_PTX))?;
        Ok(Self {
            kernel: module.load_function(kernels::SAXPY)?,
            x: stream.alloc_zeros(256)?,
            y: stream.alloc_zeros(256)?,
            stream,
        })
    }

    pub(crate) fn launch(&mut self) -> Result<(), DriverError> {
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch
            .arg(&256_u32)
            .arg(&2.0_f32)
            .arg(&self.x)
            .arg(&mut self.y);
        // SAFETY: these are the kernel's parameters, and both slices hold 256 elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(256)) }.map(drop)
    }
}

/// The simulator and a kernel of [`KERNEL_NS`], for one test at a time.
pub(crate) fn saxpy() -> (Sim, Saxpy, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let sim = install_with(&Options {
        virtual_clock: true,
        ..Options::default()
    })
    .expect("the simulator");
    sim.clear_failures();
    sim.set_call_ns("cuLaunchKernel", 0);
    sim.set_kernel_ns("saxpy", KERNEL_NS);
    (sim, Saxpy::new().expect("a stream"), turn)
}
