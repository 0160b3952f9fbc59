//! The kernels of `04_train_digits.rs` as functions on matrices. Apart from the training, so that
//! each can be read alone.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError};
use cudarc::driver::{LaunchArgs, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::{HasStream, StreamRef, gpu_profile};
use kernels::Geometry;

/// Rows of values on the device.
pub(crate) struct Matrix {
    pub(crate) data: CudaSlice<f32>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

/// Weights or a bias, and how fast they move.
pub(crate) struct Parameter {
    pub(crate) value: Matrix,
    pub(crate) velocity: Matrix,
}

/// The stream and the kernels. It knows its stream, so that functions that are given it are timed
/// there.
pub(crate) struct Gpu {
    pub(crate) stream: Arc<CudaStream>,
    kernels: HashMap<&'static str, CudaFunction>,
}

impl HasStream for Gpu {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&self.stream))
    }
}

#[gpu_profile]
impl Gpu {
    #[gpu_profile(skip)]
    pub(crate) fn new() -> Result<Self, DriverError> {
        let stream = CudaContext::new(0)?.default_stream();
        let mut functions = HashMap::new();
        for (ptx, names) in [
            (kernels::MATMUL_PTX, &[kernels::MATMUL_TILED][..]),
            (kernels::TRANSPOSE_PTX, &[kernels::TRANSPOSE]),
            (
                kernels::REDUCTION_PTX,
                &[kernels::REDUCE_SUM, kernels::COLUMN_SUMS],
            ),
            (
                kernels::NETWORK_PTX,
                &[kernels::BIAS, kernels::BIAS_RELU, kernels::RELU_BACKWARD],
            ),
            (
                kernels::NETWORK_PTX,
                &[kernels::SOFTMAX_CROSS_ENTROPY, kernels::SGD],
            ),
        ] {
            let module = stream.context().load_module(Ptx::from_src(ptx))?;
            for name in names {
                functions.insert(*name, module.load_function(name)?);
            }
        }
        Ok(Self {
            stream,
            kernels: functions,
        })
    }

    #[gpu_profile(flops = kernels::matmul_flops(a.rows, b.columns, a.columns))]
    pub(crate) fn product(&self, a: &Matrix, b: &Matrix) -> Result<Matrix, DriverError> {
        let mut c = self.zeros(a.rows, b.columns)?;
        let (m, n, k) = (a.rows as i32, b.columns as i32, a.columns as i32);
        let geometry = kernels::matmul_geometry(a.rows as u32, b.columns as u32);
        self.launch(kernels::MATMUL_TILED, geometry, |launch| {
            launch.arg(&a.data).arg(&b.data).arg(&mut c.data);
            launch.arg(&m).arg(&n).arg(&k);
        })?;
        Ok(c)
    }

    #[gpu_profile(bytes = kernels::transpose_bytes(a.rows, a.columns))]
    pub(crate) fn transpose(&self, a: &Matrix) -> Result<Matrix, DriverError> {
        let mut b = self.zeros(a.columns, a.rows)?;
        let (rows, columns) = (a.rows as i32, a.columns as i32);
        let geometry = kernels::transpose_geometry(a.rows as u32, a.columns as u32);
        self.launch(kernels::TRANSPOSE, geometry, |launch| {
            launch.arg(&a.data).arg(&mut b.data);
            launch.arg(&rows).arg(&columns);
        })?;
        Ok(b)
    }

    #[gpu_profile(bytes = kernels::bias_bytes(x.rows, x.columns))]
    pub(crate) fn add_bias(
        &self,
        kernel: &str,
        bias: &Matrix,
        x: &mut Matrix,
    ) -> Result<(), DriverError> {
        let (rows, columns) = (x.rows as i32, x.columns as i32);
        self.launch(
            kernel,
            kernels::elements_geometry(x.data.len() as u32),
            |launch| {
                launch.arg(&bias.data).arg(&mut x.data);
                launch.arg(&rows).arg(&columns);
            },
        )
    }

