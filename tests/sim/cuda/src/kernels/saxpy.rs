//! The kernel of the workspace's `kernels/cuda/saxpy.cu`: y = a * x + y.

use super::arithmetic::add_scaled;
use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::Answer;

/// (unsigned n, float a, const float* x, float* y)
pub(super) const SAXPY: Kernel = Kernel {
    name: "saxpy",
    params: &[4, 4, 8, 8],
    run: saxpy,
    work: saxpy_work,
};

/// Elements of a launch: one per thread, at most n.
fn elements(launch: &Launch) -> usize {
    launch.covered(0, launch.u32(0) as usize)
}

fn saxpy(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let count = elements(launch);
    let a = launch.f32(1);
    let x = launch.read_floats(2, count, resolve)?;
    launch.write_floats(3, count, resolve, |y| add_scaled(y, a, &x))
}

/// Reads x, reads and writes y; one multiply and one add per element.
fn saxpy_work(launch: &Launch) -> Work {
    let count = elements(launch) as f64;
    Work {
        bytes: 12.0 * count,
        f32_flops: 2.0 * count,
        f64_flops: 0.0,
        ..Work::default()
    }
}
