//! Matrix products by cuBLAS, or by a kernel of this workspace if cuBLAS cannot be loaded.

use std::error::Error;
use std::sync::Arc;

use cudarc::cublas::{CudaBlas, Gemm, GemmConfig, StridedBatchedConfig, sys};
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use kernels::Geometry;

/// Matrices of one shape, row-major, stored consecutively.
pub(super) struct Matrices {
    pub(super) data: CudaSlice<f32>,
    pub(super) count: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Matrices {
    /// Elements per matrix.
    fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// Distance between consecutive matrices, in elements; 0 if one matrix serves for all.
    fn stride(&self) -> usize {
        if self.count == 1 { 0 } else { self.size() }
    }

    /// The same elements as matrices with `columns` columns.
    pub(super) fn regrouped(self, count: usize) -> Matrices {
        let rows = self.count * self.rows / count;
        Matrices {
            count,
            rows,
            ..self
        }
    }
}

/// Computes the products.
pub(super) enum Products {
    Cublas(CudaBlas),
    Kernels {
        matmul: CudaFunction,
        transpose: CudaFunction,
    },
}

impl Products {
    /// Uses cuBLAS unless the device is simulated.
    pub(super) fn new(stream: &Arc<CudaStream>, simulated: bool) -> Result<Self, Box<dyn Error>> {
        // SAFETY: loading cuBLAS runs its initialisers, which are meant for that.
        if !simulated && unsafe { sys::is_culib_present() } {
            return Ok(Products::Cublas(CudaBlas::new(Arc::clone(stream))?));
        }
        let load = |ptx: &str, name| {
            let module = stream.context().load_module(Ptx::from_src(ptx))?;
            module.load_function(name)
        };
        Ok(Products::Kernels {
            matmul: load(kernels::MATMUL_PTX, kernels::MATMUL_TILED)?,
            transpose: load(kernels::TRANSPOSE_PTX, kernels::TRANSPOSE)?,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Products::Cublas(_) => "cuBLAS",
            Products::Kernels { .. } => "matmul_tiled",
        }
    }

    /// Multiplies each of `a` by each of `b` or its transpose; a single matrix is a factor of all.
    pub(super) fn multiply(
        &self,
        stream: &Arc<CudaStream>,
        a: &Matrices,
        b: &Matrices,
        transposed: bool,
    ) -> Result<Matrices, Box<dyn Error>> {
        let columns = if transposed { b.rows } else { b.columns };
        let count = a.count.max(b.count);
        let mut c = Matrices {
            data: stream.alloc_zeros(count * a.rows * columns)?,
            count,
            rows: a.rows,
            columns,
        };
        match self {
            Products::Cublas(blas) => cublas(blas, a, b, transposed, &mut c)?,
            Products::Kernels { matmul, transpose } => {
                let turned = if transposed {
                    Some(turn(stream, transpose, b)?)
                } else {
                    None
                };
                by_kernel(stream, matmul, a, turned.as_ref().unwrap_or(b), &mut c)?;
            }
        }
        Ok(c)
    }
}

/// cuBLAS is column-major and sees a row-major matrix as its transpose, so this computes cᵀ = bᵀ
/// aᵀ.
fn cublas(
    blas: &CudaBlas,
    a: &Matrices,
    b: &Matrices,
    transposed: bool,
    c: &mut Matrices,
) -> Result<(), Box<dyn Error>> {
    use sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
    let config = StridedBatchedConfig {
        gemm: GemmConfig {
            transa: if transposed { CUBLAS_OP_T } else { CUBLAS_OP_N },
            transb: CUBLAS_OP_N,
            m: i32::try_from(c.columns)?,
            n: i32::try_from(c.rows)?,
            k: i32::try_from(a.columns)?,
            alpha: 1.0_f32,
            lda: i32::try_from(b.columns)?,
            ldb: i32::try_from(a.columns)?,
            beta: 0.0,
            ldc: i32::try_from(c.columns)?,
        },
        batch_size: i32::try_from(c.count)?,
        stride_a: i64::try_from(b.stride())?,
        stride_b: i64::try_from(a.stride())?,
        stride_c: i64::try_from(c.size())?,
    };
    // SAFETY: sizes and strides match the matrices.
    unsafe { blas.gemm_strided_batched(config, &b.data, &a.data, &mut c.data) }?;
    Ok(())
}

fn by_kernel(
    stream: &Arc<CudaStream>,
    matmul: &CudaFunction,
    a: &Matrices,
    b: &Matrices,
    c: &mut Matrices,
) -> Result<(), DriverError> {
    let [m, n, k] = [c.rows, c.columns, a.columns].map(|size| size as i32);
    let geometry = kernels::matmul_geometry(c.rows as u32, c.columns as u32);
    let size = c.size();
    for index in 0..c.count {
        let a = a
            .data
            .slice(index * a.stride()..index * a.stride() + a.size());
        let b = b
            .data
            .slice(index * b.stride()..index * b.stride() + b.size());
        let mut c = c.data.slice_mut(index * size..(index + 1) * size);
        let mut launch = stream.launch_builder(matmul);
        launch.arg(&a).arg(&b).arg(&mut c).arg(&m).arg(&n).arg(&k);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrices.
        unsafe { launch.launch(config(geometry)) }?;
    }
    Ok(())
}

fn turn(
    stream: &Arc<CudaStream>,
    transpose: &CudaFunction,
    b: &Matrices,
) -> Result<Matrices, DriverError> {
    let mut turned = Matrices {
        data: stream.alloc_zeros(b.data.len())?,
        count: b.count,
        rows: b.columns,
        columns: b.rows,
    };
    let (height, width) = (b.rows as i32, b.columns as i32);
    let geometry = kernels::transpose_geometry(b.rows as u32, b.columns as u32);
    for index in 0..b.count {
        let part = index * b.size()..(index + 1) * b.size();
        let from = b.data.slice(part.clone());
        let mut to = turned.data.slice_mut(part);
        let mut launch = stream.launch_builder(transpose);
        launch.arg(&from).arg(&mut to).arg(&height).arg(&width);
        // SAFETY: these are the kernel's parameters, with the sizes of the matrix.
        unsafe { launch.launch(config(geometry)) }?;
    }
    Ok(turned)
}

pub(super) fn config(geometry: Geometry) -> LaunchConfig {
    LaunchConfig {
        grid_dim: geometry.grid,
        block_dim: geometry.block,
        shared_mem_bytes: 0,
    }
}
