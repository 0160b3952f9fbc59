//! A created context that cudarc's safe types do not know, as another library may have one.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::{DriverError, result, sys};
use gpuprof::{HasStream, StreamRef};
use simcuda::Sim;

const LEN: usize = 4;
const BLOCKING: u32 = 0;
const NON_BLOCKING: u32 = 1;

/// A created context on device 0 with saxpy, a non-blocking and a blocking stream. Only
/// [`destroy`](Self::destroy) destroys it.
pub struct ForeignContext {
    sim: Sim,
    pub context: sys::CUcontext,
    pub stream: sys::CUstream,
    pub blocking: sys::CUstream,
    function: sys::CUfunction,
    buffer: sys::CUdeviceptr,
}

impl ForeignContext {
    /// Does not change the thread's current context.
    pub fn new(sim: Sim) -> Result<Self, DriverError> {
        let mut context = ptr::null_mut();
        // SAFETY: the handle is writable; no parameters, no flags.
        unsafe { sys::cuCtxCreate_v4(&mut context, ptr::null_mut(), 0, 0) }.result()?;
        let image = std::ffi::CString::new(kernels::SAXPY_PTX).expect("PTX has no NUL");
        // SAFETY: the image is PTX that ends in NUL.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        let name = std::ffi::CString::new(kernels::SAXPY).expect("a name has no NUL");
        let other = Self {
            sim,
            context,
            stream: new_stream(NON_BLOCKING)?,
            blocking: new_stream(BLOCKING)?,
            // SAFETY: the module is loaded.
            function: unsafe { result::module::get_function(module, name) }?,
            // SAFETY: no kernel depends on its content.
            buffer: unsafe { result::malloc_sync(LEN * size_of::<f32>()) }?,
        };
        pop();
        Ok(other)
    }

    /// Runs `f` with this context current.
    pub fn with_current<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: the context exists.
        unsafe { sys::cuCtxPushCurrent_v2(self.context) }
            .result()
            .expect("push");
        let result = f();
        pop();
        result
    }

    /// Launches a kernel of exactly `ns`.
    pub fn kernel(&self, stream: sys::CUstream, ns: u64) -> Result<(), DriverError> {
        self.kernel_at(self.buffer, stream, ns)
    }

    /// Launches a kernel of 1 ms on invalid memory: then the context returns ILLEGAL_ADDRESS.
    pub fn fault(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        self.kernel_at(16, stream, 1_000_000)
    }

    fn kernel_at(&self, buffer: u64, stream: sys::CUstream, ns: u64) -> Result<(), DriverError> {
        self.sim.set_kernel_ns(kernels::SAXPY, ns);
        let (mut n, mut a, mut x, mut y) = (LEN as u32, 1_f32, buffer, buffer);
        let mut arguments: [*mut c_void; 4] = [
            (&raw mut n).cast(),
            (&raw mut a).cast(),
            (&raw mut x).cast(),
            (&raw mut y).cast(),
        ];
        let (grid, block) = ((1, 1, 1), (LEN as u32, 1, 1));
        self.with_current(|| {
            // SAFETY: these are saxpy's parameters; the simulator checks addresses.
            unsafe { result::launch_kernel(self.function, grid, block, 0, stream, &mut arguments) }
        })
    }

    /// Waits for its stream.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the stream exists.
        self.with_current(|| unsafe { result::stream::synchronize(self.stream) })
    }

    /// Waits for the null stream of the context.
    pub fn synchronize_null_stream(&self) -> Result<(), DriverError> {
        // SAFETY: the null stream is always valid.
        self.with_current(|| unsafe { result::stream::synchronize(std::ptr::null_mut()) })
    }

    /// Destroys the context with everything in it, including unfinished work.
    pub fn destroy(self) {
        // SAFETY: only gpuprof may still use it, in tests of that.
        unsafe { sys::cuCtxDestroy_v2(self.context) }
            .result()
            .expect("destroy");
    }

    /// A stream for spans, with or without its context.
    pub fn raw_stream(&self, stream: sys::CUstream, with_context: bool) -> RawStream {
        let context = if with_context {
            self.context
        } else {
            ptr::null_mut()
        };
        RawStream { stream, context }
    }
}

/// A raw stream as a span's argument.
pub struct RawStream {
    pub stream: sys::CUstream,
    pub context: sys::CUcontext,
}

// SAFETY: the driver takes both handles on any thread.
unsafe impl Sync for RawStream {}

impl HasStream for RawStream {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        // SAFETY: the stream exists while the span uses it.
        Some(unsafe { StreamRef::from_raw(self.stream.cast(), self.context.cast()) })
    }
}

/// A new stream of the current context.
pub fn new_stream(flags: u32) -> Result<sys::CUstream, DriverError> {
    let mut stream = ptr::null_mut();
    // SAFETY: the handle is writable.
    unsafe { sys::cuStreamCreate(&mut stream, flags) }.result()?;
    Ok(stream)
}

fn pop() {
    let mut popped = ptr::null_mut();
    // SAFETY: the handle is writable.
    unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }
        .result()
        .expect("pop");
}
