//! A small network learns to read handwritten digits: 64 pixels, 64 hidden values, 10 classes.
//!
//! Run `cargo run --release --example 04_train_digits`; the table comes on standard error at exit.
//!
//! Look at how `step` divides: `forward`, `backward` and `update` are its children, the kernels
//! theirs. The kernels of so small a network take a few µs each, so that most rows carry `!`: there
//! a span's own events are a good part of what it reads. `step` does enough per call to be trusted.
//! The backward pass needs more `transpose` and more products than the forward pass: compare their
//! GPU totals.

#[path = "digits/gpu.rs"]
mod gpu;
#[path = "digits/samples.rs"]
mod samples;

use std::error::Error;
use std::time::Instant;

use cudarc::driver::{CudaSlice, DriverError};
use gpu::{Gpu, Matrix, Parameter};
use gpuprof::gpu_profile;
use samples::{PIXELS, Random, Sample};

const HIDDEN: usize = 64;
const CLASSES: usize = 10;
/// Samples that the training never sees.
const HELD_OUT: usize = 360;
const BATCH: usize = 32;
const EPOCHS: usize = 15;
const RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;
const SEED: u64 = 42;

fn main() -> Result<(), Box<dyn Error>> {
    simcuda::real_or_simulated();
    let mut random = Random(SEED);
    let mut samples = samples::read()?;
    random.shuffle(&mut samples);
    let (test, training) = samples.split_at_mut(HELD_OUT);

    let gpu = Gpu::new()?;
    let mut network = Network::new(&gpu, &mut random)?;
    let began = Instant::now();
    for epoch in 1..=EPOCHS {
        random.shuffle(training);
        let losses = train(&gpu, &mut network, training)?;
        println!("epoch {epoch:2}: loss {losses:.4}");
    }
    let is_timed = std::env::args().nth(1).as_deref() == Some("time");
    if is_timed {
        eprintln!("trained in {} s", began.elapsed().as_secs_f64());
    }
    let logits = test
        .chunks(BATCH)
        .map(|batch| classify(&gpu, &network, batch));
    let logits: Vec<f32> = logits.collect::<Result<Vec<_>, _>>()?.concat();
    if is_timed {
        let bits = logits.iter().map(|logit| u64::from(logit.to_bits()));
        println!("sum of the logits' bits: {}", bits.sum::<u64>());
    }
    let (right, error) = check(&network.download(&gpu)?, test, &logits);
    let accuracy = 100.0 * right as f64 / test.len() as f64;
    println!(
        "{right} of {} held-out digits read: {accuracy:.1} %",
        test.len()
    );
    if error > 1e-3 {
        return Err(format!("the network is wrong: off by {error:.0e} from the host's").into());
    }
    if accuracy <= 95.0 {
        return Err(format!("it has not learned: {accuracy:.1} % is not above 95 %").into());
    }
    Ok(())
}

/// One pass over the samples; gives their mean loss.
#[gpu_profile(items = samples.len())]
fn train(gpu: &Gpu, network: &mut Network, samples: &[Sample]) -> Result<f32, DriverError> {
    let batches = samples.chunks_exact(BATCH);
    let n = batches.len() * BATCH;
    let mut losses = Vec::new();
    for batch in batches {
        losses.push(step(gpu, network, batch)?);
    }
    let mut sum = 0.0;
    for loss in losses {
        sum += gpu.stream.clone_dtoh(&loss)?[0];
    }
    Ok(sum / n as f32)
}

/// Queues one mini-batch; returns the sum of its losses on the device, without waiting for it.
#[gpu_profile(items = batch.len())]
fn step(gpu: &Gpu, network: &mut Network, batch: &[Sample]) -> Result<CudaSlice<f32>, DriverError> {
    let (x, labels) = upload(gpu, batch)?;
    let (hidden, logits) = forward(gpu, network, &x)?;
    let (losses, slope) = gpu.loss(&logits, &labels)?;
    let gradients = backward(gpu, network, &x, &hidden, &slope)?;
    update(gpu, network, &gradients)?;
    gpu.sum(&losses)
}

/// The hidden values and the logits.
#[gpu_profile(color = 0x76B900, category = "forward")]
fn forward(gpu: &Gpu, network: &Network, x: &Matrix) -> Result<(Matrix, Matrix), DriverError> {
    let [weights_1, bias_1, weights_2, bias_2] = &network.parameters;
    let mut hidden = gpu.product(x, &weights_1.value)?;
    gpu.add_bias(kernels::BIAS_RELU, &bias_1.value, &mut hidden)?;
    let mut logits = gpu.product(&hidden, &weights_2.value)?;
    gpu.add_bias(kernels::BIAS, &bias_2.value, &mut logits)?;
    Ok((hidden, logits))
}