    /// The loss of each row, and its slope by the logits.
    #[gpu_profile(bytes = kernels::softmax_bytes(logits.rows, logits.columns))]
    pub(crate) fn loss(
        &self,
        logits: &Matrix,
        labels: &CudaSlice<i32>,
    ) -> Result<(Matrix, Matrix), DriverError> {
        let mut losses = self.zeros(logits.rows, 1)?;
        let mut slope = self.zeros(logits.rows, logits.columns)?;
        let (rows, columns) = (logits.rows as i32, logits.columns as i32);
        let geometry = kernels::softmax_geometry(logits.rows as u32);
        self.launch(kernels::SOFTMAX_CROSS_ENTROPY, geometry, |launch| {
            launch.arg(&logits.data).arg(labels);
            launch.arg(&mut losses.data).arg(&mut slope.data);
            launch.arg(&rows).arg(&columns);
        })?;
        Ok((losses, slope))
    }

    /// The sum of a batch, which one block can do.
    #[gpu_profile(bytes = 4 * x.data.len())]
    pub(crate) fn sum(&self, x: &Matrix) -> Result<CudaSlice<f32>, DriverError> {
        let mut sum = self.zeros(1, 1)?;
        let n = x.data.len() as u32;
        self.launch(
            kernels::REDUCE_SUM,
            kernels::reduce_sum_geometry(256),
            |launch| {
                launch.arg(&x.data).arg(&mut sum.data).arg(&n);
            },
        )?;
        Ok(sum.data)
    }

    #[gpu_profile(bytes = kernels::column_sums_bytes(x.rows, x.columns))]
    pub(crate) fn column_sums(&self, x: &Matrix) -> Result<Matrix, DriverError> {
        let mut sums = self.zeros(1, x.columns)?;
        let (rows, columns) = (x.rows as i32, x.columns as i32);
        let geometry = kernels::column_sums_geometry(x.columns as u32);
        self.launch(kernels::COLUMN_SUMS, geometry, |launch| {
            launch.arg(&x.data).arg(&mut sums.data);
            launch.arg(&rows).arg(&columns);
        })?;
        Ok(sums)
    }

    #[gpu_profile(bytes = kernels::relu_backward_bytes(y.data.len()))]
    pub(crate) fn relu_backward(
        &self,
        y: &Matrix,
        gradient: &mut Matrix,
    ) -> Result<(), DriverError> {
        let n = y.data.len() as u32;
        self.launch(
            kernels::RELU_BACKWARD,
            kernels::elements_geometry(n),
            |launch| {
                launch.arg(&y.data).arg(&mut gradient.data).arg(&n);
            },
        )
    }

    #[gpu_profile(bytes = kernels::sgd_bytes(gradient.data.len()))]
    pub(crate) fn descend(
        &self,
        parameter: &mut Parameter,
        gradient: &Matrix,
        rate: f32,
        momentum: f32,
    ) -> Result<(), DriverError> {
        let n = gradient.data.len() as u32;
        self.launch(kernels::SGD, kernels::elements_geometry(n), |launch| {
            launch.arg(&n).arg(&rate).arg(&momentum).arg(&gradient.data);
            launch
                .arg(&mut parameter.velocity.data)
                .arg(&mut parameter.value.data);
        })
    }

    #[gpu_profile(skip)]
    pub(crate) fn upload(&self, values: Vec<f32>, columns: usize) -> Result<Matrix, DriverError> {
        let (data, rows) = (self.stream.clone_htod(&values)?, values.len() / columns);
        Ok(Matrix {
            data,
            rows,
            columns,
        })
    }

    #[gpu_profile(skip)]
    fn zeros(&self, rows: usize, columns: usize) -> Result<Matrix, DriverError> {
        let data = self.stream.alloc_zeros(rows * columns)?;
        Ok(Matrix {
            data,
            rows,
            columns,
        })
    }

    #[gpu_profile(skip)]
    fn launch<'a>(
        &'a self,
        kernel: &str,
        geometry: Geometry,
        push: impl FnOnce(&mut LaunchArgs<'a>),
    ) -> Result<(), DriverError> {
        let mut launch = self.stream.launch_builder(&self.kernels[kernel]);
        push(&mut launch);
        let config = LaunchConfig {
            grid_dim: geometry.grid,
            block_dim: geometry.block,
            shared_mem_bytes: 0,
        };
        // SAFETY: each method above pushes its kernel's parameters, with sizes that its matrices
        // have.
        unsafe { launch.launch(config) }.map(drop)
    }
}
