//! Simulated device memory: host allocations with simulated addresses (API reference, Memory
//! Management). No address is used twice, so that every use after free is an error.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;

use simbase::activity::{MemoryKind, MemoryLocation};

use crate::abi::Handle;
use crate::device::{MEMORY_BYTES, RESERVED_BYTES};
use crate::result_codes::{Answer, Code};

/// The first device address, which a Linux process cannot map: the host cannot dereference it.
const FIRST_ADDRESS: u64 = 0x3_0000_0000_0000;
/// Alignment of every allocation, in bytes (API reference, cuMemAlloc: "suitably aligned").
const ALIGN: usize = 512;

/// What can access an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The device, whose free memory it reduces.
    Device,
    /// As `Device`, from the device's default pool.
    Pooled,
    /// Device and host, by the host's address; it reduces the device's free memory.
    Managed,
    /// Device and host, by the host's address: page-locked host memory.
    Pinned,
}

/// All allocations.
pub(crate) struct Memory {
    /// By first address.
    blocks: BTreeMap<u64, Block>,
    next: u64,
    /// Bytes in use by device, without pinned ones.
    used: BTreeMap<u32, u64>,
    /// The default pool of each device.
    pools: BTreeMap<u32, Pool>,
}

/// Bytes in use of a pool.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pool {
    pub(crate) used: u64,
    /// Since it was set back.
    pub(crate) most_used: u64,
}

struct Block {
    size: usize,
    host: HostBlock,
    kind: Kind,
    context: Handle,
    device: u32,
    /// Whether the caller has freed it. Operations queued before may still use it.
    is_released: bool,
}

struct HostBlock {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: the pointer owns the allocation, which no thread owns.
unsafe impl Send for HostBlock {}

impl HostBlock {
    fn new(size: usize) -> Answer<HostBlock> {
        let layout =
            Layout::from_size_align(size.max(1), ALIGN).map_err(|_| Code::OUT_OF_MEMORY)?;
        // SAFETY: the layout's size is at least 1.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            Err(Code::OUT_OF_MEMORY)
        } else {
            Ok(HostBlock { pointer, layout })
        }
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // SAFETY: `pointer` came from `alloc_zeroed` with this layout and is freed once.
        unsafe { dealloc(self.pointer, self.layout) };
    }
}

impl Memory {
    pub(crate) const fn new() -> Memory {
        Memory {
            blocks: BTreeMap::new(),
            next: FIRST_ADDRESS,
            used: BTreeMap::new(),
            pools: BTreeMap::new(),
        }
    }

    /// Allocates `size` bytes; OUT_OF_MEMORY beyond the device's memory.
    pub(crate) fn allocate(
        &mut self,
        size: usize,
        kind: Kind,
        context: Handle,
        device: u32,
    ) -> Answer<u64> {
        if kind != Kind::Pinned && size as u64 > self.free_bytes(device) {
            return Err(Code::OUT_OF_MEMORY);
        }
        let host = HostBlock::new(size)?;
        let address = match kind {
            Kind::Device | Kind::Pooled => {
                let address = self.next;
                // A gap after each block: an access beyond a block never reaches the next one.
                self.next += (size + 2 * ALIGN) as u64 / ALIGN as u64 * ALIGN as u64;
                address
            }
            Kind::Managed | Kind::Pinned => host.pointer as u64,
        };
        if kind != Kind::Pinned {
            *self.used.entry(device).or_default() += size as u64;
        }
        if kind == Kind::Pooled {
            let pool = self.pool(device);
            pool.used += size as u64;
            pool.most_used = pool.most_used.max(pool.used);
        }
        self.blocks.insert(
            address,
            Block {
                size,
                host,
                kind,
                context,
                device,
                is_released: false,
            },
        );
        Ok(address)
    }

