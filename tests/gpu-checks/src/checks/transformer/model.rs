//! The transformer: embedding, layers of attention and feed-forward, logits. Written as usual with
//! cudarc; gpuprof needs only the attributes.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::{HasStream, StreamRef, gpu_profile};

use super::matrix_products::{Matrices, Products, config};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// The size of the model and of its input.
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) vocabulary: usize,
    pub(super) sequences: usize,
    /// Tokens per sequence.
    pub(super) length: usize,
    pub(super) steps: usize,
}

impl Shape {
    /// Tokens per step.
    pub(super) fn tokens(&self) -> usize {
        self.sequences * self.length
    }

    /// Every annotated function, and its number of calls over all steps.
    pub(super) fn calls(&self) -> [(&'static str, u64); 6] {
        let (steps, layers) = (self.steps as u64, self.layers as u64);
        [
            ("forward", steps),
            ("embed", steps),
            ("layer_norm", (2 * layers + 1) * steps),
            ("attention", layers * steps),
            ("mlp", layers * steps),
            ("logits", steps),
        ]
    }
}

/// Gain and bias of a normalization.
struct Norm {
    gain: CudaSlice<f32>,
    bias: CudaSlice<f32>,
}

struct Layer {
    before_attention: Norm,
    /// One matrix per head.
    query: Matrices,
    key: Matrices,
    value: Matrices,
    output: Matrices,
    before_mlp: Norm,
    up: Matrices,
    up_bias: CudaSlice<f32>,
    down: Matrices,
    down_bias: CudaSlice<f32>,
}

struct Kernels {
    embed: CudaFunction,
    layer_norm: CudaFunction,
    causal_softmax: CudaFunction,
    merge_heads: CudaFunction,
    bias: CudaFunction,
    bias_relu: CudaFunction,
    saxpy: CudaFunction,
}

pub(super) struct Model {
    stream: Arc<CudaStream>,
    kernels: Kernels,
    products: Products,
    heads: usize,
    sequences: usize,
    length: usize,
    vocabulary: usize,
    table: CudaSlice<f32>,
    positions: CudaSlice<f32>,
    layers: Vec<Layer>,
    last: Norm,
    /// Maps the last activations to logits.
    unembedding: Matrices,
}

impl HasStream for Model {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&self.stream))
    }
}

/// Random weights: xorshift (Marsaglia, 2003), uniform around 0.
struct Random {
    state: u64,
    stream: Arc<CudaStream>,
}

impl Random {
    fn values(&mut self, count: usize, spread: f32) -> Result<CudaSlice<f32>> {
        let mut next = || {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            spread * ((self.state >> 40) as f32 / (1 << 23) as f32 - 1.0)
        };
        let values: Vec<f32> = (0..count).map(|_| next()).collect();
        Ok(self.stream.clone_htod(&values)?)
    }

    /// Weights that preserve the variance of the activations.
    fn weights(&mut self, count: usize, rows: usize, columns: usize) -> Result<Matrices> {
        let spread = (3.0 / rows as f32).sqrt();
        Ok(Matrices {
            data: self.values(count * rows * columns, spread)?,
            count,
            rows,
            columns,
        })
    }

    fn norm(&mut self, width: usize) -> Result<Norm> {
        Ok(Norm {
            gain: self.stream.clone_htod(&vec![1.0; width])?,
            bias: self.values(width, 0.1)?,
        })
    }

    fn layer(&mut self, shape: &Shape) -> Result<Layer> {
        let (width, heads) = (shape.width, shape.heads);
        Ok(Layer {
            before_attention: self.norm(width)?,
            query: self.weights(heads, width, width / heads)?,
            key: self.weights(heads, width, width / heads)?,
            value: self.weights(heads, width, width / heads)?,
            output: self.weights(1, width, width)?,
            before_mlp: self.norm(width)?,
            up: self.weights(1, width, 4 * width)?,
            up_bias: self.values(4 * width, 0.1)?,
            down: self.weights(1, 4 * width, width)?,
            down_bias: self.values(width, 0.1)?,
        })
    }
}

