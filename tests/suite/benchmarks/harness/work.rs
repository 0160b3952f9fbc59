//! The simulated device on its virtual clock, and a kernel there.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use simcuda::{Options, Sim, install_with};

pub(crate) fn install() -> Sim {
    let options = Options {
        virtual_clock: true,
        ..Options::default()
    };
    let sim = install_with(&options).expect("the simulator");
    sim.set_call_ns("cuLaunchKernel", 0);
    sim
}

pub(crate) struct Saxpy {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

impl Saxpy {
    pub(crate) fn new(stream: &Arc<CudaStream>, n: usize) -> Result<Self, DriverError> {
        let ptx = Ptx::from_src(kernels::SAXPY_PTX);
        let module = stream.context().load_module(ptx)?;
        Ok(Self {
            kernel: module.load_function(kernels::SAXPY)?,
            x: stream.alloc_zeros(n)?,
            y: stream.alloc_zeros(n)?,
            stream: Arc::clone(stream),
        })
    }

    pub(crate) fn launch(&mut self) -> Result<(), DriverError> {
        let n = self.y.len() as u32;
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&n).arg(&2.0_f32).arg(&self.x).arg(&mut self.y);
        // SAFETY: these are the kernel's parameters, and both slices hold n elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.map(drop)
    }

    /// The result, with an error in its first value.
    pub(crate) fn output(&self, error: f32) -> Result<Vec<f32>, DriverError> {
        let mut values = self.stream.clone_dtoh(&self.y)?;
        values[0] += error;
        Ok(values)
    }
}
