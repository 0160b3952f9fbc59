//! A tiny kernel launched alone, between two events recorded by hand, and in an annotated function.
//!
//! Launches and events use the driver directly, without cudarc's event tracking, so that rows
//! differ only in what surrounds the launch.

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::ops::DerefMut;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use gpuprof::gpu_profile;

/// Launches of a thread between two synchronizations, at most.
const LONGEST_BLOCK: u64 = 200;

/// Launches of all threads between two synchronizations, at most. With two events each they are
/// fewer than the queue depth at which a launch waits (about 1,024), also if all threads share a
/// stream.
const LAUNCHES_AT_ONCE: u64 = 320;

/// Elements per launch.
const LEN: usize = 32;

/// The rows by name.
pub(crate) const ROWS: [Row; 7] = [
    row("gpu-bare", bare, Streams::OnePerThread),
    row("gpu-hand", by_hand, Streams::OnePerThread),
    row("gpu-hand-checked", by_hand_checked, Streams::OnePerThread),
    row("gpu-span", span, Streams::OnePerThread),
    row("gpu-bare-shared", bare, Streams::Shared),
    row("gpu-hand-shared", by_hand, Streams::Shared),
    row("gpu-span-shared", span, Streams::Shared),
];

/// What is called, and on which streams.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    call: Call,
    streams: Streams,
}

/// The streams that the threads of a row launch on.
#[derive(Clone, Copy)]
enum Streams {
    OnePerThread,
    Shared,
}

const fn row(name: &'static str, call: Call, streams: Streams) -> Row {
    Row {
        name,
        call,
        streams,
    }
}

/// One call of a row. The number selects the event pair.
type Call = fn(&LaunchStream, u64) -> Result<(), DriverError>;

/// The stream of one thread, and events for one block.
struct LaunchStream {
    stream: Arc<CudaStream>,
    function: sys::CUfunction,
    x: sys::CUdeviceptr,
    y: sys::CUdeviceptr,
    pairs: Vec<[sys::CUevent; 2]>,
}

// SAFETY: the driver's functions, buffers and events belong to the context, not to a thread.
unsafe impl Send for LaunchStream {}

/// Those that no thread uses: `OnePerThread`, `Shared`. Each measurement has new threads, and their
/// streams, modules and events must not become more with every round.
static IDLE: [Mutex<Vec<LaunchStream>>; 2] = [const { Mutex::new(Vec::new()) }; 2];

/// The stream of the rows with `Streams::Shared`.
static SHARED: Mutex<Option<Arc<CudaStream>>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> impl DerefMut<Target = T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A row on one of several threads.
pub(crate) struct ThreadLaunches {
    row: Row,
    /// `None` once it is returned.
    stream: Option<LaunchStream>,
    block: u64,
}

impl ThreadLaunches {
    /// For the calling thread, one of `threads`, on the first device.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn new(row: Row, threads: u64) -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        context.bind_to_thread()?;
        let idle = lock(&IDLE[row.streams as usize]).pop();
        let stream = match (idle, row.streams) {
            (Some(idle), _) => idle,
            (None, Streams::OnePerThread) => LaunchStream::new(context.new_stream()?)?,
            (None, Streams::Shared) => {
                let mut shared = lock(&SHARED);
                let stream = match shared.as_ref() {
                    Some(stream) => stream.clone(),
                    None => shared.insert(context.new_stream()?).clone(),
                };
                LaunchStream::new(stream)?
            }
        };
        Ok(Self {
            row,
            stream: Some(stream),
            block: LONGEST_BLOCK.min(LAUNCHES_AT_ONCE / threads).max(1),
        })
    }

    /// Makes `calls` calls in blocks. The time excludes the synchronization after each block.
    ///
    /// # Errors
    /// A driver error.
    pub(crate) fn run(&self, calls: u64) -> Result<Duration, DriverError> {
        let mut took = Duration::ZERO;
        let Some(stream) = &self.stream else {
            return Ok(took);
        };
        let mut left = calls;
        while left > 0 {
            let block = left.min(self.block);
            let start = Instant::now();
            for index in 0..block {
                (self.row.call)(stream, black_box(index))?;
            }
            took += start.elapsed();
            stream.stream.synchronize()?;
            left -= block;
        }
        Ok(took)
    }
}

impl Drop for ThreadLaunches {
    /// Nothing is destroyed, because the process ends.
    fn drop(&mut self) {
        lock(&IDLE[self.row.streams as usize]).extend(self.stream.take());
    }
}

impl LaunchStream {
    fn new(stream: Arc<CudaStream>) -> Result<Self, DriverError> {
        let image = CString::new(kernels::SAXPY_PTX).unwrap_or_default();
        // SAFETY: the image is PTX that ends in NUL.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        let name = CString::new(kernels::SAXPY).unwrap_or_default();
        // SAFETY: the module is loaded and never unloaded.
        let function = unsafe { result::module::get_function(module, name) }?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let pairs = (0..LONGEST_BLOCK).map(|_| Ok([event()?, event()?]));
        Ok(Self {
            stream,
            function,
            x: buffer()?,
            y: buffer()?,
            pairs: pairs.collect::<Result<_, _>>()?,
        })
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
