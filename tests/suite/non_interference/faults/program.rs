//! The program of the fault matrix. It mixes everything that a failure could disturb, and prints
//! every answer of the driver, every result, and its own state.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{
    self, CUevent_flags, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode as Mode,
};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
    result,
};
use cudarc::driver::{DevicePtr, DevicePtrMut};
use cudarc::nvrtc::Ptx;
use gpuprof::{HasStream, StreamRef, gpu_profile, scope, with_stream};
use simcuda::Sim;
use support::foreign_context::{ForeignContext, RawStream};

use super::program_graphs;

/// The duration of each kernel, in ns; nothing else takes time.
pub(crate) const KERNEL_NS: u64 = 10_000;
const LEN: usize = 4;
pub(crate) const DEEP: u32 = 40;

pub(crate) type Answer<T> = Result<T, DriverError>;

/// A context with a kernel and its memory.
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    saxpy: CudaFunction,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
    pointers: (u64, u64),
}

impl Gpu {
    fn new(ordinal: usize) -> Answer<Self> {
        let context = CudaContext::new(ordinal)?;
        let stream = context.new_stream()?;
        let module = context.load_module(Ptx::from_src(kernels::SAXPY_PTX))?;
        let x = stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?;
        let mut y = stream.clone_htod(&[0.0_f32; LEN])?;
        let pointers = (x.device_ptr(&stream).0, y.device_ptr_mut(&stream).0);
        context.synchronize()?;
        Ok(Self {
            saxpy: module.load_function(kernels::SAXPY)?,
            context,
            stream,
            x,
            y,
            pointers,
        })
    }

    /// Queues `y = a * x + y` with raw pointers, so that cudarc's event tracking adds nothing to
    /// captures.
    pub(crate) fn launch(&self, stream: &Arc<CudaStream>, a: f32) -> Answer<()> {
        let (n, (x, y)) = (LEN as u32, &self.pointers);
        let mut launch = stream.launch_builder(&self.saxpy);
        launch.arg(&n).arg(&a).arg(x).arg(y);
        // SAFETY: these are saxpy's parameters, and both buffers hold `n` elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.map(drop)
    }
}

#[gpu_profile(bytes = 48)]
fn add(gpu: &Gpu, stream: &Arc<CudaStream>, a: f32) -> Answer<()> {
    gpu.launch(stream, a)
}

#[gpu_profile]
fn twice(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    add(gpu, stream, 0.5)?;
    add(gpu, stream, 0.25)
}

#[gpu_profile]
fn refused(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    gpu.launch(stream, 0.5)
}

#[gpu_profile]
fn deep(gpu: &Gpu, stream: &Arc<CudaStream>, depth: u32) -> Answer<()> {
    add(gpu, stream, 1.0)?;
    match depth {
        0 => Ok(()),
        _ => deep(gpu, stream, depth - 1),
    }
}

#[gpu_profile]
pub(crate) fn copies(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<Vec<f32>> {
    let copy = stream.clone_dtoh(&gpu.y)?;
    stream.synchronize()?;
    Ok(copy)
}

#[gpu_profile]
fn on_a_thread(gpu: &Gpu, stream: &Arc<CudaStream>) -> Answer<()> {
    twice(gpu, stream)
}

#[gpu_profile(stream = [a, b])]
fn on_two_devices(gpus: [&Gpu; 2], a: &Arc<CudaStream>, b: &Arc<CudaStream>) -> Answer<()> {
    gpus[0].launch(a, 0.125)?;
    gpus[1].launch(b, 0.125)
}

#[gpu_profile]
fn inherits(gpu: &Gpu, a: f32) -> Answer<()> {
    gpu.launch(&gpu.stream, a)
}

/// A stream whose context only the driver knows.
struct Raw<'a>(&'a Gpu);

impl HasStream for Raw<'_> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        // SAFETY: `self` keeps the stream, and spans are given `self` by reference alone.
        Some(unsafe { StreamRef::from_raw(self.0.stream.cu_stream().cast(), ptr::null_mut()) })
    }
}

