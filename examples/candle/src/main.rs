//! A transformer learns to read handwritten digits with candle, then reads those it never saw: one
//! at a time, as a server would, and 90 at once.
//!
//! `candle-digits` runs on the GPU, `candle-digits cpu` on the CPU, and `candle-digits gpu 3`
//! trains for three epochs only. The table comes on standard error at exit.
//!
//! What gpuprof needs is marked: the attribute on functions, the stream of candle's device once for
//! the whole program, and, for a type that holds a device, `HasStream` (in model.rs).

mod model;
#[allow(
    dead_code,
    reason = "shared with 04_train_digits, which uses all of it"
)]
#[path = "../../digits/samples.rs"]
mod samples;

use std::error::Error;

use candle_core::backprop::GradStore;
use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder, VarMap};
use gpuprof::gpu_profile;
use model::Transformer;
use samples::{PIXELS, Random, Sample};

/// Samples that the training never sees.
const HELD_OUT: usize = 360;
const BATCH: usize = 128;
const EPOCHS: usize = 30;
const RATE: f64 = 1e-3;
/// Epochs in which the rate grows to that.
const WARM_UP: f64 = 5.0;
const SEED: u64 = 42;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = match arguments.next().as_deref() {
        Some("cpu") => Device::Cpu,
        _ => Device::new_cuda(0)?,
    };
    let epochs = arguments.next().map_or(Ok(EPOCHS), |count| count.parse())?;
    if let Ok(cuda) = device.as_cuda_device() {
        // gpuprof: the stream of every function that has none among its parameters.
        gpuprof::set_default_stream(cuda.cuda_stream());
        device.set_seed(SEED)?;
    }

    let mut random = Random(SEED);
    let mut samples = samples::read()?;
    random.shuffle(&mut samples);
    let (held_out, training) = samples.split_at_mut(HELD_OUT);

    let variables = VarMap::new();
    let model = Transformer::new(&VarBuilder::from_varmap(&variables, DType::F32, &device))?;
    let rate = ParamsAdamW {
        lr: RATE,
        ..ParamsAdamW::default()
    };
    let mut optimizer = AdamW::new(variables.all_vars(), rate)?;
    for epoch in 1..=epochs {
        random.shuffle(training);
        optimizer.set_learning_rate(RATE * (epoch as f64 / WARM_UP).min(1.0));
        let loss = train(&model, &mut optimizer, training)?;
        println!("epoch {epoch:2}: loss {loss:.4}");
    }

    for digit in held_out.chunks(1).take(100) {
        read_one(&model, digit)?;
    }
    let mut right = 0;
    for batch in held_out.chunks(90) {
        let read = read_batch(&model, batch)?;
        let is_right = |(class, sample): &(&u32, &Sample)| **class as usize == sample.label;
        right += read.iter().zip(batch).filter(is_right).count();
    }
    let accuracy = 100.0 * right as f64 / held_out.len() as f64;
    println!(
        "{right} of {} held-out digits read: {accuracy:.1} %",
        held_out.len()
    );
    if accuracy > 95.0 || epochs < EPOCHS {
        Ok(())
    } else {
        Err(format!("it has not learned: {accuracy:.1} % is not above 95 %").into())
    }
}

/// One pass over the samples; gives their mean loss.
#[gpu_profile(items = samples.len())]
fn train(model: &Transformer, optimizer: &mut AdamW, samples: &[Sample]) -> Result<f32> {
    let batches = samples.chunks_exact(BATCH);
    let losses = batches.map(|batch| step(model, optimizer, batch));
    let losses = losses.collect::<Result<Vec<_>>>()?;
    // Only this waits for the GPU.
    Tensor::stack(&losses, 0)?.mean_all()?.to_scalar()
}

/// Queues one mini-batch; its loss stays on the device.
#[gpu_profile(items = batch.len())]
fn step(model: &Transformer, optimizer: &mut AdamW, batch: &[Sample]) -> Result<Tensor> {
    let (pixels, labels) = upload(model.device(), batch)?;
    let logits = model.forward(&pixels)?;
    let loss = candle_nn::loss::cross_entropy(&logits, &labels)?;
    update(optimizer, &backward(&loss)?)?;
    Ok(loss.detach())
}

#[gpu_profile]
fn backward(loss: &Tensor) -> Result<GradStore> {
    loss.backward()
}

#[gpu_profile]
fn update(optimizer: &mut AdamW, gradients: &GradStore) -> Result<()> {
    optimizer.step(gradients)
}

/// The class of a single digit.
#[gpu_profile(items = digit.len())]
fn read_one(model: &Transformer, digit: &[Sample]) -> Result<Vec<u32>> {
    classify(model, digit)
}

/// The class of each of many digits.
#[gpu_profile(items = batch.len())]
fn read_batch(model: &Transformer, batch: &[Sample]) -> Result<Vec<u32>> {
    classify(model, batch)
}

fn classify(model: &Transformer, batch: &[Sample]) -> Result<Vec<u32>> {
    let (pixels, _) = upload(model.device(), batch)?;
    model.forward(&pixels)?.argmax(D::Minus1)?.to_vec1()
}

/// The pixels, digits × pixels, and the labels.
#[gpu_profile(bytes = 4 * batch.len() * (PIXELS + 1))]
fn upload(device: &Device, batch: &[Sample]) -> Result<(Tensor, Tensor)> {
    let pixels: Vec<f32> = batch.iter().flat_map(|sample| sample.pixels).collect();
    let labels: Vec<u32> = batch.iter().map(|sample| sample.label as u32).collect();
    let pixels = Tensor::from_vec(pixels, (batch.len(), PIXELS), device)?;
    Ok((pixels, Tensor::from_vec(labels, batch.len(), device)?))
}
