//! Device memory that a part of the program takes: that of the device's stream-ordered pool, from
//! which cudarc allocates, or all memory of the device where there is no pool.

#![allow(
    unsafe_code,
    reason = "cudarc has no safe call that reads a memory pool"
)]

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
use cudarc::driver::sys::CUmemPool_attribute::{self, CU_MEMPOOL_ATTR_USED_MEM_HIGH};
use cudarc::driver::sys::{self, CUmemoryPool};
use cudarc::driver::{CudaContext, CudaStream};

use crate::error::{BenchError, WithPurpose};

const PURPOSE: &str = "ask how much memory is used";

/// Counts the memory that is taken while it exists.
pub(crate) struct MemoryMeter {
    context: Arc<CudaContext>,
    pool: Option<CUmemoryPool>,
    /// Bytes.
    before: u64,
}

impl MemoryMeter {
    /// Everything on the stream must have run.
    ///
    /// # Errors
    /// The driver does not tell.
    pub(crate) fn begin(stream: &CudaStream) -> Result<Self, BenchError> {
        let context = Arc::clone(stream.context());
        let has_pool = context.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
        let pool = if has_pool.to(PURPOSE)? > 0 {
            Some(default_pool(&context)?)
        } else {
            None
        };
        let mut begun = Self {
            context,
            pool,
            before: 0,
        };
        if let Some(pool) = begun.pool {
            set_back(pool)?;
        }
        begun.before = begun.largest_bytes()?;
        Ok(begun)
    }

    /// Bytes that were taken since the beginning: the most at one time, or without a pool those
    /// taken now.
    ///
    /// # Errors
    /// The driver does not tell.
    pub(crate) fn taken_bytes(&self) -> Result<u64, BenchError> {
        Ok(self.largest_bytes()?.saturating_sub(self.before))
    }

    fn largest_bytes(&self) -> Result<u64, BenchError> {
        if let Some(pool) = self.pool {
            return read(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
        }
        let (free, total) = self.context.mem_get_info().to(PURPOSE)?;
        Ok(total.saturating_sub(free) as u64)
    }
}

fn default_pool(context: &CudaContext) -> Result<CUmemoryPool, BenchError> {
    let mut pool = ptr::null_mut();
    // SAFETY: the device exists, and `pool` takes a handle.
    let status = unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, context.cu_device()) };
    status.result().to(PURPOSE)?;
    Ok(pool)
}

fn read(pool: CUmemoryPool, attribute: CUmemPool_attribute) -> Result<u64, BenchError> {
    let mut value = 0_u64;
    // SAFETY: the attribute is a number of 64 bits, which `value` takes.
    let status = unsafe { sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()) };
    status.result().to(PURPOSE)?;
    Ok(value)
}

/// Sets the most that was used at one time to what is used now.
fn set_back(pool: CUmemoryPool) -> Result<(), BenchError> {
    let (attribute, mut value) = (CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0_u64);
    // SAFETY: the attribute is a number of 64 bits; 0 is the only one that it takes.
    let status = unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut value).cast()) };
    status.result().to(PURPOSE)
}
