//! The CUDA kernels of gpuprof's examples and tests: PTX, launch geometry, and the work of a
//! launch.
//!
//! Examples, tests, the simulated device and the benchmarks share these kernels and their work
//! formulas. The crate does not depend on cudarc; a caller converts a [`Geometry`] into its own
//! launch type.
//!
//! `cargo xtask ptx` builds the PTX from the source, and `cargo xtask ptx --check` compares the
//! two.
//!
//! Arguments without a type are `float*`:
//!
//! | kernel | signature |
//! |---|---|
//! | [`SAXPY`] | `(unsigned n, float a, x, y)` |
//! | [`CONVOLVE_DOUBLE`], `_SINGLE`, `_TILED` | `(image, mask, result, int height, int width)` |
//! | [`MATMUL_NAIVE`], [`MATMUL_TILED`] | `(a, b, result, int m, int n, int k)` |
//! | [`TRANSPOSE`] | `(matrix, result, int height, int width)` |
//! | [`REDUCE_SUM`] | `(x, partial, unsigned n)` |
//! | [`COLUMN_SUMS`] | `(matrix, sums, int rows, int columns)` |
//! | [`BIAS`], [`BIAS_RELU`] | `(bias, x, int rows, int columns)` |
//! | [`RELU_BACKWARD`] | `(y, gradient, unsigned n)` |
//! | [`SOFTMAX_CROSS_ENTROPY`] | `(logits, int* labels, losses, gradient, int rows, int columns)` |
//! | [`SGD`] | `(unsigned n, float rate, float momentum, gradient, velocity, weights)` |
//! | [`SPIN`] | `(unsigned long long ns)` |

mod matrix;
mod network;

pub use matrix::*;
pub use network::*;

/// PTX of [`SAXPY`]: PTX 8.0 for compute capability 7.5 and later.
pub const SAXPY_PTX: &str = include_str!("../ptx/saxpy.ptx");
/// PTX of the three convolutions: PTX 8.0 for compute capability 7.5 and later.
pub const CONVOLUTION_PTX: &str = include_str!("../ptx/convolution.ptx");
/// PTX of [`SPIN`]: PTX 8.0 for compute capability 7.5 and later.
pub const SPIN_PTX: &str = include_str!("../ptx/spin.ptx");

/// Name of the kernel that computes `y = a * x + y`.
pub const SAXPY: &str = "saxpy";
/// Name of the convolution whose accumulator is a double by mistake.
pub const CONVOLVE_DOUBLE: &str = "convolve_double";
/// Name of the convolution in single precision throughout.
pub const CONVOLVE_SINGLE: &str = "convolve_single";
/// Name of the convolution with tile and mask in shared memory.
pub const CONVOLVE_TILED: &str = "convolve_tiled";
/// Name of the kernel that keeps one thread busy for a number of ns of the device's global timer.
pub const SPIN: &str = "spin";

/// Rows, and columns, of the convolutions' mask.
pub const MASK: usize = 13;
/// How far the mask reaches from its centre.
pub const RADIUS: usize = MASK / 2;

/// Grid and block of a launch, x first. No kernel here takes dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks.
    pub grid: (u32, u32, u32),
    /// Threads of a block.
    pub block: (u32, u32, u32),
}

/// Geometry of [`SAXPY`] on `n` elements: 256 threads in a block, one element each.
#[must_use]
pub const fn saxpy_geometry(n: u32) -> Geometry {
    linear(n)
}

/// Geometry of [`SPIN`]: one thread.
#[must_use]
pub const fn spin_geometry() -> Geometry {
    Geometry {
        grid: (1, 1, 1),
        block: (1, 1, 1),
    }
}

/// 256 threads in a block, one element each. A grid needs at least one block, even without
/// elements.
const fn linear(n: u32) -> Geometry {
    let blocks = n.div_ceil(256);
    Geometry {
        grid: (if blocks == 0 { 1 } else { blocks }, 1, 1),
        block: (256, 1, 1),
    }
}

/// Bytes that [`SAXPY`] must move for `n` elements: it reads `x` and `y` and writes `y`, four bytes
/// each.
#[must_use]
pub const fn saxpy_bytes(n: usize) -> u64 {
    12 * n as u64
}

/// Floating-point operations of [`SAXPY`] on `n` elements: one multiplication and one addition
/// each.
#[must_use]
pub const fn saxpy_flops(n: usize) -> u64 {
    2 * n as u64
}

/// Geometry of [`CONVOLVE_DOUBLE`] and [`CONVOLVE_SINGLE`]: 16×16 threads in a block, one result
/// each.
#[must_use]
pub const fn convolution_geometry(height: u32, width: u32) -> Geometry {
    Geometry {
        grid: (width.div_ceil(16), height.div_ceil(16), 1),
        block: (16, 16, 1),
    }
}

/// Geometry of [`CONVOLVE_TILED`]: 32×8 threads in a block, eight results of one column each, so
/// that a block makes 64 rows by 32 columns. The kernel is compiled for this block only.
#[must_use]
pub const fn convolution_tiled_geometry(height: u32, width: u32) -> Geometry {
    Geometry {
        grid: (width.div_ceil(32), height.div_ceil(64), 1),
        block: (32, 8, 1),
    }
}

