//! The kernels of a small network besides products and sums: names, PTX, launch geometry, and the
//! work of a launch.
//!
//! `examples/04_train_digits.rs` trains with these.

use crate::{Geometry, linear};

/// PTX of the kernels of this module: PTX 8.0 for compute capability 7.5 and later.
pub const NETWORK_PTX: &str = include_str!("../ptx/network.ptx");

/// Name of the kernel that adds a bias to each row.
pub const BIAS: &str = "bias";
/// Name of the kernel that adds a bias to each row and sets negative values to zero.
pub const BIAS_RELU: &str = "bias_relu";
/// Name of the kernel that sets the gradient to zero where [`BIAS_RELU`] set its result to zero.
pub const RELU_BACKWARD: &str = "relu_backward";
/// Name of the kernel that computes each row's loss and its gradient.
pub const SOFTMAX_CROSS_ENTROPY: &str = "softmax_cross_entropy";
/// Name of the kernel that updates weights by stochastic gradient descent with momentum.
pub const SGD: &str = "sgd";

/// Geometry of [`BIAS`], [`BIAS_RELU`], [`RELU_BACKWARD`] and [`SGD`] on `n` elements: 256 threads
/// in a block, one element each.
#[must_use]
pub const fn elements_geometry(n: u32) -> Geometry {
    linear(n)
}

/// Geometry of [`SOFTMAX_CROSS_ENTROPY`]: 256 threads in a block, one row each.
#[must_use]
pub const fn softmax_geometry(rows: u32) -> Geometry {
    linear(rows)
}

/// Bytes that [`BIAS`] and [`BIAS_RELU`] must move: each element read and written, the bias read
/// once.
#[must_use]
pub const fn bias_bytes(rows: usize, columns: usize) -> u64 {
    4 * (2 * rows as u64 + 1) * columns as u64
}

/// Bytes that [`RELU_BACKWARD`] moves on `n` elements at most: the result read, the gradient read
/// and written.
#[must_use]
pub const fn relu_backward_bytes(n: usize) -> u64 {
    12 * n as u64
}

/// Bytes that [`SOFTMAX_CROSS_ENTROPY`] must move: logits read, gradient written, label and loss of
/// each row.
#[must_use]
pub const fn softmax_bytes(rows: usize, columns: usize) -> u64 {
    8 * rows as u64 * (columns as u64 + 1)
}

/// Bytes that [`SGD`] must move for `n` weights: gradient, velocity and weight read, the last two
/// written.
#[must_use]
pub const fn sgd_bytes(n: usize) -> u64 {
    20 * n as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grids_cover_the_elements() {
        for n in [1, 256, 257, 100_000] {
            assert!(elements_geometry(n).grid.0 * 256 >= n);
            assert!(softmax_geometry(n).grid.0 * 256 >= n);
        }
    }

    #[test]
    fn work_is_counted_by_the_formulas() {
        assert_eq!(bias_bytes(3, 5), 4 * (15 + 15 + 5));
        assert_eq!(relu_backward_bytes(7), 3 * 7 * 4);
        assert_eq!(softmax_bytes(3, 5), 4 * (15 + 15 + 3 + 3));
        assert_eq!(sgd_bytes(7), 140);
    }
}
