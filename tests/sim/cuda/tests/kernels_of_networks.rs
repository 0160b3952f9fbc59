//! The kernels of matrices and networks compute what an independent reference in f64 does, and
//! nothing beside it.

mod common;

use common::{context_and_stream, function, virtual_clock};
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// Launches the named kernel with a two-dimensional grid and block.
macro_rules! launch {
    ($context:ident, $stream:ident, $name:expr, $grid:expr, $block:expr, $($arg:expr),*) => {{
        let kernel = function(&$context, $name);
        let mut launch = $stream.launch_builder(&kernel);
        $(launch.arg($arg);)*
        let config = LaunchConfig {
            grid_dim: ($grid[0], $grid[1], 1),
            block_dim: ($block[0], $block[1], 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: each test passes the kernel's parameters.
        unsafe { launch.launch(config) }.unwrap();
    }};
}

/// `count` pseudo-random values between -1 and 1.
fn values(count: usize, seed: u32) -> Vec<f32> {
    let hash = |i| (i as u32 ^ seed).wrapping_mul(2_654_435_761) >> 8;
    (0..count)
        .map(|i| hash(i) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

fn near(name: &str, got: &[f32], expected: impl IntoIterator<Item = f64>) {
    let expected: Vec<f64> = expected.into_iter().collect();
    assert_eq!(got.len(), expected.len(), "{name}");
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let off = (f64::from(*got) - expected).abs();
        assert!(off < 1e-5, "{name} at {i}: {got} instead of {expected}");
    }
}

#[test]
fn products_compute() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (m, n, k) = (37_i32, 19_i32, 45_i32);
    let (a, b) = (values((m * k) as usize, 1), values((k * n) as usize, 2));
    let device_a = stream.clone_htod(&a).unwrap();
    let device_b = stream.clone_htod(&b).unwrap();
    for name in ["matmul_naive", "matmul_tiled"] {
        let mut c = stream.clone_htod(&[f32::NAN; 37 * 19]).unwrap();
        let (grid, block) = ([2_u32, 3], [16, 16]);
        launch!(
            context, stream, name, grid, block, &device_a, &device_b, &mut c, &m, &n, &k
        );
        let expected = (0..m * n).map(|at| {
            let (i, j) = (at / n, at % n);
            let term = |l| f64::from(a[(i * k + l) as usize]) * f64::from(b[(l * n + j) as usize]);
            (0..k).map(term).sum()
        });
        near(name, &stream.clone_dtoh(&c).unwrap(), expected);
    }
}

/// Results without a thread are not written.
#[test]
fn a_small_grid_computes_a_part_of_the_product() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let ones = stream.clone_htod(&[1.0_f32; 32 * 32]).unwrap();
    let mut c = stream.clone_htod(&[-1.0_f32; 32 * 32]).unwrap();
    let (side, grid, block) = (32_i32, [1_u32, 1], [16, 16]);
    launch!(
        context,
        stream,
        "matmul_tiled",
        grid,
        block,
        &ones,
        &ones,
        &mut c,
        &side,
        &side,
        &side
    );
    let c = stream.clone_dtoh(&c).unwrap();
    for (at, got) in c.iter().enumerate() {
        let inside = at / 32 < 16 && at % 32 < 16;
        assert_eq!(*got, if inside { 32.0 } else { -1.0 }, "at {at}");
    }
}

#[test]
fn the_transpose_computes() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (height, width) = (33_i32, 70_i32);
    let matrix = values((height * width) as usize, 3);
    let from = stream.clone_htod(&matrix).unwrap();
    let mut to = stream.clone_htod(&[f32::NAN; 33 * 70]).unwrap();
    let (grid, block) = ([3_u32, 2], [32, 8]);
    launch!(
        context,
        stream,
        "transpose",
        grid,
        block,
        &from,
        &mut to,
        &height,
        &width
    );
    let to = stream.clone_dtoh(&to).unwrap();
    for (i, j) in (0..33).flat_map(|i| (0..70).map(move |j| (i, j))) {
        assert_eq!(to[j * 33 + i], matrix[i * 70 + j], "at {i},{j}");
    }
}

/// Two launches compute the sum: one partial sum per block, then the sum of these.
#[test]
fn sums_compute() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let x = values(2_000, 4);
    let device_x = stream.clone_htod(&x).unwrap();
    let mut partial = stream.clone_htod(&[f32::NAN; 3]).unwrap();
    let mut sum = stream.clone_htod(&[f32::NAN]).unwrap();
    let (block, n, blocks) = ([256_u32, 1], 2_000_u32, 3_u32);
    launch!(
        context,
        stream,
        "reduce_sum",
        [3, 1],
        block,
        &device_x,
        &mut partial,
        &n
    );
    launch!(
        context,
        stream,
        "reduce_sum",
        [1, 1],
        block,
        &partial,
        &mut sum,
        &blocks
    );
    // Block 1 of 3 sums the elements 256..512, 1024..1280 and 1792..2000.
    let of_block = |b: usize| {
        let mine = x.iter().enumerate().filter(move |(i, _)| i / 256 % 3 == b);
        mine.map(|(_, x)| f64::from(*x)).sum()
    };
    near(
        "partial",
        &stream.clone_dtoh(&partial).unwrap(),
        (0..3).map(of_block),
    );
    let whole = x.iter().map(|x| f64::from(*x)).sum();
    near("sum", &stream.clone_dtoh(&sum).unwrap(), [whole]);

    let (rows, columns) = (40_i32, 50_i32);
    let mut sums = stream.clone_htod(&[f32::NAN; 50]).unwrap();
    launch!(
        context,
        stream,
        "column_sums",
        [1, 1],
        block,
        &device_x,
        &mut sums,
        &rows,
        &columns
    );
    let column = |j: usize| (0..40).map(|i| f64::from(x[i * 50 + j])).sum();
    near(
        "column_sums",
        &stream.clone_dtoh(&sums).unwrap(),
        (0..50).map(column),
    );
}

