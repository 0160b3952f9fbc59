//! Kernels of cudarc's numbered examples, identified by name and signature. None of their code was
//! copied.

use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::Answer;

/// out[i] = sin(in[i]), as (float* out, const float* in, int n): examples 03, 04 and 10.
pub(super) const SIN: Kernel = Kernel {
    name: "sin_kernel",
    params: &[8, 8, 4],
    run: sin,
    work: sin_work,
};

/// One element per thread, at most n.
fn elements(launch: &Launch) -> usize {
    launch.covered(0, launch.size(2))
}

fn sin(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let count = elements(launch);
    let input = launch.read_floats(1, count, resolve)?;
    launch.write_floats(0, count, resolve, |out| {
        for (out, x) in out.iter_mut().zip(&input) {
            *out = x.sin();
        }
    })
}

/// Reads and writes one float per element; some twenty flops for a sine in single precision.
fn sin_work(launch: &Launch) -> Work {
    let count = elements(launch) as f64;
    Work {
        bytes: 8.0 * count,
        f32_flops: 20.0 * count,
        f64_flops: 0.0,
        ..Work::default()
    }
}
