//! The simulated device under a virtual clock that gpuprof shares: every number a test sees has one exact value.
//!
//! The clock, the driver and gpuprof are one per process, so the tests of a file take turns ([`world`]), each in a session
//! of its own.

// Each test file uses its own part of this.
#![allow(dead_code)]

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{Function, GpuTimes};
use gpuprof::{Profile, Session};
use simcuda::Sim;

/// The simulated world, for one test at a time.
pub struct World {
    pub sim: Sim,
    pub gpu: Gpu,
    _turn: MutexGuard<'static, ()>,
}

/// Takes the world for this test: virtual clock, no failures, no call counted yet.
pub fn world() -> World {
    world_with(1)
}

/// The same with so many devices; the first call of the process decides.
pub fn world_with(devices: u32) -> World {
    static TURN: Mutex<()> = Mutex::new(());
    static SIM: OnceLock<Sim> = OnceLock::new();
    // A failed test must not fail the others.
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let sim = *SIM.get_or_init(|| {
        let options = simcuda::Options {
            virtual_clock: true,
            devices,
            ..Default::default()
        };
        let sim = simcuda::install_with(&options).expect("the simulated driver is built");
        assert!(
            gpuprof::__private::drive_clock(sim.clock()),
            "the clock was read before"
        );
        sim
    });
    sim.clear_failures();
    sim.reset_calls();
    World {
        sim,
        gpu: Gpu::new(sim, 0),
        _turn: turn,
    }
}

impl World {
    /// Passes CPU time.
    pub fn cpu(&self, ns: u64) {
        self.sim.advance(ns);
    }

    /// A session with default settings.
    pub fn session(&self) -> Session {
        Session::builder()
            .start()
            .expect("no other session is open")
    }

    /// Lets the GPU finish and ends the session.
    pub fn finish(&self, session: Session) -> Profile {
        self.gpu
            .stream
            .context()
            .synchronize()
            .expect("synchronize");
        session.finish()
    }
}

/// A context with one stream and a kernel that lasts as long as a test says.
pub struct Gpu {
    pub sim: Sim,
    pub context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
    function: CudaFunction,
    buffers: Mutex<(CudaSlice<f32>, CudaSlice<f32>)>,
}

const LEN: usize = 4;

impl Gpu {
    pub fn new(sim: Sim, ordinal: usize) -> Self {
        let context = CudaContext::new(ordinal).expect("context");
        let stream = context.new_stream().expect("stream");
        let module = context
            .load_module(Ptx::from_src(kernels::SAXPY_PTX))
            .expect("module");
        let function = module.load_function(kernels::SAXPY).expect("function");
        let x = stream.alloc_zeros(LEN).expect("memory");
        let y = stream.alloc_zeros(LEN).expect("memory");
        context.synchronize().expect("synchronize");
        Self {
            sim,
            context,
            stream,
            function,
            buffers: Mutex::new((x, y)),
        }
    }

    /// Launches a kernel of exactly `ns` on the world's stream.
    pub fn kernel(&self, ns: u64) {
        self.kernel_on(&self.stream, ns);
    }

    /// Launches a kernel of exactly `ns` on `stream`, by raw arguments so that cudarc's own tracking stays out of it.
    pub fn kernel_on(&self, stream: &Arc<CudaStream>, ns: u64) {
        use cudarc::driver::{DevicePtr, DevicePtrMut};
        self.sim.set_kernel_ns(kernels::SAXPY, ns);
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let (x, y) = &mut *buffers;
        // The pointers, taken without letting cudarc order the streams: each test says itself what waits for what.
        let x = x.device_ptr(x.stream()).0;
        let y_stream = Arc::clone(y.stream());
        let y = y.device_ptr_mut(&y_stream).0;
        let (n, a) = (LEN as u32, 1.0_f32);
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&n).arg(&a).arg(&x).arg(&y);
        // SAFETY: these are saxpy's parameters, and both buffers hold `LEN` elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(LEN as u32)) }.expect("launch");
    }

    /// Another non-blocking stream of the same context.
    pub fn another_stream(&self) -> Arc<CudaStream> {
        self.context.new_stream().expect("stream")
    }
}

/// The one function of this name.
pub fn function<'a>(profile: &'a Profile, name: &str) -> &'a Function {
    let mut found = profile
        .functions
        .iter()
        .filter(|function| function.name == name);
    let names = || {
        profile
            .functions
            .iter()
            .map(|function| function.name.as_str())
            .collect::<Vec<_>>()
    };
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no function {name} among {:?}", names()));
    assert!(found.next().is_none(), "{name} stands twice");
    first
}

/// GPU times of the function of this name.
pub fn gpu<'a>(profile: &'a Profile, name: &str) -> &'a GpuTimes {
    function(profile, name)
        .gpu
        .as_ref()
        .unwrap_or_else(|| panic!("{name} was not timed: {:#?}", function(profile, name)))
}

/// `(calls, total, self)` of the function's CPU time.
pub fn cpu_times(profile: &Profile, name: &str) -> (u64, u64, u64) {
    let function = function(profile, name);
    (function.calls, function.cpu.total_ns, function.cpu.self_ns)
}

/// `(timed calls, total, self)` of the function's GPU time.
pub fn gpu_times(profile: &Profile, name: &str) -> (u64, u64, u64) {
    let gpu = gpu(profile, name);
    (gpu.timed_calls, gpu.times.total_ns, gpu.times.self_ns)
}
