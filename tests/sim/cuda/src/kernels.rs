//! The kernels that the simulator knows: their signatures, what they compute, and how much work
//! that is. Their CUDA C is in the workspace's `kernels/cuda`.

mod arithmetic;
mod convolution;
mod cudarc_examples;
mod launch;
mod matrix;
mod network;
mod no_op;
mod saxpy;
mod spin;

pub(crate) use launch::{Kernel, Launch, Work};
pub(crate) use no_op::no_op;

static KERNELS: &[Kernel] = &[
    saxpy::SAXPY,
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
    spin::ALL_REDUCE,
];

/// The names of all kernels.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KERNELS.iter().map(|kernel| kernel.name)
}

/// The kernel called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}
