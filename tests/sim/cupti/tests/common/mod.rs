//! A client of CUPTI as a profiler is one: it opens the library by name, gives buffers and reads them. What it reads it parses by
//! offsets of its own, so that a field that the library writes in the wrong place is found out.
#![allow(dead_code, reason = "each test file uses its part")]

mod parsed;

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaGraph, CudaSlice, CudaStream, DevicePtr, DriverError,
    LaunchConfig, PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;
use simcuda::Sim;
use simcupti::{Cupti, Version};

pub(crate) use parsed::*;

pub(crate) const MEMCPY: u32 = 1;
pub(crate) const MEMSET: u32 = 2;
pub(crate) const DRIVER: u32 = 4;
pub(crate) const RUNTIME: u32 = 5;
pub(crate) const CONCURRENT_KERNEL: u32 = 10;
pub(crate) const MEMCPY2: u32 = 22;
pub(crate) const SYNCHRONIZATION: u32 = 38;
pub(crate) const EXTERNAL: u32 = 39;
pub(crate) const MEMORY2: u32 = 49;
/// `cuLaunchKernel`.
pub(crate) const LAUNCH: u32 = 307;
/// `CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0`.
pub(crate) const CUSTOM0: u32 = 3;
/// Floats that each launch is given.
pub(crate) const LEN: usize = 256;

/// Everything that a test needs, for one test at a time: the tests of a file share the process.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) cupti: Cupti,
    pub(crate) api: &'static Api,
    pub(crate) subscriber: usize,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) gpu: Gpu,
    _turn: MutexGuard<'static, ()>,
}

/// A kernel that lasts as long as a test says.
pub(crate) struct Gpu {
    sim: Sim,
    kernel: CudaFunction,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

/// Under the virtual clock, subscribed and with callbacks registered; nothing is enabled.
pub(crate) fn world() -> World {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let sim = simcuda::install_with(&simcuda::Options {
        virtual_clock: true,
        devices: 2,
        ..Default::default()
    })
    .unwrap();
    let cupti = simcupti::install().unwrap();
    cupti.reset();
    cupti.set_version(Version::Cuda13_0);
    sim.clear_failures();
    sim.set_kernel_ns("", 10_000);
    sim.set_kernel_ns("memcpy", 0);
    sim.set_kernel_ns("memset", 0);
    let context = CudaContext::new(0).unwrap();
    // SAFETY: the tests order their streams themselves.
    unsafe { context.disable_event_tracking() };
    sim.set_call_ns("cuLaunchKernel", 0);
    let stream = context.new_stream().unwrap();
    let ptx = include_str!("../../../../../kernels/ptx/saxpy.ptx");
    let module = context.load_module(Ptx::from_src(ptx)).unwrap();
    let api = Api::get();
    given().clear();
    told().clear();
    SIZE.store(1 << 20, Ordering::Release);
    MOST.store(0, Ordering::Release);
    let mut subscriber = 0;
    assert_eq!(
        (api.subscribe)(&mut subscriber, Some(called), std::ptr::null()),
        0
    );
    assert_eq!((api.register)(request, complete), 0);
    World {
        sim,
        cupti,
        api,
        subscriber,
        gpu: Gpu {
            sim,
            kernel: module.load_function("saxpy").unwrap(),
            x: stream.alloc_zeros(LEN).unwrap(),
            y: stream.alloc_zeros(LEN).unwrap(),
        },
        stream,
        _turn: turn,
    }
}

impl World {
    /// Enables kinds, of the driver's calls only `calls`.
    pub(crate) fn enable(&self, kinds: &[u32], calls: &[u32]) {
        for kind in kinds {
            assert_eq!((self.api.enable)(*kind), 0);
        }
        if calls.is_empty() {
            return;
        }
        assert_eq!((self.api.enable)(DRIVER), 0);
        for cbid in 1..800 {
            assert_eq!((self.api.enable_driver_api)(cbid, 0), 0);
        }
        for cbid in calls {
            assert_eq!((self.api.enable_driver_api)(*cbid, 1), 0);
        }
    }

    /// Launches saxpy of `ns` on the world's stream.
    pub(crate) fn launch(&mut self, ns: u64) {
        let stream = self.stream.clone();
        self.gpu.launch_on(&stream, ns);
    }

    /// Lets everything finish by time alone, and not by a call.
    pub(crate) fn pass(&self, ns: u64) {
        self.sim.advance(ns);
    }

    /// The number that records have for `stream`: the driver's own and 10 more.
    pub(crate) fn number(&self, stream: &CudaStream) -> u32 {
        let mut id = 0;
        // SAFETY: the stream lives, and `id` is writable.
        let code = unsafe { sys::cuStreamGetId(stream.cu_stream(), &mut id) };
        assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
        id as u32 + 10
    }

    /// Where the world's `y` is on the device.
    pub(crate) fn address(&self) -> u64 {
        self.gpu.y.device_ptr(&self.stream).0
    }

    /// Begins a capture on the world's stream.
    pub(crate) fn begin_capture(&self) {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).unwrap();
    }

