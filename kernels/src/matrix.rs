//! Matrix products, the transpose and sums: names, PTX, launch geometry, and the work of a launch.
//!
//! Most programs consist of these, and each is limited by a different resource.

use crate::{Geometry, linear};

/// PTX of the two matrix products: PTX 8.0 for compute capability 7.5 and later.
pub const MATMUL_PTX: &str = include_str!("../ptx/matmul.ptx");
/// PTX of [`TRANSPOSE`]: PTX 8.0 for compute capability 7.5 and later.
pub const TRANSPOSE_PTX: &str = include_str!("../ptx/transpose.ptx");
/// PTX of [`REDUCE_SUM`] and [`COLUMN_SUMS`]: PTX 8.0 for compute capability 7.5 and later.
pub const REDUCTION_PTX: &str = include_str!("../ptx/reduction.ptx");

/// Name of the matrix product that reads global memory for every multiplication.
pub const MATMUL_NAIVE: &str = "matmul_naive";
/// Name of the matrix product with tiles of both factors in shared memory.
pub const MATMUL_TILED: &str = "matmul_tiled";
/// Name of the kernel that turns rows into columns.
pub const TRANSPOSE: &str = "transpose";
/// Name of the kernel that computes one partial sum per block.
pub const REDUCE_SUM: &str = "reduce_sum";
/// Name of the kernel that sums each column of a matrix.
pub const COLUMN_SUMS: &str = "column_sums";

/// The largest number of partial sums that [`reduce_sum_geometry`] requests.
pub const MOST_PARTIAL_SUMS: u32 = 1024;

/// Geometry of [`MATMUL_NAIVE`] and [`MATMUL_TILED`] for a result of `m` rows and `n` columns:
/// 16×16 threads in a block, one result each. The tiled kernel is compiled for this block only.
#[must_use]
pub const fn matmul_geometry(m: u32, n: u32) -> Geometry {
    Geometry {
        grid: (n.div_ceil(16), m.div_ceil(16), 1),
        block: (16, 16, 1),
    }
}

/// Bytes that a product of `m`×`k` by `k`×`n` must move at least: both factors read once, the
/// result written once, four bytes per value.
#[must_use]
pub const fn matmul_bytes(m: usize, n: usize, k: usize) -> u64 {
    let (m, n, k) = (m as u64, n as u64, k as u64);
    4 * (m * k + k * n + m * n)
}

/// Floating-point operations of a product of `m`×`k` by `k`×`n`: a multiplication and an addition
/// for each result and each of its `k` terms.
#[must_use]
pub const fn matmul_flops(m: usize, n: usize, k: usize) -> u64 {
    2 * m as u64 * n as u64 * k as u64
}

/// Geometry of [`TRANSPOSE`] for a matrix of `height` rows: 32×8 threads in a block that turns
/// 32×32 elements. The kernel is compiled for this block only.
#[must_use]
pub const fn transpose_geometry(height: u32, width: u32) -> Geometry {
    Geometry {
        grid: (width.div_ceil(32), height.div_ceil(32), 1),
        block: (32, 8, 1),
    }
}

/// Bytes that [`TRANSPOSE`] must move: each element read and written, four bytes each. It computes
/// nothing.
#[must_use]
pub const fn transpose_bytes(height: usize, width: usize) -> u64 {
    8 * height as u64 * width as u64
}

/// Geometry of [`REDUCE_SUM`] on `n` elements: 256 threads in a block, at most
/// [`MOST_PARTIAL_SUMS`] blocks, each with at least one element per thread where `n` allows. There
/// are as many partial sums as blocks.
#[must_use]
pub const fn reduce_sum_geometry(n: u32) -> Geometry {
    let blocks = n.div_ceil(256);
    let blocks = if blocks > MOST_PARTIAL_SUMS {
        MOST_PARTIAL_SUMS
    } else {
        blocks
    };
    Geometry {
        grid: (if blocks == 0 { 1 } else { blocks }, 1, 1),
        block: (256, 1, 1),
    }
}

/// Bytes that [`REDUCE_SUM`] must move: `n` elements read, and one partial sum per block written.
#[must_use]
pub const fn reduce_sum_bytes(n: u32) -> u64 {
    4 * (n as u64 + reduce_sum_geometry(n).grid.0 as u64)
}

/// Floating-point operations of a sum of `n` elements: `n - 1` additions.
#[must_use]
pub const fn reduce_sum_flops(n: u32) -> u64 {
    n.saturating_sub(1) as u64
}

/// Geometry of [`COLUMN_SUMS`]: 256 threads in a block, one column each.
#[must_use]
pub const fn column_sums_geometry(columns: u32) -> Geometry {
    linear(columns)
}

/// Bytes that [`COLUMN_SUMS`] must move: the matrix read, one sum per column written, four bytes
/// each.
#[must_use]
pub const fn column_sums_bytes(rows: usize, columns: usize) -> u64 {
    4 * (rows as u64 + 1) * columns as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grids_cover_the_matrices() {
        for (height, width) in [(1, 1), (16, 32), (17, 33), (200, 200)] {
            let matmul = matmul_geometry(height, width);
            assert!(matmul.grid.0 * 16 >= width && matmul.grid.1 * 16 >= height);
            let transpose = transpose_geometry(height, width);
            assert!(transpose.grid.0 * 32 >= width && transpose.grid.1 * 32 >= height);
            assert!(column_sums_geometry(width).grid.0 * 256 >= width);
        }
    }

    #[test]
    fn partial_sums_are_one_per_block_and_bounded() {
        for (n, blocks) in [(0, 1), (1, 1), (256, 1), (257, 2), (u32::MAX, 1024)] {
            assert_eq!(reduce_sum_geometry(n).grid.0, blocks);
        }
        assert_eq!(reduce_sum_bytes(257), 4 * 259);
        assert_eq!(reduce_sum_flops(0), 0);
    }

    #[test]
    fn work_is_counted_by_the_formulas() {
        assert_eq!(matmul_flops(2, 3, 5), 60);
        assert_eq!(matmul_bytes(2, 3, 5), 4 * (10 + 15 + 6));
        assert_eq!(transpose_bytes(3, 5), 2 * 15 * 4);
        assert_eq!(column_sums_bytes(3, 5), 4 * (15 + 5));
    }
}
