//! A tiny kernel launched bare, between two events recorded by hand, and in an annotated function.
//!
//! Launches and events go to the driver without cudarc's own tracking between, so that rows differ
//! by what stands around the launch alone.

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use gpuprof::gpu_profile;

/// Launches between two waits: below the depth at which a stream makes its caller wait (about
/// 1,024).
pub(crate) const BLOCK: u64 = 200;

/// Elements that a launch works on.
const LEN: usize = 32;

/// The rows.
pub(crate) const ROWS: [(&str, Call); 4] = [
    ("gpu-bare", bare),
    ("gpu-hand", by_hand),
    ("gpu-hand-checked", by_hand_checked),
    ("gpu-span", span),
];

/// One call of a row; the number says which pair of events it may use.
pub(crate) type Call = fn(&Lane, u64) -> Result<(), DriverError>;

/// What one thread launches with: a stream of its own, and events for one block.
pub(crate) struct Lane {
    stream: Arc<CudaStream>,
    function: sys::CUfunction,
    x: sys::CUdeviceptr,
    y: sys::CUdeviceptr,
    pairs: Vec<[sys::CUevent; 2]>,
}

impl Lane {
    /// On the first device. Nothing of it is destroyed: the process ends.
    ///
    /// # Errors
    /// The driver's.
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

    /// So many calls in blocks; the wait after each block is not in the time.
    ///
    /// # Errors
    /// The driver's.
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
        // SAFETY: event and stream are alive and of one context.
        unsafe { result::event::record(event, self.stream.cu_stream()) }
    }

    /// What a recorder that may meet any stream has to ask first.
    fn check(&self) -> Result<(), DriverError> {
        black_box(result::ctx::get_current()?);
        // SAFETY: the stream is alive.
        black_box(unsafe { result::stream::is_capturing(self.stream.cu_stream()) }?);
        Ok(())
    }

    /// The events of one call. There are as many as a block has calls.
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
fn bare(lane: &Lane, _index: u64) -> Result<(), DriverError> {
    lane.launch()
}

#[inline(never)]
fn by_hand(lane: &Lane, index: u64) -> Result<(), DriverError> {
    let [start, end] = lane.pair(index);
    lane.record(start)?;
    lane.launch()?;
    lane.record(end)
}

#[inline(never)]
fn by_hand_checked(lane: &Lane, index: u64) -> Result<(), DriverError> {
    let [start, end] = lane.pair(index);
    lane.check()?;
    lane.record(start)?;
    lane.launch()?;
    lane.check()?;
    lane.record(end)
}

#[inline(never)]
fn span(lane: &Lane, _index: u64) -> Result<(), DriverError> {
    annotated(&lane.stream, lane)
}

#[gpu_profile(name = "bench/gpu")]
#[inline(never)]
fn annotated(stream: &Arc<CudaStream>, lane: &Lane) -> Result<(), DriverError> {
    black_box(stream);
    lane.launch()
}
