//! A kernel launch: the kernel's signature, its arguments, and how a kernel reaches memory.

use simbase::activity::Module;

use crate::device;
use crate::result_codes::{Answer, Code};

/// Returns the host address of `len` bytes at a device address, or ILLEGAL_ADDRESS outside every
/// allocation.
pub(crate) type Resolve<'a> = &'a dyn Fn(u64, usize) -> Answer<*mut u8>;

/// A kernel that the simulator can run.
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// The size of each parameter in bytes, which a launch does not pass.
    pub(crate) params: &'static [usize],
    pub(super) run: fn(&Launch, Resolve<'_>) -> Answer,
    pub(super) work: fn(&Launch) -> Work,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Kernel) -> bool {
        std::ptr::eq(self, other)
    }
}

/// One launch of a kernel.
#[derive(Clone, PartialEq)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static Kernel,
    /// The module that it is from.
    pub(crate) module: &'static Module,
    /// The bytes of the parameters, without padding.
    pub(crate) args: Vec<u8>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub(crate) shared: u32,
}

/// The work of a launch: bytes of device memory moved, and flops by precision.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) bytes: f64,
    pub(crate) f32_flops: f64,
    pub(crate) f64_flops: f64,
    /// A fixed duration in ns, which replaces the duration that the work takes.
    pub(crate) ns: Option<u64>,
}

impl Work {
    /// How long the arithmetic takes at the device's peak rates, in ns.
    pub(crate) fn arithmetic_ns(&self) -> f64 {
        let single = self.f32_flops / device::PEAK_F32_PER_NS;
        single.max(self.f64_flops / device::PEAK_F64_PER_NS)
    }
}

impl Launch {
    /// Computes the result on the host.
    pub(crate) fn run(&self, resolve: Resolve<'_>) -> Answer {
        (self.kernel.run)(self, resolve)
    }

    pub(crate) fn work(&self) -> Work {
        (self.kernel.work)(self)
    }

    /// The number of threads along dimension `axis`.
    pub(super) fn threads(&self, axis: usize) -> u64 {
        u64::from(self.grid[axis]) * u64::from(self.block[axis])
    }

    /// How many of `count` positions along dimension `axis` have a thread.
    pub(super) fn covered(&self, axis: usize, count: usize) -> usize {
        self.threads(axis).min(count as u64) as usize
    }

    /// Parameter `index`, which has N bytes in the signature.
    fn arg<const N: usize>(&self, index: usize) -> [u8; N] {
        let start: usize = self.kernel.params[..index].iter().sum();
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.args[start..start + N]);
        bytes
    }

    pub(super) fn u32(&self, index: usize) -> u32 {
        u32::from_ne_bytes(self.arg(index))
    }

    pub(super) fn u64(&self, index: usize) -> u64 {
        u64::from_ne_bytes(self.arg(index))
    }

    pub(super) fn i32(&self, index: usize) -> i32 {
        i32::from_ne_bytes(self.arg(index))
    }

    pub(super) fn f32(&self, index: usize) -> f32 {
        f32::from_ne_bytes(self.arg(index))
    }

    /// An `int` parameter that is a size. A negative one is 0: a device's loops do not run then.
    pub(super) fn size(&self, index: usize) -> usize {
        usize::try_from(self.i32(index)).unwrap_or(0)
    }

    /// The host pointer to the `count` floats of pointer parameter `index`.
    fn float_pointer(&self, index: usize, count: usize, resolve: Resolve<'_>) -> Answer<*mut f32> {
        let address = self.u64(index);
        if !address.is_multiple_of(size_of::<f32>() as u64) {
            return Err(Code::MISALIGNED_ADDRESS);
        }
        let len = count
            .checked_mul(size_of::<f32>())
            .ok_or(Code::ILLEGAL_ADDRESS)?;
        Ok(resolve(address, len)?.cast())
    }

    /// A copy of the `count` floats of pointer parameter `index`. It is a copy because a caller may
    /// pass overlapping input and output.
    pub(super) fn read_floats(
        &self,
        index: usize,
        count: usize,
        resolve: Resolve<'_>,
    ) -> Answer<Vec<f32>> {
        let pointer = self.float_pointer(index, count, resolve)?;
        // SAFETY: `resolve` checked that `count` floats are in one allocation, which only the
        // executor that runs this kernel changes or frees; they are aligned and any bits are a
        // float.
        Ok(unsafe { std::slice::from_raw_parts(pointer, count) }.to_vec())
    }

    /// Passes the `count` floats of pointer parameter `index` to `compute`, which writes them.
    pub(super) fn write_floats(
        &self,
        index: usize,
        count: usize,
        resolve: Resolve<'_>,
        compute: impl FnOnce(&mut [f32]),
    ) -> Answer {
        let pointer = self.float_pointer(index, count, resolve)?;
        // SAFETY: as in `read_floats`; no other slice of it exists, because a kernel writes its
        // outputs one after another and its inputs are copies.
        compute(unsafe { std::slice::from_raw_parts_mut(pointer, count) });
        Ok(())
    }
}
