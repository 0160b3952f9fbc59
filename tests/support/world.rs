//! The simulated device under a virtual clock that gpuprof shares: every number a test sees has one exact value.
//!
//! The clock, the driver and gpuprof are one per process, so the tests of a file take turns ([`world`]), each in a session
//! of its own.

// Each test file has it as a module of its own and uses its own part of it.
#![allow(dead_code, unreachable_pub)]

mod sound;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{Function, GpuSpanStats, TreeNode};
use gpuprof::{Profile, Session};
use simcuda::Sim;

pub use sound::assert_sound;

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

    /// Lets the GPU finish and ends the session. The profile is [sound](assert_sound).
    pub fn finish(&self, session: Session) -> Profile {
        self.gpu
            .stream
            .context()
            .synchronize()
            .expect("synchronize");
        let profile = session.finish();
        assert_sound(&profile);
        profile
    }

    /// Runs one timed span, and returns when what gpuprof does once per context is over: the calls it makes from now on
    /// are those that spans bring about.
    pub fn warm_up(&self, span: impl FnOnce()) {
        let session = self.session();
        span();
        until(|| session.snapshot().diagnostics.event_overhead_ns.is_some());
        self.finish(session);
    }
}

/// A context with one stream and a kernel that lasts as long as a test says.
pub struct Gpu {
    pub sim: Sim,
    pub context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
    function: CudaFunction,
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
            _buffers: (x, y),
            pointers,
            launch: Mutex::new(()),
        }
    }

    /// Launches a kernel of exactly `ns` on the world's stream.
    pub fn kernel(&self, ns: u64) {
        self.kernel_on(&self.stream, ns);
    }

    /// Launches a kernel of exactly `ns` on `stream`, by raw pointers so that cudarc's own tracking stays out of it.
    pub fn kernel_on(&self, stream: &Arc<CudaStream>, ns: u64) {
        // The duration is the device's: another thread's launch must not come between.
        let _launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        self.sim.set_kernel_ns(kernels::SAXPY, ns);
        let (n, a) = (LEN as u32, 1.0_f32);
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

/// Returns once `condition` holds: for what another thread does in its own time.
pub fn until(condition: impl Fn() -> bool) {
    // Only a hung test gets here.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "it never came to hold");
        std::thread::yield_now();
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
pub fn gpu<'a>(profile: &'a Profile, name: &str) -> &'a GpuSpanStats {
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

/// The node at the end of this chain of names from the top.
pub fn node<'a>(profile: &'a Profile, chain: &[&str]) -> &'a TreeNode {
    let mut parent = None;
    let mut found = None;
    for name in chain {
        let here = |node: &&TreeNode| node.parent == parent && node.name == *name;
        let node = profile.tree.iter().find(here);
        found =
            Some(node.unwrap_or_else(|| panic!("no {name} of {chain:?} in {:#?}", profile.tree)));
        parent = found.map(|node| node.id);
    }
    found.expect("a chain has a name")
}
