//! A Llama with random weights, profiled by the spans that candle-transformers has: no line of
//! candle and no function of the model is annotated.
//!
//! At the end the times of two parts are compared with event pairs of the program's own. These
//! also measure the events of the spans inside, which gpuprof takes out: a run with `GPUPROF=off`
//! has the times without them.

use std::error::Error;

use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use candle_core::cuda_backend::cudarc::driver::{CudaEvent, CudaStream};
use candle_core::{DType, Device, Module, Tensor};
use candle_nn::{VarBuilder, VarMap};
use candle_transformers::models::llama::{Cache, Config, Llama};
use candle_transformers::models::with_tracing::RmsNorm;
use gpuprof::{Profile, gpu_profile};
use tracing_subscriber::prelude::*;

const LAYERS: usize = 4;
const TOKENS: u32 = 512;
const PASSES: usize = 50;
/// Rows and columns that are normed, 256 MB.
const NORMED: (usize, usize) = (16_384, 4_096);

fn config() -> Config {
    Config {
        hidden_size: 1_024,
        intermediate_size: 2_816,
        vocab_size: 8_192,
        num_hidden_layers: LAYERS,
        num_attention_heads: 16,
        num_key_value_heads: 16,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 1_024,
        tie_word_embeddings: false,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::new_cuda(0)?;
    let stream = device.as_cuda_device()?.cuda_stream();
    // gpuprof: this is all.
    tracing_subscriber::registry()
        .with(gpuprof::tracing::Layer::builder().stream(&stream).build())
        .init();

    let variables = VarMap::new();
    let weights = VarBuilder::from_varmap(&variables, DType::F32, &device);
    let config = config();
    let model = Llama::load(weights.clone(), &config)?;
    let mut cache = Cache::new(false, DType::F32, &config, &device)?;
    let tokens = Tensor::arange(0, TOKENS, &device)?.unsqueeze(0)?;
    let norm = RmsNorm::new(NORMED.1, 1e-5, weights.pp("norm"))?;
    let rows = Tensor::randn(0.0_f32, 1.0, NORMED, &device)?;
    // The first launches load modules.
    for _ in 0..3 {
        model.forward(&tokens, 0, &mut cache)?;
        norm.forward(&rows)?;
    }
    stream.synchronize()?;
    gpuprof::reset();

    let mut pairs = EventPairs::default();
    for _ in 0..PASSES {
        pairs.around(&stream, || pass(&model, &tokens, &mut cache))?;
    }
    let whole = pairs.total_ms()?;
    let mut pairs = EventPairs::default();
    for _ in 0..PASSES {
        pairs.around(&stream, || norm.forward(&rows))?;
    }
    let normed = pairs.total_ms()?;
    let profile = gpuprof::collect();
    compare("the model", whole, function(&profile, "pass", None));
    // The last norm that was made.
    let label = (2 * LAYERS + 1).to_string();
    compare(
        "a norm",
        normed,
        function(&profile, "rms-norm", Some(&label)),
    );
    Ok(())
}

/// Also an annotated function can be around candle's spans.
#[gpu_profile]
fn pass(model: &Llama, tokens: &Tensor, cache: &mut Cache) -> candle_core::Result<Tensor> {
    model.forward(tokens, 0, cache)
}

#[derive(Default)]
struct EventPairs(Vec<[CudaEvent; 2]>);

impl EventPairs {
    fn around<R>(
        &mut self,
        stream: &CudaStream,
        work: impl FnOnce() -> candle_core::Result<R>,
    ) -> Result<(), Box<dyn Error>> {
        let [start, end] = [(); 2].map(|()| stream.context().new_event(Some(CU_EVENT_DEFAULT)));
        let (start, end) = (start?, end?);
        start.record(stream)?;
        work()?;
        end.record(stream)?;
        self.0.push([start, end]);
        Ok(())
    }

    fn total_ms(&self) -> Result<f64, Box<dyn Error>> {
        let mut total = 0.0;
        for [start, end] in &self.0 {
            total += f64::from(start.elapsed_ms(end)?);
        }
        Ok(total)
    }
}

/// The timed calls of a function, or of those of its calls that have this label, and their ns.
fn function(profile: &Profile, name: &str, label: Option<&str>) -> Option<(u64, u64)> {
    let mut functions = profile.functions.iter();
    let found = functions.find(|one| one.name.rsplit("::").next() == Some(name))?;
    match label {
        None => {
            let gpu = found.gpu.as_ref()?;
            Some((gpu.timed_calls, gpu.times.total_ns))
        }
        Some(label) => {
            let mut labels = found.labels.iter();
            let gpu = labels.find(|row| row.label == label)?.gpu.as_ref()?;
            Some((gpu.timed_calls, gpu.total_ns))
        }
    }
}

fn compare(what: &str, by_events_ms: f64, by_gpuprof: Option<(u64, u64)>) {
    let Some((calls, ns)) = by_gpuprof else {
        println!("{what}: {by_events_ms:.3} ms by {PASSES} event pairs");
        return;
    };
    let ms = ns as f64 / 1e6;
    println!(
        "{what}: {by_events_ms:.3} ms by {PASSES} event pairs, {ms:.3} ms by {calls} GPU spans: \
         {:+.2} %",
        (ms / by_events_ms - 1.0) * 100.0
    );
}
