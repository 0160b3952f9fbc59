//! Event pairs recorded by hand and kernels ready to launch, written directly against the driver:
//! the reference for gpuprof's accuracy and cost.
//!
//! Functions are resolved once, as in gpuprof, so that neither side pays for the lookup.

use std::ffi::{CString, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError, result, sys};
use kernels::Geometry;

use crate::device;

/// The result of a driver call.
pub(crate) type Answer<T = ()> = Result<T, DriverError>;

type Create = unsafe extern "C" fn(*mut sys::CUevent, c_uint) -> sys::CUresult;
type Record = unsafe extern "C" fn(sys::CUevent, sys::CUstream) -> sys::CUresult;
type Synchronize = unsafe extern "C" fn(sys::CUevent) -> sys::CUresult;
type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// The driver's event functions.
struct Calls {
    create: Create,
    record: Record,
    synchronize: Synchronize,
    elapsed: Elapsed,
}

/// A symbol of the driver that cudarc loaded, under the first available of its names.
///
/// # Safety
/// `F` must be the type of the functions of these names.
unsafe fn find<F: Copy>(names: [&str; 2]) -> F {
    // SAFETY: cudarc has loaded the driver for the context that every check opens first.
    let library = unsafe { sys::culib() };
    let found = names.iter().find_map(|name| {
        // SAFETY: the caller guarantees the type.
        unsafe { library.get::<F>(name.as_bytes()) }.ok()
    });
    *found.unwrap_or_else(|| panic!("the driver lacks {}", names[0]))
}

fn calls() -> &'static Calls {
    static CALLS: OnceLock<Calls> = OnceLock::new();
    CALLS.get_or_init(|| Calls {
        // SAFETY: the type is the driver API's declaration.
        create: unsafe { find(["cuEventCreate"; 2]) },
        // SAFETY: the type is the driver API's declaration.
        record: unsafe { find(["cuEventRecord"; 2]) },
        // SAFETY: the type is the driver API's declaration.
        synchronize: unsafe { find(["cuEventSynchronize"; 2]) },
        // SAFETY: the type is the driver API's declaration, the same for both names. Drivers before
        // 12.8 lack the first.
        elapsed: unsafe { find(["cuEventElapsedTime_v2", "cuEventElapsedTime"]) },
    })
}

/// A new stream without cudarc's event tracking.
pub(crate) fn stream() -> Answer<Arc<CudaStream>> {
    device::Gpu::new()?.context.new_stream()
}

/// `count` buffers of `len` zeros, and their addresses.
fn zeros(
    stream: &Arc<CudaStream>,
    count: usize,
    len: usize,
) -> Answer<(Vec<CudaSlice<f32>>, Vec<u64>)> {
    let buffers: Answer<Vec<_>> = (0..count).map(|_| stream.alloc_zeros(len)).collect();
    let buffers = buffers?;
    let addresses = buffers.iter().map(|buffer| buffer.device_ptr(stream).0);
    let addresses = addresses.collect();
    Ok((buffers, addresses))
}

/// Two events with flags 0 (CU_EVENT_DEFAULT), as gpuprof's events. They are never destroyed,
/// because the process ends.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    start: sys::CUevent,
    end: sys::CUevent,
}

// SAFETY: the driver allows every thread to use its handles.
unsafe impl Send for Pair {}

impl Pair {
    /// A pair in the current context.
    pub(crate) fn new() -> Answer<Pair> {
        let mut pair = Pair {
            start: ptr::null_mut(),
            end: ptr::null_mut(),
        };
        for event in [&mut pair.start, &mut pair.end] {
            // SAFETY: `event` is writable.
            unsafe { (calls().create)(event, 0) }.result()?;
        }
        Ok(pair)
    }

    /// `count` pairs.
    pub(crate) fn ring(count: usize) -> Answer<Vec<Pair>> {
        (0..count).map(|_| Pair::new()).collect()
    }

    #[inline]
    pub(crate) fn start(self, stream: &CudaStream) -> Answer {
        // SAFETY: event and stream live as long as the process and belong to one context.
        unsafe { (calls().record)(self.start, stream.cu_stream()) }.result()
    }

