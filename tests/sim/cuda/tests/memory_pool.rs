//! The default pool's counters: what stream-ordered allocations use.

mod common;

use common::{context_and_stream, virtual_clock};
use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUmemPool_attribute, CUmemoryPool, CUresult};

fn pool(context: &CudaContext) -> CUmemoryPool {
    let mut pool = std::ptr::null_mut();
    // SAFETY: `pool` takes a handle.
    let status = unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, context.cu_device()) };
    assert_eq!(status, CUresult::CUDA_SUCCESS);
    pool
}

fn read(pool: CUmemoryPool, attribute: CUmemPool_attribute) -> u64 {
    let mut value = 0_u64;
    // SAFETY: these attributes are numbers of 64 bits.
    let status = unsafe { sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()) };
    assert_eq!(status, CUresult::CUDA_SUCCESS);
    value
}

fn set_back(pool: CUmemoryPool, mut value: u64) -> CUresult {
    let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    // SAFETY: as above.
    unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut value).cast()) }
}

#[test]
fn the_pool_counts_what_is_used_and_the_most_that_was() {
    let (_sim, _turn) = virtual_clock();
    let (context, stream) = context_and_stream();
    let pool = pool(&context);
    let used = || read(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    let most = || read(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    let before = used();
    let first = stream.alloc_zeros::<u8>(1_000).unwrap();
    let second = stream.alloc_zeros::<u8>(500).unwrap();
    assert_eq!(used() - before, 1_500);
    drop(first);
    assert_eq!((used() - before, most() - before), (500, 1_500));
    // Only to the present number.
    assert_eq!(set_back(pool, 7), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(set_back(pool, 0), CUresult::CUDA_SUCCESS);
    assert_eq!(most() - before, 500);
    drop(second);
    assert_eq!((used() - before, most() - before), (0, 500));
}