impl Kernels {
    fn load(context: &Arc<CudaContext>) -> Result<Kernels> {
        let own = context.load_module(Ptx::from_src(kernels::TRANSFORMER_PTX))?;
        let network = context.load_module(Ptx::from_src(kernels::NETWORK_PTX))?;
        let saxpy = context.load_module(Ptx::from_src(kernels::SAXPY_PTX))?;
        Ok(Kernels {
            embed: own.load_function(kernels::EMBED)?,
            layer_norm: own.load_function(kernels::LAYER_NORM)?,
            causal_softmax: own.load_function(kernels::CAUSAL_SOFTMAX)?,
            merge_heads: own.load_function(kernels::MERGE_HEADS)?,
            bias: network.load_function(kernels::BIAS)?,
            bias_relu: network.load_function(kernels::BIAS_RELU)?,
            saxpy: saxpy.load_function(kernels::SAXPY)?,
        })
    }
}

impl Model {
    pub(super) fn new(shape: &Shape, simulated: bool) -> Result<Model> {
        let context = CudaContext::new(0)?;
        let stream = context.new_stream()?;
        let mut random = Random {
            state: 0x2545_f491_4f6c_dd1d,
            stream: Arc::clone(&stream),
        };
        let layers: Result<Vec<_>> = (0..shape.layers).map(|_| random.layer(shape)).collect();
        Ok(Model {
            kernels: Kernels::load(&context)?,
            products: Products::new(&stream, simulated)?,
            heads: shape.heads,
            sequences: shape.sequences,
            length: shape.length,
            vocabulary: shape.vocabulary,
            table: random.values(shape.vocabulary * shape.width, 1.0)?,
            positions: random.values(shape.length * shape.width, 0.3)?,
            layers: layers?,
            last: random.norm(shape.width)?,
            unembedding: random.weights(1, shape.width, shape.vocabulary)?,
            stream,
        })
    }