#[test]
fn bias_and_relu_compute() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (rows, columns, n) = (23_i32, 17_i32, 23 * 17_u32);
    let (x, bias) = (values(n as usize, 5), values(17, 6));
    let device_bias = stream.clone_htod(&bias).unwrap();
    let sum = |i: usize| f64::from(x[i]) + f64::from(bias[i % 17]);
    let relu = |i: usize| sum(i).max(0.0);
    let (grid, block) = ([2_u32, 1], [256, 1]);
    let all = 0..n as usize;

    let mut y = stream.clone_htod(&x).unwrap();
    launch!(
        context,
        stream,
        "bias",
        grid,
        block,
        &device_bias,
        &mut y,
        &rows,
        &columns
    );
    near(
        "bias",
        &stream.clone_dtoh(&y).unwrap(),
        all.clone().map(sum),
    );

    let mut y = stream.clone_htod(&x).unwrap();
    launch!(
        context,
        stream,
        "bias_relu",
        grid,
        block,
        &device_bias,
        &mut y,
        &rows,
        &columns
    );
    near(
        "bias_relu",
        &stream.clone_dtoh(&y).unwrap(),
        all.clone().map(relu),
    );

    let given = values(n as usize, 7);
    let mut gradient = stream.clone_htod(&given).unwrap();
    launch!(
        context,
        stream,
        "relu_backward",
        grid,
        block,
        &y,
        &mut gradient,
        &n
    );
    let passed = all.map(|i| if sum(i) > 0.0 { given[i].into() } else { 0.0 });
    near(
        "relu_backward",
        &stream.clone_dtoh(&gradient).unwrap(),
        passed,
    );
}

/// The loss agrees with its definition, and the gradient with central differences of the loss.
#[test]
fn the_loss_and_its_gradient_compute() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (rows, columns) = (5_i32, 7_i32);
    // In one row the plain exponentials would overflow.
    let mut logits = values(35, 8);
    logits[7..14].iter_mut().for_each(|logit| *logit += 200.0);
    let labels = [0_i32, 3, 6, 2, 2];
    let from = stream.clone_htod(&logits).unwrap();
    let device_labels = stream.clone_htod(&labels).unwrap();
    let mut losses = stream.clone_htod(&[f32::NAN; 5]).unwrap();
    let mut gradient = stream.clone_htod(&[f32::NAN; 35]).unwrap();
    let (grid, block) = ([1_u32, 1], [256, 1]);
    let name = "softmax_cross_entropy";
    launch!(
        context,
        stream,
        name,
        grid,
        block,
        &from,
        &device_labels,
        &mut losses,
        &mut gradient,
        &rows,
        &columns
    );

    let loss = |logits: &[f64], i: usize| {
        let row = &logits[i * 7..][..7];
        let sum: f64 = row.iter().map(|logit| logit.exp()).sum();
        -(row[labels[i] as usize].exp() / sum).ln()
    };
    let exact: Vec<f64> = logits.iter().map(|logit| f64::from(*logit)).collect();
    // An f32 near 200 has a step of 1.5e-5.
    let got = stream.clone_dtoh(&losses).unwrap();
    near("loss", &got, (0..5).map(|i| loss(&exact, i)));
    let slope = |at: usize| {
        let moved = |by: f64| {
            let mut logits = exact.clone();
            logits[at] += by;
            loss(&logits, at / 7)
        };
        (moved(1e-5) - moved(-1e-5)) / 2e-5 / 5.0
    };
    let got = stream.clone_dtoh(&gradient).unwrap();
    near("gradient", &got, (0..35).map(slope));
}

/// In the second of two steps the first one's velocity has an effect.
#[test]
fn the_update_computes() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (n, rate, momentum) = (300_u32, 0.1_f32, 0.9_f32);
    let (start, slope) = (values(300, 9), values(300, 10));
    let gradient = stream.clone_htod(&slope).unwrap();
    let mut velocity = stream.alloc_zeros::<f32>(300).unwrap();
    let mut weights = stream.clone_htod(&start).unwrap();
    for _ in 0..2 {
        launch!(
            context,
            stream,
            "sgd",
            [2, 1],
            [256, 1],
            &n,
            &rate,
            &momentum,
            &gradient,
            &mut velocity,
            &mut weights
        );
    }
    let gradient = |i: usize| f64::from(slope[i]);
    let velocity = stream.clone_dtoh(&velocity).unwrap();
    near("velocity", &velocity, (0..300).map(|i| 1.9 * gradient(i)));
    let moved = |i: usize| f64::from(start[i]) - 0.1 * (1.0 + 1.9) * gradient(i);
    let weights = stream.clone_dtoh(&weights).unwrap();
    near("weights", &weights, (0..300).map(moved));
}
