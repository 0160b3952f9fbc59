//! What a device reaches at most, measured with kernels of gpuprof's own.

#![allow(
    unsafe_code,
    reason = "launches kernels; cudarc loads PTX only with its feature `nvrtc`, which links it"
)]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{CUdevice_attribute as attribute, CUfunction, CUmodule};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, ValidAsZeroBits, result,
};
use gpuprof_report::profile::Device;

use crate::bench::{bench, device_of};
use crate::error::{BenchError, Purpose};
use crate::measurement::Mode;
use crate::peaks::Peaks;

/// Of `kernels/peaks.cu`.
const PTX: &str = include_str!("../kernels/peaks.ptx");
const THREADS: u32 = 256;
/// Bytes of a vector that a thread copies.
const VECTOR: usize = 16;
/// Chains of multiply-adds of a thread.
const CHAINS: u64 = 8;
/// Multiply-adds of a chain in single precision: about 1 ms.
const ROUNDS_F32: u32 = 16_384;
/// In double precision, at a 64th to a half of that rate.
const ROUNDS_F64: u32 = 2_048;

/// What the stream's device reaches: the bandwidth of a copy, and the rate of multiply-adds. It is
/// measured once for each device of the program, which takes about two seconds and memory of 16
/// times the L2 cache; the program's other work on the device should have ended.
///
/// # Errors
/// A call of CUDA fails.
pub fn peaks(stream: &Arc<CudaStream>) -> Result<Peaks, BenchError> {
    static KNOWN: Mutex<Option<HashMap<u32, Peaks>>> = Mutex::new(None);
    let device = device_of(stream.context());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(peaks) = known.get(&device.ordinal) {
        return Ok(peaks.clone());
    }
    let peaks = measure(stream, device)?;
    known.insert(peaks.device.ordinal, peaks.clone());
    Ok(peaks)
}

fn measure(stream: &Arc<CudaStream>, device: Device) -> Result<Peaks, BenchError> {
    let context = stream.context();
    context.bind_to_thread().to("use the context")?;
    let module = Module::load(context)?;
    let ask = |what: attribute| {
        let answer = context.attribute(what);
        Ok(u32::try_from(answer.to("ask for the size of the device")?).unwrap_or(1))
    };
    let sms = ask(attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let per_sm = ask(attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
    let work = Work {
        stream,
        module,
        blocks: sms * (per_sm / THREADS).max(1),
    };
    let l2_bytes = usize::try_from(device.l2_bytes.unwrap_or(0)).unwrap_or(0);
    Ok(Peaks {
        copy_bytes_per_s: work.copy((8 * l2_bytes).max(16 << 20))?,
        fma_f32_flops_per_s: work.fma::<f32>(c"gpuprof_fma_f32", ROUNDS_F32)?,
        fma_f64_flops_per_s: work.fma::<f64>(c"gpuprof_fma_f64", ROUNDS_F64)?,
        device,
    })
}

/// The kernels, loaded.
struct Module {
    context: Arc<CudaContext>,
    module: CUmodule,
}

impl Module {
    fn load(context: &Arc<CudaContext>) -> Result<Self, BenchError> {
        let purpose = "load the kernels that measure peaks";
        let text = CString::new(PTX).unwrap_or_default();
        // SAFETY: the text is PTX, and ends with a NUL.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) };
        Ok(Self {
            context: Arc::clone(context),
            module: module.to(purpose)?,
        })
    }

    fn kernel(&self, name: &CStr) -> Result<CUfunction, BenchError> {
        // SAFETY: the module is loaded.
        let found = unsafe { result::module::get_function(self.module, name.to_owned()) };
        found.to("find a kernel that measures peaks")
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Its kernels have ended: each sample waits for them.
        let _ = self.context.bind_to_thread();
        // SAFETY: the module is loaded, and unloaded once.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

struct Work<'a> {
    stream: &'a Arc<CudaStream>,
    module: Module,
    /// With as many threads as the device holds at once.
    blocks: u32,
}

impl Work<'_> {
    /// Bytes per second of a copy of so many.
    fn copy(&self, bytes: usize) -> Result<f64, BenchError> {
        let kernel = self.module.kernel(c"gpuprof_copy")?;
        let (source, target) = (self.allocate::<u8>(bytes)?, self.allocate::<u8>(bytes)?);
        let count = (bytes / VECTOR) as u64;
        let blocks = u32::try_from(count.div_ceil(u64::from(THREADS))).unwrap_or(u32::MAX);
        let ((source, _read), (target, _written)) = (
            source.device_ptr(self.stream),
            target.device_ptr(self.stream),
        );
        self.rate(2 * count * VECTOR as u64, || {
            let parameters = &mut [pointer(&source), pointer(&target), pointer(&count)];
            // SAFETY: these are the kernel's parameters, and both slices hold `count` vectors.
            unsafe { self.launch(kernel, blocks, parameters) }
        })
    }

    /// Operations per second of multiply-adds in registers.
    fn fma<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        kernel: &CStr,
        rounds: u32,
    ) -> Result<f64, BenchError> {
        let kernel = self.module.kernel(kernel)?;
        let threads = self.blocks as usize * THREADS as usize;
        let results = self.allocate::<T>(threads)?;
        let flops = 2 * CHAINS * u64::from(rounds) * threads as u64;
        let (results, _written) = results.device_ptr(self.stream);
        self.rate(flops, || {
            let parameters = &mut [pointer(&results), pointer(&rounds)];
            // SAFETY: these are the kernel's parameters, and there is a result for each thread.
            unsafe { self.launch(kernel, self.blocks, parameters) }
        })
    }

    fn allocate<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        values: usize,
    ) -> Result<CudaSlice<T>, BenchError> {
        let allocated = self.stream.alloc_zeros::<T>(values);
        allocated.to("allocate memory to measure peaks")
    }

    /// # Safety
    /// The parameters are the kernel's, and its threads write only to memory that is there.
    unsafe fn launch(
        &self,
        kernel: CUfunction,
        blocks: u32,
        parameters: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        let (grid, block) = ((blocks, 1, 1), (THREADS, 1, 1));
        let stream = self.stream.cu_stream();
        // SAFETY: the caller's.
        unsafe { result::launch_kernel(kernel, grid, block, 0, stream, parameters) }
    }

    /// The amount of a call over its time, per second.
    fn rate(
        &self,
        amount: u64,
        call: impl FnMut() -> Result<(), DriverError>,
    ) -> Result<f64, BenchError> {
        let peak = bench("peak").stream(self.stream).modes(&[Mode::Hot]);
        let measured = peak.bytes(amount).run(call)?;
        let rate = measured.mode(Mode::Hot).and_then(|hot| hot.bytes_per_s());
        Ok(rate.unwrap_or(0.0))
    }
}

fn pointer<T>(parameter: &T) -> *mut c_void {
    ptr::from_ref(parameter).cast_mut().cast()
}
