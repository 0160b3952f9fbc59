//! The kernels of the workspace's `kernels/cuda/network.cu`: bias, ReLU, softmax cross-entropy and
//! the update.

use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::{Answer, Code};

/// (const float* bias, float* x, int rows, int columns)
const ROWS: &[usize] = &[8, 8, 4, 4];

pub(super) const BIAS: Kernel = Kernel {
    name: "bias",
    params: ROWS,
    run: |launch, resolve| add_bias(launch, resolve, |sum| sum),
    work: bias_work,
};
pub(super) const BIAS_RELU: Kernel = Kernel {
    name: "bias_relu",
    params: ROWS,
    run: |launch, resolve| add_bias(launch, resolve, |sum| sum.max(0.0)),
    work: bias_work,
};
/// (const float* y, float* gradient, unsigned n)
pub(super) const RELU_BACKWARD: Kernel = Kernel {
    name: "relu_backward",
    params: &[8, 8, 4],
    run: relu_backward,
    work: relu_backward_work,
};
/// (const float* logits, const int* labels, float* losses, float* gradient, int rows, int columns)
pub(super) const SOFTMAX_CROSS_ENTROPY: Kernel = Kernel {
    name: "softmax_cross_entropy",
    params: &[8, 8, 8, 8, 4, 4],
    run: softmax_cross_entropy,
    work: softmax_work,
};
/// (unsigned n, float rate, float momentum, const float* gradient, float* velocity, float* weights)
pub(super) const SGD: Kernel = Kernel {
    name: "sgd",
    params: &[4, 4, 4, 8, 8, 8],
    run: sgd,
    work: sgd_work,
};

/// Columns of the matrix, and the elements that the launch changes.
fn biased(launch: &Launch) -> [usize; 2] {
    let (rows, columns) = (launch.size(2), launch.size(3));
    [columns, launch.covered(0, rows * columns)]
}

fn add_bias(launch: &Launch, resolve: Resolve<'_>, then: fn(f32) -> f32) -> Answer {
    let [columns, covered] = biased(launch);
    if covered == 0 {
        return Ok(());
    }
    let bias = launch.read_floats(0, columns, resolve)?;
    launch.write_floats(1, covered, resolve, |x| {
        for (x, bias) in x.iter_mut().zip(bias.iter().cycle()) {
            *x = then(*x + bias);
        }
    })
}

/// Each element read, added to and written; the bias read once.
fn bias_work(launch: &Launch) -> Work {
    let [columns, covered] = biased(launch).map(|n| n as f64);
    Work {
        bytes: 8.0 * covered + 4.0 * columns,
        f32_flops: covered,
        f64_flops: 0.0,
        ..Work::default()
    }
}

fn relu_backward(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let covered = launch.covered(0, launch.u32(2) as usize);
    let y = launch.read_floats(0, covered, resolve)?;
    launch.write_floats(1, covered, resolve, |gradient| {
        for (gradient, y) in gradient.iter_mut().zip(&y) {
            if *y <= 0.0 {
                *gradient = 0.0;
            }
        }
    })
}

/// Two reads and a write per element.
fn relu_backward_work(launch: &Launch) -> Work {
    Work {
        bytes: 12.0 * launch.covered(0, launch.u32(2) as usize) as f64,
        ..Work::default()
    }
}

/// A label outside the columns is ILLEGAL_ADDRESS: a device would read outside the row.
fn softmax_cross_entropy(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let (rows, columns) = (launch.size(4), launch.size(5));
    let covered = launch.covered(0, rows);
    if covered == 0 || columns == 0 {
        return Ok(());
    }
    let logits = launch.read_floats(0, rows * columns, resolve)?;
    let labels = launch.read_floats(1, covered, resolve)?;
    let mut losses = Vec::with_capacity(covered);
    let mut gradients = Vec::with_capacity(covered * columns);
    for (row, label) in logits.chunks_exact(columns).zip(labels) {
        // The integers were read as the bits of floats.
        let label = label.to_bits() as usize;
        let label_logit = row.get(label).ok_or(Code::ILLEGAL_ADDRESS)?;
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = row.iter().map(|logit| (logit - largest).exp()).sum();
        losses.push(sum.ln() - (label_logit - largest));
        gradients.extend(row.iter().enumerate().map(|(j, logit)| {
            let target = if j == label { 1.0 } else { 0.0 };
            ((logit - largest).exp() / sum - target) / rows as f32
        }));
    }
    launch.write_floats(2, covered, resolve, |to| to.copy_from_slice(&losses))?;
    launch.write_floats(3, covered * columns, resolve, |to| {
        to.copy_from_slice(&gradients);
    })
}

/// Logits read, gradient written, and a label and a loss per row; seven operations per element,
/// including two exponentials, and three per row.
fn softmax_work(launch: &Launch) -> Work {
    let rows = launch.covered(0, launch.size(4)) as f64;
    let columns = launch.size(5) as f64;
    Work {
        bytes: 8.0 * rows * (columns + 1.0),
        f32_flops: rows * (7.0 * columns + 3.0),
        f64_flops: 0.0,
        ..Work::default()
    }
}

fn sgd(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    let covered = launch.covered(0, launch.u32(0) as usize);
    let (rate, momentum) = (launch.f32(1), launch.f32(2));
    let mut velocity = launch.read_floats(4, covered, resolve)?;
    for (velocity, gradient) in velocity
        .iter_mut()
        .zip(launch.read_floats(3, covered, resolve)?)
    {
        *velocity = momentum * *velocity + gradient;
    }
    launch.write_floats(4, covered, resolve, |to| to.copy_from_slice(&velocity))?;
    launch.write_floats(5, covered, resolve, |weights| {
        for (weight, velocity) in weights.iter_mut().zip(&velocity) {
            *weight -= rate * velocity;
        }
    })
}

/// Gradient, velocity and weight read, the last two written; two multiplications and two additions.
fn sgd_work(launch: &Launch) -> Work {
    let count = launch.covered(0, launch.u32(0) as usize) as f64;
    Work {
        bytes: 20.0 * count,
        f32_flops: 4.0 * count,
        f64_flops: 0.0,
        ..Work::default()
    }
}
