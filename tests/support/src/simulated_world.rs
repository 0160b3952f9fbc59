//! The simulated device under a virtual clock that gpuprof shares, so that every time in a profile
//! has one exact value.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::{Profile, Sampling, Session};
use promises::Done;
use simcuda::Sim;

use crate::assert_consistent;

/// The simulated driver and its first device.
pub struct World {
    pub sim: Sim,
    pub gpu: Gpu,
}

/// The world of this process: a virtual clock, no failures, and no driver call counted yet.
pub fn world() -> World {
    world_with(1)
}

/// The same with `devices` devices; the first call in a process decides.
pub fn world_with(devices: u32) -> World {
    static SIM: OnceLock<Sim> = OnceLock::new();
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
    }
}

impl World {
    /// Waits for the GPU.
    pub fn synchronize(&self) {
        self.gpu.context.synchronize().expect("synchronize");
    }

    /// Waits for the GPU, and until gpuprof has read its times.
    pub fn settle(&self) {
        self.synchronize();
        let _ = gpuprof::collect();
    }

    /// Passes CPU time.
    pub fn cpu(&self, ns: u64) {
        self.sim.advance(ns);
    }

    /// A session with default settings, in which every call is timed.
    pub fn session(&self) -> Session {
        Session::builder()
            .sampling(Sampling::EveryCall)
            .start()
            .expect("no other session is open")
    }

    /// Waits for the GPU and ends the session. The profile is [consistent](assert_consistent).
    pub fn finish(&self, session: Session) -> Profile {
        self.synchronize();
        let profile = session.finish();
        assert_consistent(&profile);
        profile
    }

    /// Runs one timed span and returns when gpuprof has finished its work for the context: for
    /// 50 ms of virtual time all later driver calls of gpuprof are caused by spans.
    pub fn warm_up(&self, span: impl FnOnce()) {
        let session = self.session();
        span();
        until(|| session.snapshot().diagnostics.event_overhead_ns.is_some());
        self.finish(session);
    }
}

/// A context with one stream, and a kernel whose duration the test chooses.
pub struct Gpu {
    pub sim: Sim,
    pub context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
    function: CudaFunction,
    spin: OnceLock<CudaFunction>,
    _buffers: (CudaSlice<f32>, CudaSlice<f32>),
    pointers: (u64, u64),
    launch: Mutex<()>,
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
        let pointers = (x.device_ptr(&stream).0, y.device_ptr(&stream).0);
        context.synchronize().expect("synchronize");
        Self {
            sim,
            context,
            stream,
            function,
            spin: OnceLock::new(),
            _buffers: (x, y),
            pointers,
            launch: Mutex::new(()),
        }
    }

    /// Launches a kernel of exactly `ns` on the world's stream.
    pub fn kernel(&self, ns: u64) {
        self.kernel_on(&self.stream, ns);
    }

    /// Launches a kernel of exactly `ns` on `stream`. Its buffers are passed as raw device
    /// pointers: for a `CudaSlice` cudarc would record events of its own.
    pub fn kernel_on(&self, stream: &Arc<CudaStream>, ns: u64) {
        self.scaled_kernel_on(stream, ns, 1.0);
    }

    /// The same with another factor `a` of saxpy.
    pub fn scaled_kernel_on(&self, stream: &Arc<CudaStream>, ns: u64, a: f32) {
        // `set_kernel_ns` applies to every later launch of this kernel, from any thread, so setting
        // and launching are one critical section.
        let _launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        self.sim.set_kernel_ns(kernels::SAXPY, ns);
        let n = LEN as u32;
        let (x, y) = &self.pointers;
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&n).arg(&a).arg(x).arg(y);
        // SAFETY: these are saxpy's parameters, and both buffers hold `LEN` elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(LEN as u32)) }.expect("launch");
    }

    /// Another non-blocking stream of the same context.
    pub fn another_stream(&self) -> Arc<CudaStream> {
        self.context.new_stream().expect("stream")
    }
}

impl promises::World for Gpu {
    fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    fn spin(&self, stream: &Arc<CudaStream>, ns: u64) -> Done {
        // A graph of it keeps the time, whatever that of saxpy is when the graph is launched.
        let mut launch = stream.launch_builder(self.spin.get_or_init(|| {
            let module = self.context.load_module(Ptx::from_src(kernels::SPIN_PTX));
            let spin = module.and_then(|module| module.load_function(kernels::SPIN));
            spin.expect("the simulated device has this kernel")
        }));
        launch.arg(&ns);
        // SAFETY: `ns` is the kernel's only parameter.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.map(drop)
    }

    fn add(
        &self,
        stream: &Arc<CudaStream>,
        from: &CudaSlice<f32>,
        to: &mut CudaSlice<f32>,
    ) -> Done {
        let (n, a) = (from.len().min(to.len()) as u32, 1.0_f32);
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&n).arg(&a).arg(from).arg(to);
        // SAFETY: these are saxpy's parameters, and both slices hold n elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.map(drop)
    }

    fn pass(&self, time: Duration) {
        self.sim.advance(time.as_nanos() as u64);
    }

    fn accept(&self, profile: &Profile) {
        assert_consistent(profile);
    }
}

/// Waits until `condition` holds, for what another thread does in its own time.
pub fn until(condition: impl Fn() -> bool) {
    // Only a hung test gets here.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition never held");
        std::thread::yield_now();
    }
}
