//! A client of CUPTI, like a profiler: it opens the library by name, provides buffers and reads
//! them. It parses records by its own table of offsets, so that a field at a wrong offset is
//! detected.
#![allow(dead_code, reason = "each test file uses a part")]

mod api;
mod module_callbacks;
mod parsed;
pub(crate) mod pc_client;
mod words;

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaGraph, CudaSlice, CudaStream, DevicePtr, DriverError,
    LaunchConfig, PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;
use simcuda::Sim;
use simcupti::{Cupti, Version};

pub(crate) use api::Api;
pub(crate) use module_callbacks::*;
pub(crate) use parsed::*;
pub(crate) use words::*;

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
/// `CUPTI_CB_DOMAIN_RESOURCE`.
pub(crate) const RESOURCE: u32 = 3;
/// `CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0`.
pub(crate) const CUSTOM0: u32 = 3;
/// The length of the arrays that each launch gets.
pub(crate) const LEN: usize = 256;

/// Everything that a test needs. Only one exists at a time, because the tests of a file share the
/// process.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) cupti: Cupti,
    pub(crate) api: &'static Api,
    pub(crate) subscriber: usize,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) gpu: Gpu,
    _turn: MutexGuard<'static, ()>,
}

/// A kernel whose duration a test sets.
pub(crate) struct Gpu {
    sim: Sim,
    kernel: CudaFunction,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

/// Under the virtual clock, with a subscriber and registered buffer callbacks; nothing is enabled.
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
    // SAFETY: each test orders the work of its streams.
    unsafe { context.disable_event_tracking() };
    sim.set_call_ns("cuLaunchKernel", 0);
    let stream = context.new_stream().unwrap();
    let ptx = include_str!("../../../../../kernels/ptx/saxpy.ptx");
    let module = context.load_module(Ptx::from_src(ptx)).unwrap();
    let api = Api::get();
    returned().clear();
    callbacks().clear();
    node_callbacks().clear();
    module_callbacks().clear();
    SIZE.store(1 << 20, Ordering::Release);
    MAX_RECORDS.store(0, Ordering::Release);
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
    /// Enables `kinds`, and of the driver calls only `calls`.
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

    /// Advances the time without a CUDA call.
    pub(crate) fn pass(&self, ns: u64) {
        self.sim.advance(ns);
    }

    /// The number of `stream` in records: the driver's id plus 10.
    pub(crate) fn number(&self, stream: &CudaStream) -> u32 {
        let mut id = 0;
        // SAFETY: the stream lives, and `id` is writable.
        let code = unsafe { sys::cuStreamGetId(stream.cu_stream(), &mut id) };
        assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
        id as u32 + 10
    }

    /// The handle of the world's context.
    pub(crate) fn context(&self) -> u64 {
        self.stream.context().cu_ctx() as u64
    }

    /// The device address of the world's `y`.
    pub(crate) fn address(&self) -> u64 {
        self.gpu.y.device_ptr(&self.stream).0
    }