    /// What computes the matrix products.
    pub(super) fn products(&self) -> &'static str {
        self.products.name()
    }

    /// Reads the tokens of one step and returns the logits of each.
    pub(super) fn step(&self, step: usize) -> Result<Vec<f32>> {
        let token = |index: usize| (index * 7 + step * 13 + index * index % 31) % self.vocabulary;
        let tokens: Vec<i32> = (0..self.sequences * self.length)
            .map(|index| token(index) as i32)
            .collect();
        let tokens = self.stream.clone_htod(&tokens)?;
        let logits = self.forward(&tokens)?;
        Ok(self.stream.clone_dtoh(&logits.data)?)
    }

    #[gpu_profile(name = "forward", items = tokens.len())]
    fn forward(&self, tokens: &CudaSlice<i32>) -> Result<Matrices> {
        let mut x = self.embed(tokens)?;
        for layer in &self.layers {
            self.attention(layer, &mut x)?;
            self.mlp(layer, &mut x)?;
        }
        let x = self.layer_norm(&self.last, &x)?;
        self.logits(&x)
    }

    #[gpu_profile(
        name = "embed",
        bytes = kernels::embed_bytes(tokens.len(), self.unembedding.rows)
    )]
    fn embed(&self, tokens: &CudaSlice<i32>) -> Result<Matrices> {
        let mut x = self.zeros(tokens.len(), self.unembedding.rows)?;
        let [rows, length, columns] = [x.rows, self.length, x.columns].map(|size| size as i32);
        let geometry = kernels::results_geometry(x.data.len() as u32);
        let mut launch = self.stream.launch_builder(&self.kernels.embed);
        launch.arg(tokens).arg(&self.table).arg(&self.positions);
        launch
            .arg(&mut x.data)
            .arg(&rows)
            .arg(&length)
            .arg(&columns);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrices; all tokens are
        // in the vocabulary.
        unsafe { launch.launch(config(geometry)) }?;
        Ok(x)
    }

    #[gpu_profile(name = "layer_norm", bytes = kernels::layer_norm_bytes(x.rows, x.columns))]
    fn layer_norm(&self, norm: &Norm, x: &Matrices) -> Result<Matrices> {
        let mut normal = self.zeros(x.rows, x.columns)?;
        let columns = x.columns as i32;
        let geometry = kernels::rows_geometry(x.rows as u32);
        let mut launch = self.stream.launch_builder(&self.kernels.layer_norm);
        launch.arg(&x.data).arg(&norm.gain).arg(&norm.bias);
        launch.arg(&mut normal.data).arg(&columns);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrices.
        unsafe { launch.launch(config(geometry)) }?;
        Ok(normal)
    }

    /// Adds to `x` the attention of each token to the tokens before it.
    #[gpu_profile(name = "attention")]
    fn attention(&self, layer: &Layer, x: &mut Matrices) -> Result {
        let normal = self.layer_norm(&layer.before_attention, x)?;
        let pieces = self.heads * self.sequences;
        let project = |weights: &Matrices| -> Result<Matrices> {
            let projected = self
                .products
                .multiply(&self.stream, &normal, weights, false)?;
            // The tokens of each head, sequence by sequence.
            Ok(projected.regrouped(pieces))
        };
        let (query, key) = (project(&layer.query)?, project(&layer.key)?);
        let mut weights = self.products.multiply(&self.stream, &query, &key, true)?;
        self.causal_softmax(&mut weights, (query.columns as f32).sqrt().recip())?;
        let value = project(&layer.value)?;
        let gathered = self
            .products
            .multiply(&self.stream, &weights, &value, false)?;
        let gathered = self.merge_heads(&gathered.regrouped(self.heads))?;
        let output = self
            .products
            .multiply(&self.stream, &gathered, &layer.output, false)?;
        self.add(&output, x)
    }

    /// Adds to `x` the output of a network with one hidden layer for each token.
    #[gpu_profile(name = "mlp")]
    fn mlp(&self, layer: &Layer, x: &mut Matrices) -> Result {
        let normal = self.layer_norm(&layer.before_mlp, x)?;
        let mut hidden = self
            .products
            .multiply(&self.stream, &normal, &layer.up, false)?;
        self.add_bias(&self.kernels.bias_relu, &layer.up_bias, &mut hidden)?;
        let mut output = self
            .products
            .multiply(&self.stream, &hidden, &layer.down, false)?;
        self.add_bias(&self.kernels.bias, &layer.down_bias, &mut output)?;
        self.add(&output, x)
    }

    #[gpu_profile(
        name = "logits",
        flops = kernels::matmul_flops(x.rows, self.vocabulary, x.columns)
    )]
    fn logits(&self, x: &Matrices) -> Result<Matrices> {
        self.products
            .multiply(&self.stream, x, &self.unembedding, false)
    }

    fn causal_softmax(&self, scores: &mut Matrices, scale: f32) -> Result {
        let length = scores.columns as i32;
        let geometry = kernels::rows_geometry((scores.count * scores.rows) as u32);
        let mut launch = self.stream.launch_builder(&self.kernels.causal_softmax);
        launch.arg(&mut scores.data).arg(&scale).arg(&length);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrices.
        unsafe { launch.launch(config(geometry)) }?;
        Ok(())
    }

    fn merge_heads(&self, heads: &Matrices) -> Result<Matrices> {
        let mut merged = self.zeros(heads.rows, heads.count * heads.columns)?;
        let [count, rows, width] = [heads.count, heads.rows, heads.columns].map(|n| n as i32);
        let geometry = kernels::results_geometry(merged.data.len() as u32);
        let mut launch = self.stream.launch_builder(&self.kernels.merge_heads);
        launch.arg(&heads.data).arg(&mut merged.data);
        launch.arg(&count).arg(&rows).arg(&width);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrices.
        unsafe { launch.launch(config(geometry)) }?;
        Ok(merged)
    }

    fn add_bias(&self, kernel: &CudaFunction, bias: &CudaSlice<f32>, x: &mut Matrices) -> Result {
        let [rows, columns] = [x.rows, x.columns].map(|size| size as i32);
        let geometry = kernels::elements_geometry(x.data.len() as u32);
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(bias).arg(&mut x.data).arg(&rows).arg(&columns);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrix.
        unsafe { launch.launch(config(geometry)) }?;
        Ok(())
    }

    fn add(&self, term: &Matrices, x: &mut Matrices) -> Result {
        let (n, once) = (x.data.len() as u32, 1.0_f32);
        let mut launch = self.stream.launch_builder(&self.kernels.saxpy);
        launch.arg(&n).arg(&once).arg(&term.data).arg(&mut x.data);
        // SAFETY: these are the kernel's parameters, and both matrices have the same size.
        unsafe { launch.launch(config(kernels::saxpy_geometry(n))) }?;
        Ok(())
    }

    fn zeros(&self, rows: usize, columns: usize) -> Result<Matrices> {
        Ok(Matrices {
            data: self.stream.alloc_zeros(rows * columns)?,
            count: 1,
            rows,
            columns,
        })
    }
}
