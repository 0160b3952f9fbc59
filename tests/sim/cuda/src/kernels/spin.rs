//! The kernel of the workspace's `kernels/cuda/spin.cu`: it runs for the given time.

use super::launch::{Kernel, Work};

/// (unsigned long long ns)
pub(super) const SPIN: Kernel = Kernel {
    name: "spin",
    params: &[8],
    run: |_, _| Ok(()),
    work: |launch| Work {
        ns: Some(launch.u64(0)),
        ..Work::default()
    },
};

/// The same under the name of a collective of NCCL, whose time depends on other ranks.
pub(super) const ALL_REDUCE: Kernel = Kernel {
    name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    ..SPIN
};
