//! A tiny kernel launched alone, between two events recorded by hand, and in an annotated function.
//!
//! Launches and events use the driver directly, without cudarc's event tracking, so that rows
//! differ only in what surrounds the launch.

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use gpuprof::gpu_profile;

/// Launches between two synchronizations: fewer than the queue depth at which a launch waits (about
/// 1,024).
pub(crate) const BLOCK: u64 = 200;

/// Elements per launch.
const LEN: usize = 32;

/// The rows by name.
pub(crate) const ROWS: [(&str, Call); 4] = [
    ("gpu-bare", bare),
    ("gpu-hand", by_hand),
    ("gpu-hand-checked", by_hand_checked),
    ("gpu-span", span),
];

/// One call of a row. The number selects the event pair.
pub(crate) type Call = fn(&LaunchStream, u64) -> Result<(), DriverError>;

/// The stream of one thread, and events for one block.
pub(crate) struct LaunchStream {
    stream: Arc<CudaStream>,
    function: sys::CUfunction,
    x: sys::CUdeviceptr,
    y: sys::CUdeviceptr,
    pairs: Vec<[sys::CUevent; 2]>,
}

impl LaunchStream {
    /// Creates them on the first device. Nothing is destroyed, because the process ends.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn new() -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        context.bind_to_thread()?;
        let stream = context.new_stream()?;
        let image = CString::new(kernels::SAXPY_PTX).unwrap_or_default();
        // SAFETY: the image is PTX that ends in NUL.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        let name = CString::new(kernels::SAXPY).unwrap_or_default();
        // SAFETY: the module is loaded and never unloaded.
        let function = unsafe { result::module::get_function(module, name) }?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let pairs = (0..BLOCK).map(|_| Ok([event()?, event()?]));
        Ok(Self {
            stream,
            function,
            x: buffer()?,
            y: buffer()?,
            pairs: pairs.collect::<Result<_, _>>()?,
        })
    }

    /// Makes `calls` calls in blocks. The time excludes the synchronization after each block.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn run(&self, call: Call, calls: u64) -> Result<Duration, DriverError> {
        let mut took = Duration::ZERO;
        let mut left = calls;
        while left > 0 {
            let block = left.min(BLOCK);
            let start = Instant::now();
            for index in 0..block {
                call(self, black_box(index))?;
            }
            took += start.elapsed();
            self.stream.synchronize()?;
            left -= block;
        }
        Ok(took)
    }

    fn launch(&self) -> Result<(), DriverError> {
        let (mut n, mut a, mut x, mut y) = (LEN as u32, 0.5_f32, self.x, self.y);
        let mut arguments: [*mut c_void; 4] = [
            (&raw mut n).cast(),
            (&raw mut a).cast(),
            (&raw mut x).cast(),
            (&raw mut y).cast(),
        ];
        let (grid, block) = ((1, 1, 1), (LEN as u32, 1, 1));
        let stream = self.stream.cu_stream();
        // SAFETY: these are saxpy's parameters, and both buffers hold `LEN` elements.
        unsafe { result::launch_kernel(self.function, grid, block, 0, stream, &mut arguments) }
    }

    fn record(&self, event: sys::CUevent) -> Result<(), DriverError> {
        // SAFETY: event and stream are alive and belong to one context.
        unsafe { result::event::record(event, self.stream.cu_stream()) }
    }

    /// The checks needed before recording on an unknown stream.
    fn check(&self) -> Result<(), DriverError> {
        black_box(result::ctx::get_current()?);
        // SAFETY: the stream is alive.
        black_box(unsafe { result::stream::is_capturing(self.stream.cu_stream()) }?);
        Ok(())
    }

    /// The events of one call; there are as many pairs as calls in a block.
    fn pair(&self, index: u64) -> [sys::CUevent; 2] {
        self.pairs[index as usize]
    }
}

fn buffer() -> Result<sys::CUdeviceptr, DriverError> {
    // SAFETY: the buffer is written below, before anything reads it.
    let buffer = unsafe { result::malloc_sync(LEN * size_of::<f32>()) }?;
    // SAFETY: the buffer is as long as the slice.
    unsafe { result::memcpy_htod_sync(buffer, &[1.0_f32; LEN]) }?;
    Ok(buffer)
}

#[inline(never)]
fn bare(launcher: &LaunchStream, _index: u64) -> Result<(), DriverError> {
    launcher.launch()
}

#[inline(never)]
fn by_hand(launcher: &LaunchStream, index: u64) -> Result<(), DriverError> {
    let [start, end] = launcher.pair(index);
    launcher.record(start)?;
    launcher.launch()?;
    launcher.record(end)
}

#[inline(never)]
fn by_hand_checked(launcher: &LaunchStream, index: u64) -> Result<(), DriverError> {
    let [start, end] = launcher.pair(index);
    launcher.check()?;
    launcher.record(start)?;
    launcher.launch()?;
    launcher.check()?;
    launcher.record(end)
}

#[inline(never)]
fn span(launcher: &LaunchStream, _index: u64) -> Result<(), DriverError> {
    annotated(&launcher.stream, launcher)
}

#[gpu_profile(name = "bench/gpu")]
#[inline(never)]
fn annotated(stream: &Arc<CudaStream>, launcher: &LaunchStream) -> Result<(), DriverError> {
    black_box(stream);
    launcher.launch()
}