    /// Marks the block that starts at `address` as freed by the caller and returns its size, or
    /// INVALID_VALUE. [`Memory::remove`] follows in queue order.
    pub(crate) fn release(&mut self, address: u64, pinned: bool) -> Answer<usize> {
        match self.blocks.get_mut(&address) {
            Some(block) if !block.is_released && (block.kind == Kind::Pinned) == pinned => {
                block.is_released = true;
                subtract_usage(&mut self.used, &mut self.pools, block);
                Ok(block.size)
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Frees a released block. Only the executor may call it.
    pub(crate) fn remove(&mut self, address: u64) {
        self.blocks.remove(&address);
    }

    /// Frees every block of `context`. Only the executor may call it.
    pub(crate) fn remove_context(&mut self, context: Handle) {
        let (used, pools) = (&mut self.used, &mut self.pools);
        self.blocks.retain(|_, block| {
            let keep = block.context != context;
            if !keep && !block.is_released {
                subtract_usage(used, pools, block);
            }
            keep
        });
    }

    /// The host address of the `len` bytes at device address `address`; ILLEGAL_ADDRESS unless they
    /// are in one block.
    pub(crate) fn resolve(&self, address: u64, len: usize) -> Answer<*mut u8> {
        let (start, block) = self.block(address).ok_or(Code::ILLEGAL_ADDRESS)?;
        let offset = (address - start) as usize;
        if len > block.size.saturating_sub(offset) || offset > block.size {
            return Err(Code::ILLEGAL_ADDRESS);
        }
        // SAFETY: `offset` is at most the block's size.
        Ok(unsafe { block.host.pointer.add(offset) })
    }

    /// INVALID_VALUE unless the caller may copy to or from the `len` bytes at `address`. Copies
    /// check their arguments at the call; kernels fault when they run.
    pub(crate) fn check(&self, address: u64, len: usize) -> Answer {
        if len == 0 {
            return Ok(());
        }
        self.resolve(address, len)
            .map_err(|_| Code::INVALID_VALUE)?;
        let is_released = self
            .block(address)
            .is_none_or(|(_, block)| block.is_released);
        if is_released {
            Err(Code::INVALID_VALUE)
        } else {
            Ok(())
        }
    }

    /// Whether the host address is in page-locked memory.
    pub(crate) fn is_pinned(&self, address: u64) -> bool {
        self.block(address).is_some_and(|(start, block)| {
            block.kind == Kind::Pinned && address - start < block.size as u64
        })
    }

    /// The kind and device of the memory at `address`; `None` outside every allocation.
    pub(crate) fn location(&self, address: u64) -> Option<MemoryLocation> {
        let (start, block) = self.block(address)?;
        let kind = match block.kind {
            Kind::Device | Kind::Pooled => MemoryKind::Device,
            Kind::Managed => MemoryKind::Managed,
            Kind::Pinned => MemoryKind::Pinned,
        };
        let device = block.device;
        (address - start < block.size.max(1) as u64).then_some(MemoryLocation { kind, device })
    }

    /// The default pool of `device`.
    pub(crate) fn pool(&mut self, device: u32) -> &mut Pool {
        self.pools.entry(device).or_default()
    }

    /// Free bytes of `device`, as `cuMemGetInfo` reports them.
    pub(crate) fn free_bytes(&self, device: u32) -> u64 {
        MEMORY_BYTES - RESERVED_BYTES - self.used.get(&device).copied().unwrap_or(0)
    }

    fn block(&self, address: u64) -> Option<(u64, &Block)> {
        self.blocks
            .range(..=address)
            .next_back()
            .map(|(start, block)| (*start, block))
    }
}

fn subtract_usage(used: &mut BTreeMap<u32, u64>, pools: &mut BTreeMap<u32, Pool>, block: &Block) {
    if block.kind != Kind::Pinned {
        *used.entry(block.device).or_default() -= block.size as u64;
    }
    if block.kind == Kind::Pooled {
        pools.entry(block.device).or_default().used -= block.size as u64;
    }
}
