//! A transformer over the 64 pixels of a digit: each pixel is a token.

use candle_core::{D, Device, Result, Tensor};
use candle_nn::{Linear, Module, VarBuilder, linear};
use gpuprof::{HasStream, StreamRef, gpu_profile};

use crate::samples::PIXELS;

const WIDTH: usize = 256;
const HEADS: usize = 4;
const LAYERS: usize = 4;
const CLASSES: usize = 10;

pub(crate) struct Transformer {
    device: Device,
    embedding: Linear,
    positions: Tensor,
    layers: Vec<Layer>,
    norm: Norm,
    head: Linear,
}

/// `&self` names the stream of a `Transformer`'s methods. On the CPU there is none.
impl HasStream for Transformer {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        let device = self.device.as_cuda_device().ok()?;
        Some(StreamRef::from(device.cuda_stream()))
    }
}

impl Transformer {
    pub(crate) fn new(variables: &VarBuilder) -> Result<Self> {
        let layer = |index| Layer::new(&variables.pp("layers").pp(index));
        let small = candle_nn::Init::Randn {
            mean: 0.0,
            stdev: 1.0,
        };
        Ok(Self {
            device: variables.device().clone(),
            embedding: linear(1, WIDTH, variables.pp("embedding"))?,
            positions: variables.get_with_hints((PIXELS, WIDTH), "positions", small)?,
            layers: (0..LAYERS).map(layer).collect::<Result<_>>()?,
            norm: Norm::new(&variables.pp("norm"))?,
            head: linear(WIDTH, CLASSES, variables.pp("head"))?,
        })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The logits, digits × classes, of digits × pixels.
    #[gpu_profile(name = "forward", items = pixels.elem_count() / PIXELS)]
    pub(crate) fn forward(&self, pixels: &Tensor) -> Result<Tensor> {
        let tokens = self.embedding.forward(&pixels.unsqueeze(D::Minus1)?)?;
        let mut x = tokens.broadcast_add(&self.positions)?;
        for (index, layer) in self.layers.iter().enumerate() {
            x = layer.forward(index, &x)?;
        }
        self.head.forward(&self.norm.forward(&x)?.mean(1)?)
    }
}

struct Layer {
    attention_norm: Norm,
    query_key_value: Linear,
    projection: Linear,
    feed_forward_norm: Norm,
    up: Linear,
    down: Linear,
}

impl Layer {
    fn new(variables: &VarBuilder) -> Result<Self> {
        Ok(Self {
            attention_norm: Norm::new(&variables.pp("attention_norm"))?,
            query_key_value: linear(WIDTH, 3 * WIDTH, variables.pp("query_key_value"))?,
            projection: linear(WIDTH, WIDTH, variables.pp("projection"))?,
            feed_forward_norm: Norm::new(&variables.pp("feed_forward_norm"))?,
            up: linear(WIDTH, 4 * WIDTH, variables.pp("up"))?,
            down: linear(4 * WIDTH, WIDTH, variables.pp("down"))?,
        })
    }

    #[gpu_profile(name = "layer", label = index)]
    fn forward(&self, index: usize, x: &Tensor) -> Result<Tensor> {
        let x = (x + self.attention(&self.attention_norm.forward(x)?)?)?;
        &x + self.feed_forward(&self.feed_forward_norm.forward(&x)?)?
    }

    /// The flops are those of the four products.
    #[gpu_profile(name = "attention", flops = x.elem_count() * (8 * WIDTH + 4 * PIXELS))]
    fn attention(&self, x: &Tensor) -> Result<Tensor> {
        let (digits, tokens, _) = x.dims3()?;
        let parts = self.query_key_value.forward(x)?;
        let parts = parts.reshape((digits, tokens, 3, HEADS, WIDTH / HEADS))?;
        let parts = parts.permute((2, 0, 3, 1, 4))?.contiguous()?;
        let (query, key, value) = (parts.get(0)?, parts.get(1)?, parts.get(2)?);
        let scale = ((WIDTH / HEADS) as f64).sqrt().recip();
        let scores = (query.matmul(&key.transpose(2, 3)?.contiguous()?)? * scale)?;
        // `softmax_last_dim` is faster, and has no gradient.
        let weights = candle_nn::ops::softmax(&scores, D::Minus1)?;
        let mixed = weights.matmul(&value)?.transpose(1, 2)?;
        self.projection
            .forward(&mixed.reshape((digits, tokens, WIDTH))?)
    }

    #[gpu_profile(name = "feed_forward", flops = x.elem_count() * 16 * WIDTH)]
    fn feed_forward(&self, x: &Tensor) -> Result<Tensor> {
        self.down.forward(&self.up.forward(x)?.gelu()?)
    }
}

/// `candle_nn::LayerNorm` is faster, and has no gradient.
struct Norm {
    weight: Tensor,
    bias: Tensor,
}

impl Norm {
    fn new(variables: &VarBuilder) -> Result<Self> {
        Ok(Self {
            weight: variables.get_with_hints(WIDTH, "weight", candle_nn::init::ONE)?,
            bias: variables.get_with_hints(WIDTH, "bias", candle_nn::init::ZERO)?,
        })
    }

    #[gpu_profile(name = "norm", bytes = 8 * x.elem_count())]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        candle_nn::ops::layer_norm_slow(x, &self.weight, &self.bias, 1e-5)
    }
}
