//! The kernels of transformers compute what an independent reference in f64 does.

mod common;

use common::{context_and_stream, function, virtual_clock};
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// `count` pseudo-random values between -1 and 1.
fn values(count: usize, seed: u32) -> Vec<f32> {
    let hash = |i| (i as u32 ^ seed).wrapping_mul(2_654_435_761) >> 8;
    (0..count)
        .map(|i| hash(i) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

fn near(got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let off = (f64::from(*got) - expected).abs();
        assert!(off < 1e-5, "at {i}: {got} instead of {expected}");
    }
}

/// `count` blocks of 256 threads, as for all of these kernels.
fn blocks(count: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    }
}

#[test]
fn embed_adds_the_rows_of_tokens_and_positions() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (rows, length, columns) = (6_usize, 3_usize, 70_usize);
    let tokens = [4_i32, 0, 2, 4, 1, 3];
    let (table, positions) = (values(5 * columns, 1), values(length * columns, 2));
    let device_tokens = stream.clone_htod(&tokens).unwrap();
    let device_table = stream.clone_htod(&table).unwrap();
    let device_positions = stream.clone_htod(&positions).unwrap();
    let mut result = stream.alloc_zeros::<f32>(rows * columns).unwrap();
    let kernel = function(&context, "embed");
    let (r, l, c) = (rows as i32, length as i32, columns as i32);
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&device_tokens).arg(&device_table);
    launch.arg(&device_positions).arg(&mut result);
    launch.arg(&r).arg(&l).arg(&c);
    // SAFETY: these are the kernel's parameters.
    unsafe { launch.launch(blocks(2)) }.unwrap();
    let expected = (0..rows * columns).map(|i| {
        let (t, j) = (i / columns, i % columns);
        let looked_up = table[tokens[t] as usize * columns + j];
        f64::from(looked_up) + f64::from(positions[t % length * columns + j])
    });
    near(
        &stream.clone_dtoh(&result).unwrap(),
        &expected.collect::<Vec<_>>(),
    );
}

#[test]
fn layer_norm_normalizes_each_row() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (rows, columns) = (3, 300);
    let (x, gain, bias) = (
        values(rows * columns, 3),
        values(columns, 4),
        values(columns, 5),
    );
    let device_x = stream.clone_htod(&x).unwrap();
    let device_gain = stream.clone_htod(&gain).unwrap();
    let device_bias = stream.clone_htod(&bias).unwrap();
    let mut result = stream.alloc_zeros::<f32>(rows * columns).unwrap();
    let (kernel, c) = (function(&context, "layer_norm"), columns as i32);
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&device_x).arg(&device_gain).arg(&device_bias);
    launch.arg(&mut result).arg(&c);
    // SAFETY: these are the kernel's parameters.
    unsafe { launch.launch(blocks(rows)) }.unwrap();
    let expected = x.chunks(columns).flat_map(|row| {
        let n = columns as f64;
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let squares = row.iter().map(|x| (f64::from(*x) - mean).powi(2));
        let deviation = (squares.sum::<f64>() / n + 1e-5).sqrt();
        let normal = row.iter().map(move |x| (f64::from(*x) - mean) / deviation);
        let affine = normal.zip(gain.iter().zip(&bias));
        affine
            .map(|(x, (gain, bias))| x * f64::from(*gain) + f64::from(*bias))
            .collect::<Vec<_>>()
    });
    near(
        &stream.clone_dtoh(&result).unwrap(),
        &expected.collect::<Vec<_>>(),
    );
}

#[test]
fn causal_softmax_ignores_later_positions() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (matrices, length, scale) = (2, 7, 0.25_f32);
    let scores = values(matrices * length * length, 6);
    let mut device = stream.clone_htod(&scores).unwrap();
    let (kernel, l) = (function(&context, "causal_softmax"), length as i32);
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&mut device).arg(&scale).arg(&l);
    // SAFETY: these are the kernel's parameters.
    unsafe { launch.launch(blocks(matrices * length)) }.unwrap();
    let expected = scores.chunks(length).enumerate().flat_map(|(i, row)| {
        let weight = |j: usize| {
            if j <= i % length {
                (f64::from(scale) * f64::from(row[j])).exp()
            } else {
                0.0
            }
        };
        let sum: f64 = (0..length).map(weight).sum();
        (0..length).map(|j| weight(j) / sum).collect::<Vec<_>>()
    });
    near(
        &stream.clone_dtoh(&device).unwrap(),
        &expected.collect::<Vec<_>>(),
    );
}

#[test]
fn merge_heads_concatenates_the_heads_of_a_row() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let (count, rows, width) = (3, 5, 4);
    let heads = values(count * rows * width, 7);
    let device = stream.clone_htod(&heads).unwrap();
    let mut result = stream.alloc_zeros::<f32>(heads.len()).unwrap();
    let kernel = function(&context, "merge_heads");
    let (n, r, w) = (count as i32, rows as i32, width as i32);
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&device).arg(&mut result).arg(&n).arg(&r).arg(&w);
    // SAFETY: these are the kernel's parameters.
    unsafe { launch.launch(blocks(1)) }.unwrap();
    let mut expected = Vec::new();
    for row in 0..rows {
        for head in 0..count {
            let of_head = &heads[(head * rows + row) * width..][..width];
            expected.extend(of_head.iter().map(|x| f64::from(*x)));
        }
    }
    near(&stream.clone_dtoh(&result).unwrap(), &expected);
}