#[gpu_profile]
fn raw(lent: &Raw<'_>) -> Answer<()> {
    lent.0.launch(&lent.0.stream, 2.0)
}

#[gpu_profile]
fn around(_lent: &RawStream, inside: impl FnOnce() -> Answer<()>) -> Answer<()> {
    inside()
}

/// Prints the result of a step, and the state that the program then finds: current context, stored
/// error, stream mode.
pub(crate) fn tell(gpu: &Gpu, step: &str, answer: impl std::fmt::Debug) {
    let current = result::ctx::get_current()
        .map(|current| current.map(|handle| handle == gpu.context.cu_ctx()));
    let (stored, multi) = (
        gpu.context.check_err(),
        gpu.context.is_in_multi_stream_mode(),
    );
    println!("{step}: {answer:?}; current {current:?}, stored {stored:?}, several streams {multi}");
}

/// Runs all steps of the program.
pub(crate) fn run(sim: Sim) -> Answer<()> {
    sim.set_kernel_ns(kernels::SAXPY, KERNEL_NS);
    let gpu = Gpu::new(0)?;
    everyday(&gpu);
    program_graphs::run(&gpu)?;
    stored_errors(&gpu);
    captures(&gpu)?;
    threads(&gpu);
    more_in_flight_than_events(&gpu);
    raw_streams(sim, &gpu)?;
    own_events(&gpu)?;
    second_device(&gpu)?;
    sim.advance(100 * KERNEL_NS);
    own_mistakes(&gpu);
    drop(gpuprof::collect());
    tell(&gpu, "at last", copies(&gpu, &gpu.stream));
    println!("{:?}", gpu.stream.clone_dtoh(&gpu.x));
    Ok(())
}

fn everyday(gpu: &Gpu) {
    for _ in 0..3 {
        let queued = twice(gpu, &gpu.stream);
        tell(gpu, "everyday", (queued, copies(gpu, &gpu.stream)));
    }
    with_stream(&gpu.stream, || {
        tell(gpu, "with a stream", inherits(gpu, 3.0))
    });
}

/// cudarc stores an error for the program; gpuprof must neither clear nor set it.
fn stored_errors(gpu: &Gpu) {
    let kept = DriverError(CUresult::CUDA_ERROR_INVALID_IMAGE);
    gpu.context.record_err::<()>(Err(kept));
    let queued = refused(gpu, &gpu.stream);
    drop(gpuprof::snapshot());
    tell(gpu, "with a stored error", queued);
    tell(gpu, "without it", twice(gpu, &gpu.stream));
}

fn captures(gpu: &Gpu) -> Answer<()> {
    let captured = gpu.stream.fork()?;
    gpu.context.synchronize()?;
    for mode in [
        Mode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        Mode::CU_STREAM_CAPTURE_MODE_RELAXED,
    ] {
        captured.begin_capture(mode)?;
        let inside = twice(gpu, &captured);
        let beside = twice(gpu, &gpu.stream);
        tell(gpu, "while capturing", (inside, beside));
        let graph = captured.end_capture(CUgraphInstantiate_flags(0))?;
        let graph = graph.expect("there is something in it");
        tell(gpu, "replayed", (graph.launch(), captured.synchronize()));
        captured.begin_capture(mode)?;
        let inside = add(gpu, &captured, 1.0);
        // Prohibited during the capture, except for a thread in RELAXED mode. SAFETY: freed below.
        let memory = unsafe { result::malloc_sync(4) };
        let ended = captured
            .end_capture(CUgraphInstantiate_flags(0))
            .map(|graph| graph.is_some());
        let freed = memory.map(|memory| {
            // SAFETY: allocated above, used by nobody.
            unsafe { result::free_sync(memory) }
        });
        tell(gpu, "spoiled", (inside, freed, ended));
    }
    Ok(())
}