/// Bytes that a convolution must move at least: image and mask read once, the result written once,
/// four bytes per value. Caches that miss move more; a GB/s from this is the useful part of the
/// traffic.
#[must_use]
pub const fn convolution_bytes(height: usize, width: usize) -> u64 {
    4 * (2 * height as u64 * width as u64 + (MASK * MASK) as u64)
}

/// Floating-point operations that a convolution needs: one multiplication and one addition for each
/// pair of a result and a mask element that falls inside the image.
///
/// In the middle of an image that is 338 per result. At the edges it is fewer; the zeros that
/// [`CONVOLVE_TILED`] multiplies out there are not counted as work.
#[must_use]
pub const fn convolution_flops(height: usize, width: usize) -> u64 {
    2 * pairs(height as u64) * pairs(width as u64)
}

/// Pairs of positions in a line of `n` that lie at most [`RADIUS`] apart, ordered: `n` at distance
/// zero and twice `n - d` at each distance `d`.
const fn pairs(n: u64) -> u64 {
    let mut sum = n;
    let mut distance = 1;
    while distance <= RADIUS as u64 {
        sum += 2 * n.saturating_sub(distance);
        distance += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The PTX of one kernel: from its entry to the next one.
    fn entry(ptx: &'static str, kernel: &str) -> &'static str {
        ptx.split(".visible .entry ")
            .find(|part| part.starts_with(&format!("{kernel}(")))
            .unwrap_or_else(|| panic!("no entry {kernel}"))
    }

    #[test]
    fn only_the_double_version_uses_double_precision() {
        let double = entry(CONVOLUTION_PTX, CONVOLVE_DOUBLE);
        assert!(double.contains("fma.rn.f64"));
        assert!(!double.contains("fma.rn.f32"));
        for kernel in [CONVOLVE_SINGLE, CONVOLVE_TILED] {
            let single = entry(CONVOLUTION_PTX, kernel);
            assert!(single.contains("fma.rn.f32"), "{kernel}");
            assert!(!single.contains(".f64"), "{kernel}");
        }
        let saxpy = entry(SAXPY_PTX, SAXPY);
        assert!(saxpy.contains("fma.rn.f32") && !saxpy.contains(".f64"));
    }

    #[test]
    fn only_the_tiled_versions_use_shared_memory() {
        for (ptx, kernel, shared) in [
            (CONVOLUTION_PTX, CONVOLVE_DOUBLE, false),
            (CONVOLUTION_PTX, CONVOLVE_SINGLE, false),
            (CONVOLUTION_PTX, CONVOLVE_TILED, true),
            (MATMUL_PTX, MATMUL_NAIVE, false),
            (MATMUL_PTX, MATMUL_TILED, true),
        ] {
            let text = entry(ptx, kernel);
            assert_eq!(text.contains("ld.shared"), shared, "{kernel}");
        }
    }

    /// A name missing from its PTX would only be found when a program loads it.
    #[test]
    fn each_ptx_has_the_kernels_named_for_it() {
        for (ptx, kernels) in [
            (MATMUL_PTX, &[MATMUL_NAIVE, MATMUL_TILED][..]),
            (TRANSPOSE_PTX, &[TRANSPOSE]),
            (REDUCTION_PTX, &[REDUCE_SUM, COLUMN_SUMS]),
            (NETWORK_PTX, &[BIAS, BIAS_RELU, RELU_BACKWARD]),
            (NETWORK_PTX, &[SOFTMAX_CROSS_ENTROPY, SGD]),
            (SPIN_PTX, &[SPIN]),
        ] {
            for kernel in kernels {
                assert!(!entry(ptx, kernel).contains(".f64"), "{kernel}");
            }
        }
    }

    #[test]
    fn drivers_since_cuda_12_0_and_gpus_since_turing_load_the_ptx() {
        for ptx in [
            SAXPY_PTX,
            CONVOLUTION_PTX,
            MATMUL_PTX,
            TRANSPOSE_PTX,
            REDUCTION_PTX,
            NETWORK_PTX,
            SPIN_PTX,
        ] {
            assert!(ptx.contains("\n.version 8.0\n.target sm_75\n"));
        }
    }

    #[test]
    fn flops_count_the_products_inside_the_image() {
        for (height, width) in [(0, 9), (1, 1), (5, 30), (13, 13), (40, 21)] {
            let line = |n: usize| {
                let near = |i: usize| (0..n).filter(move |s| i.abs_diff(*s) <= RADIUS).count();
                (0..n).map(near).sum::<usize>()
            };
            let products = line(height) * line(width);
            assert_eq!(convolution_flops(height, width), 2 * products as u64);
        }
    }

    #[test]
    fn the_grid_covers_the_image() {
        for (height, width) in [(1, 1), (64, 32), (65, 33), (200, 200)] {
            let plain = convolution_geometry(height, width);
            assert!(plain.grid.0 * 16 >= width && plain.grid.1 * 16 >= height);
            let tiled = convolution_tiled_geometry(height, width);
            assert!(tiled.grid.0 * 32 >= width && tiled.grid.1 * 64 >= height);
        }
        assert_eq!(saxpy_geometry(257).grid, (2, 1, 1));
    }
}
