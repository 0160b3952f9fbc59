//! The kernels of `gpuprof-bench/kernels/peaks.cu`, which measure what a device reaches.

use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::Answer;

/// (const float4* source, float4* target, unsigned long long count)
pub(super) const COPY: Kernel = Kernel {
    name: "gpuprof_copy",
    params: &[8, 8, 8],
    run: copy,
    work: |launch| Work {
        bytes: 32.0 * launch.u64(2) as f64,
        ..Work::default()
    },
};

/// (float* result, unsigned rounds)
pub(super) const FMA_F32: Kernel = Kernel {
    name: "gpuprof_fma_f32",
    params: &[8, 4],
    run: no_result,
    work: |launch| Work {
        f32_flops: flops(launch),
        ..Work::default()
    },
};

/// (double* result, unsigned rounds)
pub(super) const FMA_F64: Kernel = Kernel {
    name: "gpuprof_fma_f64",
    params: &[8, 4],
    run: no_result,
    work: |launch| Work {
        f64_flops: flops(launch),
        ..Work::default()
    },
};

fn copy(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let floats = 4 * launch.u64(2) as usize;
    let source = launch.read_floats(0, floats, resolve)?;
    launch.write_floats(1, floats, resolve, |target| target.copy_from_slice(&source))
}

/// Nobody reads the sums.
fn no_result(_launch: &Launch, _resolve: Resolve<'_>) -> Answer {
    Ok(())
}

/// Eight chains of multiply-adds in each thread.
fn flops(launch: &Launch) -> f64 {
    16.0 * f64::from(launch.u32(1)) * launch.threads(0) as f64
}
