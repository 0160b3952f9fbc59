//! The kernels of the workspace's `kernels/cuda/transformer.cu`: embedding, layer norm, causal
//! softmax and the merging of heads. Sums come in the order of the elements; a device adds them as
//! a tree.

use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::Answer;

/// Prevents a division by zero for a row without variance.
const EPSILON: f32 = 1e-5;

/// (const int* tokens, const float* table, const float* positions, float* result, int rows,
/// int length, int columns)
pub(super) const EMBED: Kernel = Kernel {
    name: "embed",
    params: &[8, 8, 8, 8, 4, 4, 4],
    run: embed,
    work: |launch| streamed(3.0 * embedded(launch) as f64, 1.0),
};
/// (const float* x, const float* gain, const float* bias, float* result, int columns)
pub(super) const LAYER_NORM: Kernel = Kernel {
    name: "layer_norm",
    params: &[8, 8, 8, 8, 4],
    run: layer_norm,
    work: |launch| streamed(2.0 * (rows(launch) * launch.size(4)) as f64, 4.0),
};
/// (float* scores, float scale, int length)
pub(super) const CAUSAL_SOFTMAX: Kernel = Kernel {
    name: "causal_softmax",
    params: &[8, 4, 4],
    run: causal_softmax,
    work: |launch| streamed(2.0 * (rows(launch) * launch.size(2)) as f64, 3.0),
};
/// (const float* heads, float* result, int count, int rows, int width)
pub(super) const MERGE_HEADS: Kernel = Kernel {
    name: "merge_heads",
    params: &[8, 8, 4, 4, 4],
    run: merge_heads,
    work: |launch| streamed(2.0 * merged(launch) as f64, 0.0),
};

/// The work of moving `floats` with `flops` each.
fn streamed(floats: f64, flops: f64) -> Work {
    Work {
        bytes: 4.0 * floats,
        f32_flops: flops * floats,
        ..Work::default()
    }
}

/// Rows of the kernels with one block per row.
fn rows(launch: &Launch) -> usize {
    launch.grid[0] as usize
}

/// Results that have a thread.
fn embedded(launch: &Launch) -> usize {
    launch.covered(0, launch.size(4) * launch.size(6))
}

/// A token outside the table is ILLEGAL_ADDRESS if its row is outside every allocation, as on a
/// device.
fn embed(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let (length, columns) = (launch.size(5), launch.size(6));
    let covered = embedded(launch);
    if covered == 0 {
        return Ok(());
    }
    // The integers were read as the bits of floats.
    let tokens = launch.read_floats(0, covered.div_ceil(columns), resolve)?;
    let tokens: Vec<usize> = tokens.iter().map(|bits| bits.to_bits() as usize).collect();
    let largest = tokens.iter().max().map_or(0, |token| token + 1);
    let table = launch.read_floats(1, largest * columns, resolve)?;
    let positions = launch.read_floats(2, length.min(tokens.len()) * columns, resolve)?;
    launch.write_floats(3, covered, resolve, |result| {
        for (i, result) in result.iter_mut().enumerate() {
            let (token, j) = (i / columns, i % columns);
            *result = table[tokens[token] * columns + j] + positions[token % length * columns + j];
        }
    })
}

fn layer_norm(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let columns = launch.size(4);
    if columns == 0 {
        return Ok(());
    }
    let x = launch.read_floats(0, rows(launch) * columns, resolve)?;
    let gain = launch.read_floats(1, columns, resolve)?;
    let bias = launch.read_floats(2, columns, resolve)?;
    launch.write_floats(3, x.len(), resolve, |result| {
        for (x, result) in x
            .chunks_exact(columns)
            .zip(result.chunks_exact_mut(columns))
        {
            let mean = x.iter().sum::<f32>() / columns as f32;
            let squares: f32 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
            let scale = (squares / columns as f32 + EPSILON).sqrt().recip();
            for (j, result) in result.iter_mut().enumerate() {
                *result = gain[j] * (x[j] - mean) * scale + bias[j];
            }
        }
    })
}

fn causal_softmax(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let (scale, length) = (launch.f32(1), launch.size(2));
    if length == 0 {
        return Ok(());
    }
    launch.write_floats(0, rows(launch) * length, resolve, |scores| {
        for (i, row) in scores.chunks_exact_mut(length).enumerate() {
            let (visible, later) = row.split_at_mut(i % length + 1);
            visible.iter_mut().for_each(|score| *score *= scale);
            let largest = visible.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = visible.iter().map(|score| (score - largest).exp()).sum();
            for score in visible {
                *score = (*score - largest).exp() / sum;
            }
            later.fill(0.0);
        }
    })
}

/// Results that have a thread.
fn merged(launch: &Launch) -> usize {
    launch.covered(0, launch.size(2) * launch.size(3) * launch.size(4))
}

fn merge_heads(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let [count, rows, width] = [2, 3, 4].map(|index| launch.size(index));
    let heads = launch.read_floats(0, count * rows * width, resolve)?;
    launch.write_floats(1, merged(launch), resolve, |result| {
        for (i, result) in result.iter_mut().enumerate() {
            let (row, head) = (i / (count * width), i / width % count);
            *result = heads[(head * rows + row) * width + i % width];
        }
    })
}