    /// Ends it and instantiates the graph.
    pub(crate) fn end_capture(&self) -> CudaGraph {
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        self.stream.end_capture(flags).unwrap().unwrap()
    }

    /// What `cuptiActivityFlushAll(flag)` gives: the buffers it hands back.
    pub(crate) fn flush(&self, flag: u32) -> Vec<Vec<Record>> {
        assert_eq!((self.api.flush_all)(flag), 0);
        self.buffers()
    }

    /// The buffers that came back since the last question.
    pub(crate) fn buffers(&self) -> Vec<Vec<Record>> {
        std::mem::take(&mut *given())
    }

    /// What the subscriber was called back of since the last question.
    pub(crate) fn told(&self) -> Vec<Told> {
        std::mem::take(&mut *told())
    }

    /// Records that were dropped since the last question.
    pub(crate) fn dropped(&self) -> usize {
        let mut dropped = usize::MAX;
        assert_eq!((self.api.dropped)(0, 0, &mut dropped), 0);
        dropped
    }

    /// Pushes an external id on this thread.
    pub(crate) fn push(&self, id: u64) {
        assert_eq!((self.api.push)(CUSTOM0, id), 0);
    }

    /// Pops the innermost external id of this thread, or gives the code.
    pub(crate) fn pop(&self) -> Result<u64, u32> {
        let mut id = 0;
        match (self.api.pop)(CUSTOM0, &mut id) {
            0 => Ok(id),
            code => Err(code),
        }
    }
}

impl Gpu {
    /// Launches saxpy of `ns` on `stream`.
    pub(crate) fn launch_on(&mut self, stream: &Arc<CudaStream>, ns: u64) {
        self.try_launch_on(stream, ns).unwrap();
    }

    /// The same, with the driver's answer.
    pub(crate) fn try_launch_on(
        &mut self,
        stream: &Arc<CudaStream>,
        ns: u64,
    ) -> Result<(), DriverError> {
        self.sim.set_kernel_ns("saxpy", ns);
        let (n, a) = (LEN as u32, 2.0_f32);
        let mut launch = stream.launch_builder(&self.kernel);
        launch.arg(&n).arg(&a).arg(&self.x).arg(&mut self.y);
        let config = LaunchConfig {
            grid_dim: (2, 1, 1),
            block_dim: (128, 1, 1),
            shared_mem_bytes: 512,
        };
        // SAFETY: these are saxpy's parameters, and both buffers hold `LEN` floats.
        unsafe { launch.launch(config) }.map(drop)
    }
}

type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// One callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) site: i32,
    pub(crate) domain: u32,
    pub(crate) cbid: u32,
    pub(crate) correlation: u32,
    /// By CUPTI's clock.
    pub(crate) time: u64,
    pub(crate) answer: Option<i32>,
}

/// `CUpti_CallbackFunc`, by offsets: the site, where the answer is, the id that the call's records have.
pub(crate) type Called = extern "C" fn(*const c_void, u32, u32, *const u8);

extern "C" fn called(_: *const c_void, domain: u32, cbid: u32, about: *const u8) {
    let mut time = 0;
    assert_eq!((Api::get().timestamp)(&mut time), 0);
    // SAFETY: the structure of the header, whose fields these are.
    let site = unsafe { about.cast::<i32>().read() };
    // SAFETY: as above.
    let answer = unsafe { about.wrapping_add(24).cast::<*const i32>().read() };
    // SAFETY: as above.
    let correlation = unsafe { about.wrapping_add(64).cast::<u32>().read() };
    told().push(Told {
        site,
        domain,
        cbid,
        correlation,
        time,
        // SAFETY: null, or the driver's answer.
        answer: unsafe { answer.as_ref() }.copied(),
    });
}

fn told() -> MutexGuard<'static, Vec<Told>> {
    static TOLD: Mutex<Vec<Told>> = Mutex::new(Vec::new());
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CUPTI's functions, as a profiler looks them up.
pub(crate) struct Api {
    pub(crate) version: extern "C" fn(*mut u32) -> u32,
    pub(crate) subscribe: extern "C" fn(*mut usize, Option<Called>, *const c_void) -> u32,
    pub(crate) enable_callback: extern "C" fn(u32, usize, u32, u32) -> u32,
    pub(crate) unsubscribe: extern "C" fn(usize) -> u32,
    pub(crate) register: extern "C" fn(Request, Complete) -> u32,
    pub(crate) enable: extern "C" fn(u32) -> u32,
    pub(crate) set_attribute: extern "C" fn(u32, *mut usize, *const u8) -> u32,
    pub(crate) disable: extern "C" fn(u32) -> u32,
    pub(crate) enable_driver_api: extern "C" fn(u32, u8) -> u32,
    pub(crate) enable_runtime_api: extern "C" fn(u32, u8) -> u32,
    pub(crate) flush_all: extern "C" fn(u32) -> u32,
    pub(crate) flush_period: extern "C" fn(u32) -> u32,
    pub(crate) next: extern "C" fn(*mut u8, usize, *mut *mut u8) -> u32,
    pub(crate) dropped: extern "C" fn(usize, u32, *mut usize) -> u32,
    pub(crate) push: extern "C" fn(u32, u64) -> u32,
    pub(crate) pop: extern "C" fn(u32, *mut u64) -> u32,
    pub(crate) timestamp: extern "C" fn(*mut u64) -> u32,
    pub(crate) callback_name: extern "C" fn(u32, u32, *mut *const c_char) -> u32,
    pub(crate) result_string: extern "C" fn(u32, *mut *const c_char) -> u32,
}

