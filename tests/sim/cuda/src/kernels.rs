//! The kernels that the simulator knows: their signatures, what they compute, and how much work
//! that is. The CUDA C is in the workspace's `kernels/cuda`. Must never import driver state: memory
//! is reached through the function that the queue's executor passes.

use crate::abi::Answer;
use crate::codes::Code;

mod convolution;
mod cudarc_examples;
mod matrix;
mod network;
mod no_op;
mod spin;
mod transformer;

pub(crate) use no_op::no_op;

/// Where the host finds `len` bytes at a device address; ILLEGAL_ADDRESS outside every allocation.
pub(crate) type Reach<'a> = &'a dyn Fn(u64, usize) -> Answer<*mut u8>;

/// One kernel.
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// Size of each parameter, in bytes: a launch does not carry them.
    pub(crate) params: &'static [usize],
    run: fn(&Launch, Reach<'_>) -> Answer,
    work: fn(&Launch) -> Work,
}

/// One launch of a known kernel.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static Kernel,
    /// The parameters' bytes one after another, without padding.
    pub(crate) args: Vec<u8>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub(crate) shared: u32,
}

/// How much a launch does: bytes of device memory moved, flops by precision, and time spent
/// waiting.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) bytes: f64,
    pub(crate) f32_flops: f64,
    pub(crate) f64_flops: f64,
    /// How long the launch lasts whatever the device, in ns; none where its work decides.
    pub(crate) ns: Option<u64>,
}

static KERNELS: &[Kernel] = &[
    Kernel {
        name: "saxpy",
        params: &[4, 4, 8, 8],
        run: saxpy,
        work: saxpy_work,
    },
    cudarc_examples::SIN,
    convolution::DOUBLE,
    convolution::SINGLE,
    convolution::TILED,
    matrix::MATMUL_NAIVE,
    matrix::MATMUL_TILED,
    matrix::TRANSPOSE,
    matrix::REDUCE_SUM,
    matrix::COLUMN_SUMS,
    network::BIAS,
    network::BIAS_RELU,
    network::RELU_BACKWARD,
    network::SOFTMAX_CROSS_ENTROPY,
    network::SGD,
    spin::SPIN,
    transformer::EMBED,
    transformer::LAYER_NORM,
    transformer::CAUSAL_SOFTMAX,
    transformer::MERGE_HEADS,
];

/// The kernel called `name`, or none.
pub(crate) fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

impl Launch {
    /// Computes the result on the host.
    pub(crate) fn run(&self, reach: Reach<'_>) -> Answer {
        (self.kernel.run)(self, reach)
    }

    /// The work it does.
    pub(crate) fn work(&self) -> Work {
        (self.kernel.work)(self)
    }

    /// Threads along dimension `axis`.
    fn threads(&self, axis: usize) -> u64 {
        u64::from(self.grid[axis]) * u64::from(self.block[axis])
    }

    /// Parameter `index`, of N bytes as the signature says.
    fn arg<const N: usize>(&self, index: usize) -> [u8; N] {
        let start: usize = self.kernel.params[..index].iter().sum();
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.args[start..start + N]);
        bytes
    }

    fn u32(&self, index: usize) -> u32 {
        u32::from_ne_bytes(self.arg(index))
    }

    fn u64(&self, index: usize) -> u64 {
        u64::from_ne_bytes(self.arg(index))
    }

    fn i32(&self, index: usize) -> i32 {
        i32::from_ne_bytes(self.arg(index))
    }

    /// An `int` parameter that is a size; negative ones make a device's loops empty, as zero does.
    fn size(&self, index: usize) -> usize {
        usize::try_from(self.i32(index)).unwrap_or(0)
    }

    /// Of `count` positions along dimension `axis`, how many have a thread of their own.
    fn covered(&self, axis: usize, count: usize) -> usize {
        self.threads(axis).min(count as u64) as usize
    }

    fn f32(&self, index: usize) -> f32 {
        f32::from_ne_bytes(self.arg(index))
    }

    /// The `count` floats that pointer parameter `index` points to, as a host pointer.
    fn floats(&self, index: usize, count: usize, reach: Reach<'_>) -> Answer<*mut f32> {
        let address = self.u64(index);
        if !address.is_multiple_of(size_of::<f32>() as u64) {
            return Err(Code::MISALIGNED_ADDRESS);
        }
        let len = count
            .checked_mul(size_of::<f32>())
            .ok_or(Code::ILLEGAL_ADDRESS)?;
        Ok(reach(address, len)?.cast())
    }

    /// A copy of the `count` floats that pointer parameter `index` points to. A copy, because a
    /// caller may pass overlapping input and output.
    fn copied(&self, index: usize, count: usize, reach: Reach<'_>) -> Answer<Vec<f32>> {
        let pointer = self.floats(index, count, reach)?;
        // SAFETY: `reach` checked that `count` floats lie in one allocation, which only the
        // executor that runs this kernel changes or frees; they are aligned and any bits are a
        // float.
        Ok(unsafe { std::slice::from_raw_parts(pointer, count) }.to_vec())
    }

    /// Lets `compute` write the `count` floats that pointer parameter `index` points to.
    fn write(
        &self,
        index: usize,
        count: usize,
        reach: Reach<'_>,
        compute: impl FnOnce(&mut [f32]),
    ) -> Answer {
        let pointer = self.floats(index, count, reach)?;
        // SAFETY: as in `copied`; this is the only slice of it, as a kernel writes its outputs one
        // after another and its inputs are copies.
        compute(unsafe { std::slice::from_raw_parts_mut(pointer, count) });
        Ok(())
    }
}

/// Elements of a saxpy launch: one per thread, at most n.
fn saxpy_elements(launch: &Launch) -> usize {
    launch.covered(0, launch.u32(0) as usize)
}

fn saxpy(launch: &Launch, reach: Reach<'_>) -> Answer {
    let count = saxpy_elements(launch);
    let a = launch.f32(1);
    let x = launch.copied(2, count, reach)?;
    launch.write(3, count, reach, |y| add_scaled(y, a, &x))
}

/// y = a*x + y. Blocks of eight with constant indices: quick even where debug builds do not
/// optimise.
fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) {
    let (x_blocks, x_rest) = x.as_chunks::<8>();
    let (y_blocks, y_rest) = y.as_chunks_mut::<8>();
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        y[0] += a * x[0];
        y[1] += a * x[1];
        y[2] += a * x[2];
        y[3] += a * x[3];
        y[4] += a * x[4];
        y[5] += a * x[5];
        y[6] += a * x[6];
        y[7] += a * x[7];
    }
    for (x, y) in x_rest.iter().zip(y_rest) {
        *y += a * x;
    }
}

/// Reads x, reads and writes y; one multiply and one add per element.
fn saxpy_work(launch: &Launch) -> Work {
    let count = saxpy_elements(launch) as f64;
    Work {
        bytes: 12.0 * count,
        f32_flops: 2.0 * count,
        f64_flops: 0.0,
        ..Work::default()
    }
}