/// Threads without a current context, which must still have none after a span.
fn threads(gpu: &Gpu) {
    let work = |a: f32| {
        let stream = gpu.context.per_thread_stream();
        let before = result::ctx::get_current().map(|current| current.is_some());
        let nothing = {
            scope!("nothing", &stream);
            result::ctx::get_current().map(|current| current.is_some())
        };
        let after = result::ctx::get_current().map(|current| current.is_some());
        let worked = (on_a_thread(gpu, &stream), add(gpu, &stream, a));
        let mut mode = Mode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        // SAFETY: the mode is writable.
        let exchanged = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result();
        format!("{before:?} {nothing:?} {after:?} {worked:?} {exchanged:?} {mode:?}")
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0_u8..3)
            .map(|at| scope.spawn(move || work(f32::from(at))))
            .collect();
        for thread in threads {
            tell(gpu, "on a thread", thread.join().expect("no panic"));
        }
    });
    // Synchronized here and not on the threads: it advances the clock, and that time would be
    // between other threads' events.
    tell(gpu, "after the threads", gpu.context.synchronize());
}

/// Opens more spans than the pool has pairs, so that this thread and the resolver create events.
fn more_in_flight_than_events(gpu: &Gpu) {
    for _ in 0..2 {
        let answer = deep(gpu, &gpu.stream, DEEP);
        tell(gpu, "deep", (answer, copies(gpu, &gpu.stream)));
        drop(gpuprof::collect());
    }
}

fn raw_streams(sim: Sim, gpu: &Gpu) -> Answer<()> {
    let answers = [raw(&Raw(gpu)), raw(&Raw(gpu))];
    tell(gpu, "raw", answers);
    for tells_context in [false, true] {
        // A context that gpuprof does not know yet.
        let other = ForeignContext::new(sim)?;
        let lent = other.raw_stream(other.stream, tells_context);
        let answers = [(); 2].map(|()| around(&lent, || other.kernel(other.stream, KERNEL_NS)));
        tell(gpu, "another context", (answers, other.synchronize()));
    }
    Ok(())
}

/// The program times itself with events of its own.
fn own_events(gpu: &Gpu) -> Answer<()> {
    let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
    let start = gpu.stream.record_event(flags)?;
    let answer = twice(gpu, &gpu.stream);
    let end = gpu.stream.record_event(flags)?;
    let early = end.is_complete();
    let elapsed = start.elapsed_ms(&end).map(f32::to_bits);
    tell(
        gpu,
        "own events",
        (answer, early, elapsed, end.is_complete()),
    );
    Ok(())
}

/// Uses a second device: its context is created late, dropped while its times are pending, and
/// created again.
fn second_device(gpu: &Gpu) -> Answer<()> {
    for _ in 0..2 {
        let second = Gpu::new(1)?;
        let both = on_two_devices([gpu, &second], &gpu.stream, &second.stream);
        tell(gpu, "two devices", (both, copies(&second, &second.stream)));
        tell(&second, "the second", add(&second, &second.stream, 1.0));
    }
    gpu.context.bind_to_thread()?;
    gpu.context.synchronize()
}

/// Errors that the program itself causes, whose codes it must see unchanged.
fn own_mistakes(gpu: &Gpu) {
    let name = CString::new("no such kernel").expect("no NUL");
    let mut function = ptr::null_mut();
    scope!("mistakes", &gpu.stream);
    // SAFETY: the handle is writable; a null module is refused.
    let looked_up =
        unsafe { sys::cuModuleGetFunction(&mut function, ptr::null_mut(), name.as_ptr()) }.result();
    // SAFETY: a null event is refused.
    let waited = unsafe { sys::cuEventSynchronize(ptr::null_mut()) }.result();
    let mut nothing: [*mut c_void; 0] = [];
    // SAFETY: a null function is refused.
    let launched = unsafe {
        result::launch_kernel(
            ptr::null_mut(),
            (1, 1, 1),
            (1, 1, 1),
            0,
            ptr::null_mut(),
            &mut nothing,
        )
    };
    tell(gpu, "mistakes", (looked_up, waited, launched));
}
