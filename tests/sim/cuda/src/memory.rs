//! Simulated device memory: host allocations behind addresses of their own (API reference, Memory
//! Management). Addresses are never used twice, so a use after free is always seen.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;

use simbase::activity::{self, Place};

use crate::abi::{Answer, Handle};
use crate::codes::Code;
use crate::device::{MEMORY_BYTES, RESERVED_BYTES};

/// Device addresses start here: beyond what a Linux process can map, so the host cannot follow one.
const FIRST_ADDRESS: u64 = 0x3_0000_0000_0000;
/// Alignment of every allocation, in bytes (API reference, cuMemAlloc: "suitably aligned").
const ALIGN: usize = 512;

/// Who can reach an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The device only; it counts against the device's memory.
    Device,
    /// Both, by the host's address; it counts against the device's memory.
    Managed,
    /// Both, by the host's address: page-locked host memory.
    Pinned,
}

/// All allocations by their first address.
pub(crate) struct Memory {
    blocks: BTreeMap<u64, Block>,
    next: u64,
    /// Bytes in use by device, pinned ones not among them.
    used: BTreeMap<u32, u64>,
}

struct Block {
    size: usize,
    host: HostBlock,
    kind: Kind,
    context: Handle,
    device: u32,
    /// The caller has freed it; what was queued before may still use it.
    released: bool,
}

/// One host allocation of its own.
struct HostBlock {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: the pointer is the allocation's only owner and no thread-bound thing.
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
    /// No allocations.
    pub(crate) const fn new() -> Memory {
        Memory {
            blocks: BTreeMap::new(),
            next: FIRST_ADDRESS,
            used: BTreeMap::new(),
        }
    }

    /// Allocates `size` bytes and gives the address; OUT_OF_MEMORY past the device's memory.
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
            Kind::Device => {
                let address = self.next;
                // A gap after each block, so that running past one never lands in the next.
                self.next += (size + 2 * ALIGN) as u64 / ALIGN as u64 * ALIGN as u64;
                address
            }
            Kind::Managed | Kind::Pinned => host.pointer as u64,
        };
        if kind != Kind::Pinned {
            *self.used.entry(device).or_default() += size as u64;
        }
        self.blocks.insert(
            address,
            Block {
                size,
                host,
                kind,
                context,
                device,
                released: false,
            },
        );
        Ok(address)
    }

    /// Marks the block that starts at `address` as freed by the caller and gives its size;
    /// INVALID_VALUE where none does. [`Memory::remove`] follows in queue order.
    pub(crate) fn release(&mut self, address: u64, pinned: bool) -> Answer<usize> {
        match self.blocks.get_mut(&address) {
            Some(block) if !block.released && (block.kind == Kind::Pinned) == pinned => {
                block.released = true;
                uncount(&mut self.used, block);
                Ok(block.size)
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Gives a released block's memory back. Only the queue's executor may call it.
    pub(crate) fn remove(&mut self, address: u64) {
        self.blocks.remove(&address);
    }

    /// Ends every block of `context`. Only the queue's executor may call it.
    pub(crate) fn release_context(&mut self, context: Handle) {
        let used = &mut self.used;
        self.blocks.retain(|_, block| {
            let keep = block.context != context;
            if !keep && !block.released {
                uncount(used, block);
            }
            keep
        });
    }

    /// Where the host finds the `len` bytes at device address `address`; ILLEGAL_ADDRESS unless
    /// they lie in one block.
    pub(crate) fn resolve(&self, address: u64, len: usize) -> Answer<*mut u8> {
        let (start, block) = self.block(address).ok_or(Code::ILLEGAL_ADDRESS)?;
        let offset = (address - start) as usize;
        if len > block.size.saturating_sub(offset) || offset > block.size {
            return Err(Code::ILLEGAL_ADDRESS);
        }
        // SAFETY: `offset` is at most the block's size.
        Ok(unsafe { block.host.pointer.add(offset) })
    }

    /// INVALID_VALUE unless the caller may copy to or from the `len` bytes at `address`: copies
    /// check their arguments at the call, kernels fault when they run.
    pub(crate) fn check(&self, address: u64, len: usize) -> Answer {
        if len == 0 {
            return Ok(());
        }
        self.resolve(address, len)
            .map_err(|_| Code::INVALID_VALUE)?;
        let released = self.block(address).is_none_or(|(_, block)| block.released);
        if released {
            Err(Code::INVALID_VALUE)
        } else {
            Ok(())
        }
    }

    /// Whether the host address lies in page-locked memory.
    pub(crate) fn is_pinned(&self, address: u64) -> bool {
        self.block(address).is_some_and(|(start, block)| {
            block.kind == Kind::Pinned && address - start < block.size as u64
        })
    }

    /// What memory `address` is in, and of which device; none outside every allocation.
    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let (start, block) = self.block(address)?;
        let memory = match block.kind {
            Kind::Device => activity::Memory::Device,
            Kind::Managed => activity::Memory::Managed,
            Kind::Pinned => activity::Memory::Pinned,
        };
        let device = block.device;
        (address - start < block.size.max(1) as u64).then_some(Place { memory, device })
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

fn uncount(used: &mut BTreeMap<u32, u64>, block: &Block) {
    if block.kind != Kind::Pinned {
        *used.entry(block.device).or_default() -= block.size as u64;
    }
}
