//! Matrix products, the transpose and sums of the workspace's
//! `kernels/cuda/{matmul,transpose,reduction}.cu`. Additions come in the order of the CUDA C, so
//! that sums round as they do there. One difference remains: a GPU's fused multiply-add rounds
//! once; here the product and the sum each round.

use super::arithmetic::add_scaled;
use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::Answer;

/// (const float* a, const float* b, float* result, int m, int n, int k)
const MATMUL: &[usize] = &[8, 8, 8, 4, 4, 4];
/// Threads of a block of `reduce_sum`.
const THREADS: usize = 256;
/// Rows and columns of a block's part of a tiled product.
const PRODUCT_TILE: u64 = 16;
/// Rows and columns of a block's part of a transpose.
const TRANSPOSE_TILE: u64 = 32;

pub(super) const MATMUL_NAIVE: Kernel = Kernel {
    name: "matmul_naive",
    params: MATMUL,
    run: matmul,
    work: naive_work,
};
pub(super) const MATMUL_TILED: Kernel = Kernel {
    name: "matmul_tiled",
    params: MATMUL,
    run: matmul,
    work: tiled_work,
};
/// (const float* matrix, float* result, int height, int width)
pub(super) const TRANSPOSE: Kernel = Kernel {
    name: "transpose",
    params: &[8, 8, 4, 4],
    run: transpose,
    work: transpose_work,
};
/// (const float* x, float* partial, unsigned n)
pub(super) const REDUCE_SUM: Kernel = Kernel {
    name: "reduce_sum",
    params: &[8, 8, 4],
    run: reduce_sum,
    work: reduce_sum_work,
};
/// (const float* matrix, float* sums, int rows, int columns)
pub(super) const COLUMN_SUMS: Kernel = Kernel {
    name: "column_sums",
    params: &[8, 8, 4, 4],
    run: column_sums,
    work: column_sums_work,
};

/// Rows, columns and terms of a product, and the part of it that the launch computes.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    rows: usize,
    columns: usize,
}

impl Product {
    fn new(launch: &Launch) -> Product {
        let (m, n) = (launch.size(3), launch.size(4));
        Product {
            m,
            n,
            k: launch.size(5),
            rows: launch.covered(1, m),
            columns: launch.covered(0, n),
        }
    }

    /// Two flops for each term of each result, and `reads` floats read per term of a result; one
    /// write.
    fn work(&self, reads: f64) -> Work {
        let results = self.rows as f64 * self.columns as f64;
        let terms = results * self.k as f64;
        Work {
            bytes: 4.0 * (reads * terms + results),
            f32_flops: 2.0 * terms,
            f64_flops: 0.0,
            ..Work::default()
        }
    }
}

fn matmul(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let size = Product::new(launch);
    if size.rows == 0 || size.columns == 0 {
        return Ok(());
    }
    let a = launch.read_floats(0, size.m * size.k, resolve)?;
    let b = launch.read_floats(1, size.k * size.n, resolve)?;
    launch.write_floats(2, size.m * size.n, resolve, |result| {
        for (i, row) in result.chunks_exact_mut(size.n).take(size.rows).enumerate() {
            let row = &mut row[..size.columns];
            row.fill(0.0);
            let terms = a[i * size.k..][..size.k].iter();
            for (a, b) in terms.zip(b.chunks_exact(size.n)) {
                add_scaled(row, *a, &b[..size.columns]);
            }
        }
    })
}

/// Modelled memory traffic, in values read per multiply-add: a warp covers 16 × 2 results, so for
/// each k its 32 threads read 2 values of `a` and 16 of `b`. Reuse between warps through L1 or L2
/// is not modelled.
fn naive_work(launch: &Launch) -> Work {
    Product::new(launch).work(18.0 / 32.0)
}

/// Each block reads its tiles once, sixteen values of each factor per term.
fn tiled_work(launch: &Launch) -> Work {
    let tile = PRODUCT_TILE as f64;
    Product::new(launch).work(2.0 * tile / (tile * tile))
}

/// Height and width of the matrix, and the rows and columns that the launch transposes.
fn transposed(launch: &Launch) -> [usize; 4] {
    let (height, width) = (launch.size(2), launch.size(3));
    let covered = |axis: usize, n: usize| {
        (u64::from(launch.grid[axis]) * TRANSPOSE_TILE).min(n as u64) as usize
    };
    [height, width, covered(1, height), covered(0, width)]
}

fn transpose(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let [height, width, rows, columns] = transposed(launch);
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let matrix = launch.read_floats(0, height * width, resolve)?;
    launch.write_floats(1, height * width, resolve, |result| {
        for (i, row) in matrix.chunks_exact(width).take(rows).enumerate() {
            for (value, to) in row[..columns].iter().zip(result.chunks_exact_mut(height)) {
                to[i] = *value;
            }
        }
    })
}

/// One read and one write per element.
fn transpose_work(launch: &Launch) -> Work {
    let [_, _, rows, columns] = transposed(launch);
    Work {
        bytes: 8.0 * rows as f64 * columns as f64,
        ..Work::default()
    }
}

fn reduce_sum(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let x = launch.read_floats(0, launch.u32(2) as usize, resolve)?;
    let blocks = launch.grid[0] as usize;
    launch.write_floats(1, blocks, resolve, |partial| {
        for (block, partial) in partial.iter_mut().enumerate() {
            *partial = block_sum(x.chunks(THREADS).skip(block).step_by(blocks));
        }
    })
}

/// The sum of one block: a sum per thread, then a tree over the threads.
fn block_sum<'a>(parts: impl Iterator<Item = &'a [f32]>) -> f32 {
    let mut sums = [0.0; THREADS];
    for part in parts {
        add_scaled(&mut sums[..part.len()], 1.0, part);
    }
    let mut remaining = THREADS;
    while remaining > 1 {
        remaining /= 2;
        for i in 0..remaining {
            sums[i] += sums[i + remaining];
        }
    }
    sums[0]
}

/// Each element read once and added once; one write per block.
fn reduce_sum_work(launch: &Launch) -> Work {
    let n = f64::from(launch.u32(2));
    Work {
        bytes: 4.0 * (n + f64::from(launch.grid[0])),
        f32_flops: n,
        f64_flops: 0.0,
        ..Work::default()
    }
}

/// Rows and columns of the matrix, and the columns that the launch sums.
fn summed(launch: &Launch) -> [usize; 3] {
    let (rows, columns) = (launch.size(2), launch.size(3));
    [rows, columns, launch.covered(0, columns)]
}

fn column_sums(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let [rows, columns, covered] = summed(launch);
    if covered == 0 {
        return Ok(());
    }
    let matrix = launch.read_floats(0, rows * columns, resolve)?;
    launch.write_floats(1, covered, resolve, |sums| {
        sums.fill(0.0);
        for row in matrix.chunks_exact(columns) {
            add_scaled(sums, 1.0, &row[..covered]);
        }
    })
}

/// Each element read once and added once; one write per column.
fn column_sums_work(launch: &Launch) -> Work {
    let [rows, _, covered] = summed(launch).map(|n| n as f64);
    Work {
        bytes: 4.0 * (rows + 1.0) * covered,
        f32_flops: rows * covered,
        f64_flops: 0.0,
        ..Work::default()
    }
}