impl Api {
    /// Opens the library by its real name, which must be loaded.
    pub(crate) fn get() -> &'static Api {
        static API: OnceLock<Api> = OnceLock::new();
        API.get_or_init(|| {
            // SAFETY: the simulated library is loaded under this name already.
            let library = unsafe { libloading::Library::new("libcupti.so.13") }.unwrap();
            let library = Box::leak(Box::new(library));
            macro_rules! find {
                ($name:literal) => {{
                    // SAFETY: the type is that of the header.
                    let symbol = unsafe { library.get($name) }.unwrap();
                    *symbol
                }};
            }
            Api {
                version: find!(b"cuptiGetVersion"),
                enable_callback: find!(b"cuptiEnableCallback"),
                subscribe: find!(b"cuptiSubscribe"),
                unsubscribe: find!(b"cuptiUnsubscribe"),
                register: find!(b"cuptiActivityRegisterCallbacks"),
                enable: find!(b"cuptiActivityEnable"),
                set_attribute: find!(b"cuptiActivitySetAttribute"),
                disable: find!(b"cuptiActivityDisable"),
                enable_driver_api: find!(b"cuptiActivityEnableDriverApi"),
                enable_runtime_api: find!(b"cuptiActivityEnableRuntimeApi"),
                flush_all: find!(b"cuptiActivityFlushAll"),
                flush_period: find!(b"cuptiActivityFlushPeriod"),
                next: find!(b"cuptiActivityGetNextRecord"),
                dropped: find!(b"cuptiActivityGetNumDroppedRecords"),
                push: find!(b"cuptiActivityPushExternalCorrelationId"),
                pop: find!(b"cuptiActivityPopExternalCorrelationId"),
                timestamp: find!(b"cuptiGetTimestamp"),
                callback_name: find!(b"cuptiGetCallbackName"),
                result_string: find!(b"cuptiGetResultString"),
            }
        })
    }

    /// Subscribes, and gives the code.
    pub(crate) fn subscribe(&self) -> u32 {
        let mut subscriber = 0;
        (self.subscribe)(&mut subscriber, None, std::ptr::null())
    }

    /// The text that a function writes, or the code.
    pub(crate) fn text(call: impl FnOnce(*mut *const c_char) -> u32) -> Result<String, u32> {
        let mut text = std::ptr::null();
        match call(&mut text) {
            // SAFETY: on success it is a NUL-terminated text of the library's.
            0 => Ok(unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()),
            code => Err(code),
        }
    }
}

/// Size of the buffers that are given, in bytes; 0 gives none.
pub(crate) static SIZE: AtomicUsize = AtomicUsize::new(0);
/// How many records the client wants in a buffer.
pub(crate) static MOST: AtomicUsize = AtomicUsize::new(0);

fn given() -> MutexGuard<'static, Vec<Vec<Record>>> {
    static GIVEN: Mutex<Vec<Vec<Record>>> = Mutex::new(Vec::new());
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the records were that the walk has gone over, in bytes.
pub(crate) fn lengths() -> MutexGuard<'static, Vec<usize>> {
    static LENGTHS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    LENGTHS.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let bytes = SIZE.load(Ordering::Acquire);
    // It may: the library holds no lock of its own while it asks.
    assert_eq!((Api::get().version)(&mut 0), 0);
    let memory = match bytes {
        0 => std::ptr::null_mut(),
        // Never freed; words, so that it is aligned as CUPTI wants.
        _ => Box::leak(vec![0xaaaa_aaaa_u64; bytes.div_ceil(8)].into_boxed_slice()).as_mut_ptr(),
    };
    // SAFETY: CUPTI gives a place for each of the three.
    unsafe { buffer.write(memory.cast()) };
    // SAFETY: as above.
    unsafe { size.write(bytes) };
    // SAFETY: as above.
    unsafe { most.write(MOST.load(Ordering::Acquire)) };
}

extern "C" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, size: usize, valid: usize) {
    assert!(valid <= size);
    let mut records = Vec::new();
    let mut starts = Vec::new();
    let mut at = std::ptr::null_mut();
    loop {
        match (Api::get().next)(buffer, valid, &mut at) {
            0 => {
                starts.push(at as usize);
                records.push(Record::parse(at));
            }
            12 => break,
            code => panic!("cuptiActivityGetNextRecord answers {code}"),
        }
    }
    let ends = starts
        .iter()
        .skip(1)
        .copied()
        .chain([buffer as usize + valid]);
    lengths().extend(ends.zip(&starts).map(|(end, start)| end - start));
    given().push(records);
}