    /// Begins a capture on the world's stream.
    pub(crate) fn begin_capture(&self) {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).unwrap();
    }

    /// Ends the capture and instantiates the graph.
    pub(crate) fn end_capture(&self) -> CudaGraph {
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        self.stream.end_capture(flags).unwrap().unwrap()
    }

    /// Calls `cuptiActivityFlushAll(flag)`; returns the buffers since the last call.
    pub(crate) fn flush(&self, flag: u32) -> Vec<Vec<Record>> {
        assert_eq!((self.api.flush_all)(flag), 0);
        self.buffers()
    }

    /// The buffers that were returned since the last call.
    pub(crate) fn buffers(&self) -> Vec<Vec<Record>> {
        std::mem::take(&mut *returned())
    }

    /// The callbacks to the subscriber since the last call.
    pub(crate) fn callbacks(&self) -> Vec<ReceivedCallback> {
        std::mem::take(&mut *callbacks())
    }

    /// The callbacks about graph nodes since the last call: the callback id, the node and, if it is
    /// a copy, its original.
    pub(crate) fn node_callbacks(&self) -> Vec<(u32, u64, Option<u64>)> {
        std::mem::take(&mut *node_callbacks())
    }

    /// The records that were dropped since the last call.
    pub(crate) fn dropped(&self) -> usize {
        let mut dropped = usize::MAX;
        assert_eq!((self.api.dropped)(0, 0, &mut dropped), 0);
        dropped
    }

    /// Pushes an external id on this thread.
    pub(crate) fn push(&self, id: u64) {
        assert_eq!((self.api.push)(CUSTOM0, id), 0);
    }

    /// Pops the innermost external id of this thread, or returns the code.
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

    /// The same, with the driver's result.
    pub(crate) fn try_launch_on(
        &mut self,
        stream: &Arc<CudaStream>,
        ns: u64,
    ) -> Result<(), DriverError> {
        self.try_scaled_launch_on(stream, ns, 2.0)
    }

    /// The same with another factor of saxpy.
    pub(crate) fn try_scaled_launch_on(
        &mut self,
        stream: &Arc<CudaStream>,
        ns: u64,
        a: f32,
    ) -> Result<(), DriverError> {
        self.sim.set_kernel_ns("saxpy", ns);
        let n = LEN as u32;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedCallback {
    pub(crate) site: i32,
    pub(crate) domain: u32,
    pub(crate) cbid: u32,
    pub(crate) correlation: u32,
    /// By CUPTI's clock.
    pub(crate) time: u64,
    pub(crate) result: Option<i32>,
    /// The third word of the parameters, which is the size of most copies and memsets.
    pub(crate) third_parameter: Option<usize>,
}

extern "C" fn called(_: *const c_void, domain: u32, cbid: u32, data: *const u8) {
    if domain == RESOURCE && [CONTEXT_CREATED, MODULE_LOADED, MODULE_UNLOADED].contains(&cbid) {
        return module_callbacks::called(cbid, data);
    }
    if domain == RESOURCE {
        return called_for_node(cbid, data);
    }
    let mut time = 0;
    assert_eq!((Api::get().timestamp)(&mut time), 0);
    // SAFETY: the header declares a field of this type at this offset.
    let site = unsafe { data.cast::<i32>().read() };
    // SAFETY: as above.
    let parameters = unsafe { data.wrapping_add(16).cast::<*const usize>().read() };
    // SAFETY: as above.
    let result = unsafe { data.wrapping_add(24).cast::<*const i32>().read() };
    // SAFETY: as above.
    let correlation = unsafe { data.wrapping_add(64).cast::<u32>().read() };
    callbacks().push(ReceivedCallback {
        site,
        domain,
        cbid,
        correlation,
        time,
        // SAFETY: null, or a pointer to the driver's result.
        result: unsafe { result.as_ref() }.copied(),
        // SAFETY: null, or a struct of at least three words.
        third_parameter: unsafe { parameters.cast::<[usize; 3]>().as_ref() }.map(|words| words[2]),
    });
}

fn called_for_node(cbid: u32, data: *const u8) {
    // SAFETY: the header declares a field of this type at this offset.
    let graph = unsafe { data.wrapping_add(16).cast::<*const u8>().read() };
    let [node, original] = [16, 24].map(|offset| {
        // SAFETY: as above.
        let handle = unsafe { graph.wrapping_add(offset).cast::<usize>().read() };
        let mut number = 0;
        let code = (Api::get().graph_node_id)(handle, &mut number);
        (code == 0).then_some(number)
    });
    node_callbacks().push((cbid, node.unwrap(), original));
}

fn node_callbacks() -> MutexGuard<'static, Vec<(u32, u64, Option<u64>)>> {
    static CALLBACKS: Mutex<Vec<(u32, u64, Option<u64>)>> = Mutex::new(Vec::new());
    CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn callbacks() -> MutexGuard<'static, Vec<ReceivedCallback>> {
    static CALLBACKS: Mutex<Vec<ReceivedCallback>> = Mutex::new(Vec::new());
    CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Size of the buffers in bytes; 0 for no buffer.
pub(crate) static SIZE: AtomicUsize = AtomicUsize::new(0);
/// Limit of records per buffer; 0 for none.
pub(crate) static MAX_RECORDS: AtomicUsize = AtomicUsize::new(0);

fn returned() -> MutexGuard<'static, Vec<Vec<Record>>> {
    static RETURNED: Mutex<Vec<Vec<Record>>> = Mutex::new(Vec::new());
    RETURNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sizes of the records so far, in bytes.
pub(crate) fn sizes() -> MutexGuard<'static, Vec<usize>> {
    static SIZES: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    SIZES.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, max_records: *mut usize) {
    let bytes = SIZE.load(Ordering::Acquire);
    // A client may call CUPTI here, because the library holds no lock meanwhile.
    assert_eq!((Api::get().version)(&mut 0), 0);
    let memory = match bytes {
        0 => std::ptr::null_mut(),
        // Never freed. Words, because CUPTI requires an alignment of 8.
        _ => Box::leak(vec![0xaaaa_aaaa_u64; bytes.div_ceil(8)].into_boxed_slice()).as_mut_ptr(),
    };
    // SAFETY: CUPTI passes a valid place for each of the three.
    unsafe { buffer.write(memory.cast()) };
    // SAFETY: as above.
    unsafe { size.write(bytes) };
    // SAFETY: as above.
    unsafe { max_records.write(MAX_RECORDS.load(Ordering::Acquire)) };
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
            code => panic!("cuptiActivityGetNextRecord returned {code}"),
        }
    }
    let ends = starts
        .iter()
        .skip(1)
        .copied()
        .chain([buffer as usize + valid]);
    sizes().extend(ends.zip(&starts).map(|(end, start)| end - start));
    returned().push(records);
}
