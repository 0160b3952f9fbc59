//! A small CUDA program (saxpy) that, except for `cuCtxSetCurrent`, uses only driver functions that
//! gpuprof never calls. A test can make gpuprof's functions fail, or hide their symbols, and this
//! program still works. It uses no type of cudarc for which gpuprof has an impl.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::{DriverError, result, sys};
use gpuprof::{HasStream, StreamRef};

const LEN: usize = 4;
const BYTES: usize = LEN * size_of::<f32>();

/// A context, a stream, and saxpy on two buffers. Nothing is destroyed before the process ends.
#[derive(Clone, Copy)]
pub struct IndependentSaxpy {
    context: sys::CUcontext,
    stream: sys::CUstream,
    function: sys::CUfunction,
    x: sys::CUdeviceptr,
    y: sys::CUdeviceptr,
}

// SAFETY: the driver lets every thread use its handles.
unsafe impl Send for IndependentSaxpy {}

impl IndependentSaxpy {
    pub fn new() -> Result<Self, DriverError> {
        result::init()?;
        let device = result::device::get(0)?;
        // SAFETY: the device exists.
        let context = unsafe { result::primary_ctx::retain(device) }?;
        let mut raw = Self {
            context,
            stream: ptr::null_mut(),
            function: ptr::null_mut(),
            x: 0,
            y: 0,
        };
        raw.make_current()?;
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the handle is writable.
        unsafe { sys::cuStreamCreateWithPriority(&mut raw.stream, flags, 0) }.result()?;
        let image = std::ffi::CString::new(kernels::SAXPY_PTX).expect("PTX has no NUL");
        // SAFETY: the image is PTX that ends in NUL.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        let name = std::ffi::CString::new(kernels::SAXPY).expect("a name has no NUL");
        // SAFETY: the module is loaded.
        raw.function = unsafe { result::module::get_function(module, name) }?;
        for buffer in [&mut raw.x, &mut raw.y] {
            // SAFETY: the buffer is written below, before anything reads it.
            *buffer = unsafe { result::malloc_sync(BYTES) }?;
            // SAFETY: the buffer is as long as the slice.
            unsafe { result::memcpy_htod_sync(*buffer, &[1.0_f32; LEN]) }?;
        }
        Ok(raw)
    }

    /// Makes the context current on this thread.
    pub fn make_current(&self) -> Result<(), DriverError> {
        // SAFETY: the context exists.
        unsafe { result::ctx::set_current(self.context) }
    }

    /// Queues `y = a * x + y`.
    pub fn add(&self, a: f32) -> Result<(), DriverError> {
        let (mut n, mut a, mut x, mut y) = (LEN as u32, a, self.x, self.y);
        let arguments: [*mut c_void; 4] = [
            (&raw mut n).cast(),
            (&raw mut a).cast(),
            (&raw mut x).cast(),
            (&raw mut y).cast(),
        ];
        let (grid, block) = ((1, 1, 1), (LEN as u32, 1, 1));
        // SAFETY: these are saxpy's parameters, and both buffers hold `LEN` elements.
        unsafe {
            result::launch_kernel(
                self.function,
                grid,
                block,
                0,
                self.stream,
                &mut arguments.clone(),
            )
        }
    }

    /// Waits for the queued work and returns `y`.
    pub fn read(&self) -> Result<Vec<f32>, DriverError> {
        // SAFETY: the stream exists.
        unsafe { result::stream::synchronize(self.stream) }?;
        let mut y = vec![0.0; LEN];
        // SAFETY: the buffer is as long as the slice.
        unsafe { result::memcpy_dtoh_sync(&mut y, self.y) }?;
        Ok(y)
    }
}

/// Without the context, so that gpuprof has to query the driver for it.
impl HasStream for IndependentSaxpy {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        // SAFETY: the stream exists as long as the process.
        Some(unsafe { StreamRef::from_raw(self.stream.cast(), ptr::null_mut()) })
    }
}