    #[inline]
    pub(crate) fn end(self, stream: &CudaStream) -> Answer {
        // SAFETY: as in `start`.
        unsafe { (calls().record)(self.end, stream.cu_stream()) }.result()
    }

    /// Waits for the end event and returns the elapsed time, ns.
    pub(crate) fn read(self) -> Answer<f64> {
        // SAFETY: the event is alive.
        unsafe { (calls().synchronize)(self.end) }.result()?;
        let mut ms = 0.0_f32;
        // SAFETY: both events have been recorded and have completed; the output is writable.
        unsafe { (calls().elapsed)(&mut ms, self.start, self.end) }.result()?;
        Ok(f64::from(ms) * 1e6)
    }
}

/// A kernel with its arguments, which can be launched repeatedly by the driver's call alone.
pub(crate) struct Kernel {
    function: sys::CUfunction,
    geometry: Geometry,
    /// A copy of each argument in its first bytes; processors that run CUDA are little-endian.
    _arguments: Box<[u64]>,
    /// The address of each argument.
    pointers: Box<[*mut c_void]>,
    _buffers: Vec<CudaSlice<f32>>,
}

// SAFETY: the memory behind the pointers is never written again, and the driver allows every thread
// to use its handles.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// One thread that runs for `ns` nanoseconds.
    pub(crate) fn spin(ns: u64) -> Answer<Kernel> {
        let geometry = kernels::spin_geometry();
        Kernel::new(kernels::SPIN_PTX, kernels::SPIN, geometry, vec![], vec![ns])
    }

    /// `y = a * x + y` on `n` elements, limited by memory.
    pub(crate) fn saxpy(stream: &Arc<CudaStream>, n: u32) -> Answer<Kernel> {
        let (buffers, addresses) = zeros(stream, 2, n as usize)?;
        let mut arguments = vec![u64::from(n), u64::from(1.0_f32.to_bits())];
        arguments.extend(addresses);
        let geometry = kernels::saxpy_geometry(n);
        Kernel::new(
            kernels::SAXPY_PTX,
            kernels::SAXPY,
            geometry,
            buffers,
            arguments,
        )
    }

    /// The product of two square matrices, limited by arithmetic.
    pub(crate) fn product(stream: &Arc<CudaStream>, side: u32) -> Answer<Kernel> {
        let (buffers, mut arguments) = zeros(stream, 3, side as usize * side as usize)?;
        arguments.extend([u64::from(side); 3]);
        let geometry = kernels::matmul_geometry(side, side);
        let (ptx, name) = (kernels::MATMUL_PTX, kernels::MATMUL_TILED);
        Kernel::new(ptx, name, geometry, buffers, arguments)
    }

    /// The kernel `name` in the current context. Each argument is in the first bytes of a `u64`.
    fn new(
        ptx: &str,
        name: &str,
        geometry: Geometry,
        buffers: Vec<CudaSlice<f32>>,
        arguments: Vec<u64>,
    ) -> Answer<Kernel> {
        let image = CString::new(ptx).expect("PTX has no NUL");
        // SAFETY: the image is PTX that ends in NUL.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        let name = CString::new(name).expect("a name has no NUL");
        // SAFETY: the module is loaded and never unloaded.
        let function = unsafe { result::module::get_function(module, name) }?;
        let arguments: Box<[u64]> = arguments.into();
        let pointers = arguments.iter().map(|argument| {
            let pointer: *const u64 = argument;
            pointer.cast_mut().cast()
        });
        Ok(Kernel {
            function,
            geometry,
            pointers: pointers.collect(),
            _arguments: arguments,
            _buffers: buffers,
        })
    }

    #[inline]
    pub(crate) fn launch(&self, stream: &CudaStream) -> Answer {
        let Geometry { grid, block } = self.geometry;
        // SAFETY: the arguments match the kernel, its buffers have the stated sizes, and the driver
        // only reads the pointers.
        unsafe {
            sys::cuLaunchKernel(
                self.function,
                grid.0,
                grid.1,
                grid.2,
                block.0,
                block.1,
                block.2,
                0,
                stream.cu_stream(),
                self.pointers.as_ptr().cast_mut(),
                ptr::null_mut(),
            )
        }
        .result()
    }
}
