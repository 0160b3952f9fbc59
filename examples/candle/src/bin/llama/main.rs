//! A Llama with random weights, profiled by the spans that candle-transformers has: no line of
//! candle and no function of the model is annotated.
//!
//! At the end the times of some spans are compared with event pairs that a layer of the program's
//! own records around them. These also measure the events of the spans inside, which gpuprof takes
//! out: a run with `GPUPROF=off` has the times without them.

mod event_pairs;

use std::error::Error;
use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::{CudaEvent, DriverError};
use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};
use candle_transformers::models::llama::{Cache, Config, Llama};
use gpuprof::{Profile, gpu_profile};
use tracing_subscriber::prelude::*;

const LAYERS: usize = 4;
const TOKENS: u32 = 2_048;
const PASSES: usize = 50;

/// Layers as those of Llama 3.2 1B.
fn config() -> Config {
    Config {
        hidden_size: 2_048,
        intermediate_size: 8_192,
        vocab_size: 8_192,
        num_hidden_layers: LAYERS,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 2_048,
        tie_word_embeddings: false,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::new_cuda(0)?;
    let stream = device.as_cuda_device()?.cuda_stream();
    let pairs = Arc::default();
    tracing_subscriber::registry()
        // gpuprof: this line is all.
        .with(gpuprof::tracing::Layer::builder().stream(&stream).build())
        .with(event_pairs::Layer::new(&stream, &["block", "attn", "mlp", "rms-norm"], &pairs))
        .init();

    let variables = VarMap::new();
    let weights = VarBuilder::from_varmap(&variables, DType::F32, &device);
    let config = config();
    let model = Llama::load(weights.clone(), &config)?;
    let mut cache = Cache::new(false, DType::F32, &config, &device)?;
    let tokens = Tensor::arange(0, TOKENS, &device)?.unsqueeze(0)?;
    // The first launches load modules.
    for _ in 0..3 {
        model.forward(&tokens, 0, &mut cache)?;
    }
    stream.synchronize()?;
    gpuprof::reset();

    pairs.lock().expect("no panic").clear();
    for _ in 0..PASSES {
        pass(&model, &tokens, &mut cache)?;
    }
    let profile = gpuprof::collect();
    for (name, pairs) in &*pairs.lock().expect("no panic") {
        compare(name, pairs, function(&profile, name))?;
    }
    Ok(())
}

/// Also an annotated function can be around candle's spans.
#[gpu_profile]
fn pass(model: &Llama, tokens: &Tensor, cache: &mut Cache) -> candle_core::Result<Tensor> {
    model.forward(tokens, 0, cache)
}

/// The timed calls of the spans of this name, and their ns.
fn function(profile: &Profile, name: &str) -> Option<(u64, u64)> {
    let mut functions = profile.functions.iter();
    let found = functions.find(|one| one.name.rsplit("::").next() == Some(name))?;
    let gpu = found.gpu.as_ref()?;
    Some((gpu.timed_calls, gpu.times.total_ns))
}

fn compare(
    name: &str,
    pairs: &[[CudaEvent; 2]],
    by_gpuprof: Option<(u64, u64)>,
) -> Result<(), DriverError> {
    let mut by_pairs = 0.0;
    for [start, end] in pairs {
        by_pairs += f64::from(start.elapsed_ms(end)?);
    }
    print!("{name}: {by_pairs:.3} ms by {} event pairs", pairs.len());
    if let Some((calls, ns)) = by_gpuprof {
        let ms = ns as f64 / 1e6;
        let differs = (ms / by_pairs - 1.0) * 100.0;
        print!(", {ms:.3} ms by {calls} GPU spans: {differs:+.2} %");
    }
    println!();
    Ok(())
}