/// The gradient of each parameter, from the slope of the loss by the logits.
#[gpu_profile(color = 0x0068B5, category = "backward")]
fn backward(
    gpu: &Gpu,
    network: &Network,
    x: &Matrix,
    hidden: &Matrix,
    slope: &Matrix,
) -> Result<[Matrix; 4], DriverError> {
    let weights_2 = gpu.product(&gpu.transpose(hidden)?, slope)?;
    let bias_2 = gpu.column_sums(slope)?;
    let mut inner = gpu.product(slope, &gpu.transpose(&network.parameters[2].value)?)?;
    gpu.relu_backward(hidden, &mut inner)?;
    let weights_1 = gpu.product(&gpu.transpose(x)?, &inner)?;
    let bias_1 = gpu.column_sums(&inner)?;
    Ok([weights_1, bias_1, weights_2, bias_2])
}

/// Gradient descent with momentum.
#[gpu_profile(color = 0xB50000, category = "update")]
fn update(gpu: &Gpu, network: &mut Network, gradients: &[Matrix; 4]) -> Result<(), DriverError> {
    for (parameter, gradient) in network.parameters.iter_mut().zip(gradients) {
        gpu.descend(parameter, gradient, RATE, MOMENTUM)?;
    }
    Ok(())
}

#[gpu_profile(items = batch.len())]
fn classify(gpu: &Gpu, network: &Network, batch: &[Sample]) -> Result<Vec<f32>, DriverError> {
    let (x, _) = upload(gpu, batch)?;
    gpu.stream.clone_dtoh(&forward(gpu, network, &x)?.1.data)
}

#[gpu_profile(bytes = 4 * batch.len() * (PIXELS + 1))]
fn upload(gpu: &Gpu, batch: &[Sample]) -> Result<(Matrix, CudaSlice<i32>), DriverError> {
    let pixels = batch.iter().flat_map(|sample| sample.pixels).collect();
    let labels: Vec<i32> = batch.iter().map(|sample| sample.label as i32).collect();
    Ok((gpu.upload(pixels, PIXELS)?, gpu.stream.clone_htod(&labels)?))
}

/// Weights and bias of the hidden layer, then those of the classes.
struct Network {
    parameters: [Parameter; 4],
}

impl Network {
    fn new(gpu: &Gpu, random: &mut Random) -> Result<Self, DriverError> {
        let mut parameter = |rows, columns, spread: f32| {
            let values = (0..rows * columns).map(|_| spread * random.number());
            Ok(Parameter {
                value: gpu.upload(values.collect(), columns)?,
                velocity: gpu.upload(vec![0.0; rows * columns], columns)?,
            })
        };
        Ok(Self {
            parameters: [
                parameter(PIXELS, HIDDEN, 0.2)?,
                parameter(1, HIDDEN, 0.0)?,
                parameter(HIDDEN, CLASSES, 0.2)?,
                parameter(1, CLASSES, 0.0)?,
            ],
        })
    }

    fn download(&self, gpu: &Gpu) -> Result<[Vec<f32>; 4], DriverError> {
        let [w1, b1, w2, b2] = &self.parameters;
        let host = |parameter: &Parameter| gpu.stream.clone_dtoh(&parameter.value.data);
        Ok([host(w1)?, host(b1)?, host(w2)?, host(b2)?])
    }
}

/// How many samples the logits read right, and how far they are from the host's own in double
/// precision.
#[gpu_profile(cpu, items = samples.len())]
fn check(network: &[Vec<f32>; 4], samples: &[Sample], logits: &[f32]) -> (usize, f64) {
    let [w1, b1, w2, b2] = network;
    let layer = |x: &[f64], weights: &[f32], bias: &[f32]| -> Vec<f64> {
        let term = |i: usize, j| x[i] * f64::from(weights[i * bias.len() + j]);
        let sum = |j| (0..x.len()).map(|i| term(i, j)).sum::<f64>() + f64::from(bias[j]);
        (0..bias.len()).map(sum).collect()
    };
    let (mut right, mut largest) = (0, 0.0_f64);
    for (sample, logits) in samples.iter().zip(logits.chunks(CLASSES)) {
        let mut hidden = layer(&sample.pixels.map(f64::from), w1, b1);
        hidden.iter_mut().for_each(|value| *value = value.max(0.0));
        for (logit, expected) in logits.iter().zip(layer(&hidden, w2, b2)) {
            let error = (f64::from(*logit) - expected).abs();
            largest = largest.max(if error.is_nan() { f64::INFINITY } else { error });
        }
        let best = (0..CLASSES).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
        right += usize::from(best == Some(sample.label));
    }
    (right, largest)
}
