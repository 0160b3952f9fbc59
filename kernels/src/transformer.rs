//! The kernels of a decoder-only transformer besides products and biases: names, PTX, launch
//! geometry, and the work of a launch.
//!
//! The GPU pack measures gpuprof in a program of realistic size.

use crate::{Geometry, linear};

/// CUDA C of the kernels of this module.
pub const TRANSFORMER_CU: &str = include_str!("../cuda/transformer.cu");
/// PTX of the kernels of this module: PTX 8.0 for compute capability 7.5 and later.
pub const TRANSFORMER_PTX: &str = include_str!("../ptx/transformer.ptx");

/// Name of the kernel that looks up each token and adds its position.
pub const EMBED: &str = "embed";
/// Name of the kernel that normalizes each row.
pub const LAYER_NORM: &str = "layer_norm";
/// Name of the kernel that turns scores into weights of the current and earlier tokens.
pub const CAUSAL_SOFTMAX: &str = "causal_softmax";
/// Name of the kernel that places the heads' columns beside each other.
pub const MERGE_HEADS: &str = "merge_heads";

/// Geometry of [`EMBED`] and [`MERGE_HEADS`] for `n` results: 256 threads in a block, one result
/// each.
#[must_use]
pub const fn results_geometry(n: u32) -> Geometry {
    linear(n)
}

/// Geometry of [`LAYER_NORM`] and [`CAUSAL_SOFTMAX`] on `rows` rows: a block of 256 threads each.
/// The kernels are compiled for this block only, and make as many rows as there are blocks.
#[must_use]
pub const fn rows_geometry(rows: u32) -> Geometry {
    Geometry {
        grid: (rows, 1, 1),
        block: (256, 1, 1),
    }
}

/// Bytes that [`EMBED`] must move: one token per row, and for each result two terms read and the
/// sum written.
#[must_use]
pub const fn embed_bytes(rows: usize, columns: usize) -> u64 {
    4 * rows as u64 * (3 * columns as u64 + 1)
}

/// Bytes that [`LAYER_NORM`] must move: each element read and written, gain and bias read once.
#[must_use]
pub const fn layer_norm_bytes(rows: usize, columns: usize) -> u64 {
    8 * (rows as u64 + 1) * columns as u64
}

/// Bytes that [`CAUSAL_SOFTMAX`] must move for `matrices` of `length` rows: current and earlier
/// scores read, all written.
#[must_use]
pub const fn causal_softmax_bytes(matrices: usize, length: usize) -> u64 {
    let length = length as u64;
    4 * matrices as u64 * (length * (length + 1) / 2 + length * length)
}

/// Bytes that [`MERGE_HEADS`] must move: each of `n` elements read and written.
#[must_use]
pub const fn merge_heads_bytes(n: usize) -> u64 {
    8 * n as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grids_cover_the_results() {
        assert_eq!(results_geometry(257).grid, (2, 1, 1));
        assert_eq!(rows_geometry(7).grid, (7, 1, 1));
    }

    #[test]
    fn work_is_counted_by_the_formulas() {
        assert_eq!(embed_bytes(3, 5), 4 * (3 + 3 * 15));
        assert_eq!(layer_norm_bytes(3, 5), 4 * (15 + 15 + 5 + 5));
        assert_eq!(causal_softmax_bytes(2, 3), 4 * 2 * (1 + 2 + 3 + 9));
        assert_eq!(merge_heads_bytes(7), 56);
    }
}
