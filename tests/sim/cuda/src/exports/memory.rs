//! Memory Management and Stream Ordered Memory Allocator of the driver API reference.

use super::driver_functions;
use crate::abi::{Answer, Handle, Host, Out};
use crate::capture::Node;
use crate::codes::Code;
use crate::device::MEMORY_BYTES;
use crate::executor::{self, Task};
use crate::memory::Kind;
use crate::{state, stream_queue};

/// `CUmemLocation`, passed by value.
#[repr(C)]
struct Location {
    kind: i32,
    id: i32,
}

driver_functions! {
    fn cuMemAlloc_v2(out: Out<u64>, size: usize) {
        out.put(allocate(size, Kind::Device)?)
    }

    /// The attach flag must be one of the three (INVALID_VALUE).
    fn cuMemAllocManaged(out: Out<u64>, size: usize, flags: u32) {
        if !matches!(flags, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        out.put(allocate(size, Kind::Managed)?)
    }

    /// Managed memory lies where both can reach it already.
    fn cuMemPrefetchAsync_v2(
        address: u64,
        len: usize,
        _location: Location,
        _flags: u32,
        stream: Handle,
    ) {
        let mut state = state::ready()?;
        state.stream(stream)?;
        state.memory.check(address, len)
    }

    /// A hint only.
    fn cuMemAdvise_v2(address: u64, len: usize, _advice: i32, _location: Location) {
        state::ready()?.memory.check(address, len)
    }

    fn cuMemHostAlloc(out: Out<u64>, size: usize, flags: u32) {
        if flags & !7 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        out.put(allocate(size, Kind::Pinned)?)
    }

    /// No bytes are a null address. Captured, the memory is the graph's and lives as long as its
    /// context.
    fn cuMemAllocAsync(out: Out<u64>, size: usize, stream: Handle) {
        let mut state = state::ready()?;
        let current = state.current()?;
        let stream = state.stream(stream)?;
        state.capture_of(stream)?;
        if size == 0 {
            return out.put(0);
        }
        let device = state.living(current)?.device;
        let address = state.memory.allocate(size, Kind::Device, current, device)?;
        if state.streams.get(stream)?.capture.is_none() {
            state.note_memory(current, Some(stream), true, address, size);
        }
        out.put(address)
    }

    /// Work queued before may still use the memory. Captured, nothing is freed: a replay uses it
    /// again.
    fn cuMemFreeAsync(address: u64, stream: Handle) {
        let mut state = state::ready()?;
        let current = state.current()?;
        let stream = state.stream(stream)?;
        if address == 0 || state.capture_of(stream)?.is_some() {
            return Ok(());
        }
        let len = state.memory.release(address, false)?;
        state.note_memory(current, Some(stream), false, address, len);
        state.queue.push(current, Task::Free { address, len });
        Ok(())
    }

    fn cuMemFree_v2(address: u64) {
        let mut state = state::ready()?;
        let current = state.current()?;
        state.unsafe_call()?;
        if address == 0 {
            return Ok(());
        }
        let len = state.memory.release(address, false)?;
        state.note_memory(current, None, false, address, len);
        state.queue.push(current, Task::Free { address, len });
        Ok(())
    }

    /// Waits for the queue: what was to be copied here must be copied while the memory is there.
    fn cuMemFreeHost(address: u64) {
        {
            let mut state = state::ready()?;
            let current = state.current()?;
            state.unsafe_call()?;
            let len = state.memory.release(address, true)?;
            state.note_memory(current, None, false, address, len);
            state.queue.push(current, Task::Free { address, len });
        }
        executor::drain();
        Ok(())
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let state = state::ready()?;
        let current = state.current()?;
        free.put(state.memory.free_bytes(state.living(current)?.device) as usize)?;
        total.put(MEMORY_BYTES as usize)
    }

    fn cuMemcpyHtoDAsync_v2(target: u64, source: Host, len: usize, stream: Handle) {
        issue(stream, Node::Upload { target, source, len }).map(drop)
    }

    fn cuMemcpyHtoD_v2(target: u64, source: Host, len: usize) {
        issue_and_wait(Node::Upload { target, source, len })
    }

    /// Into pageable memory it returns once the copy is complete (API synchronization behavior,
    /// Memcpy); into page-locked memory, or captured, at once.
    fn cuMemcpyDtoHAsync_v2(target: Host, source: u64, len: usize, stream: Handle) {
        match issue(stream, Node::Download { target, source, len })? {
            Some((context, tail)) if !state::lock().memory.is_pinned(target.address()) => {
                executor::settle(context, tail)
            }
            _ => Ok(()),
        }
    }

    fn cuMemcpyDtoH_v2(target: Host, source: u64, len: usize) {
        issue_and_wait(Node::Download { target, source, len })
    }

    fn cuMemcpyDtoDAsync_v2(target: u64, source: u64, len: usize, stream: Handle) {
        issue(stream, Node::Copy { target, source, len }).map(drop)
    }

    /// Does not wait for the device (API synchronization behavior, Memcpy).
    fn cuMemcpyDtoD_v2(target: u64, source: u64, len: usize) {
        state::ready()?.unsafe_call()?;
        issue(0, Node::Copy { target, source, len }).map(drop)
    }

    fn cuMemcpyPeerAsync(
        target: u64,
        target_context: Handle,
        source: u64,
        source_context: Handle,
        len: usize,
        stream: Handle,
    ) {
        {
            let state = state::ready()?;
            state.living(target_context)?;
            state.living(source_context)?;
        }
        issue(stream, Node::Copy { target, source, len }).map(drop)
    }

    fn cuMemsetD8Async(target: u64, value: u8, len: usize, stream: Handle) {
        issue(stream, Node::Fill { target, value, len }).map(drop)
    }

    /// Does not wait for the device (API synchronization behavior, Memset).
    fn cuMemsetD8_v2(target: u64, value: u8, len: usize) {
        state::ready()?.unsafe_call()?;
        issue(0, Node::Fill { target, value, len }).map(drop)
    }
}

/// No bytes are INVALID_VALUE.
fn allocate(size: usize, kind: Kind) -> Answer<u64> {
    let mut state = state::ready()?;
    let current = state.current()?;
    state.unsafe_call()?;
    if size == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let device = state.living(current)?.device;
    let address = state.memory.allocate(size, kind, current, device)?;
    state.note_memory(current, None, true, address, size);
    Ok(address)
}

/// Puts `node` on the stream and gives the stream's context and tail, or none where it was
/// captured.
fn issue(stream: Handle, node: Node) -> Answer<Option<(Handle, u64)>> {
    let mut state = stream_queue::ready(stream)?;
    state.current()?;
    let stream = state.stream(stream)?;
    for (address, len) in touched(&node) {
        state.memory.check(address, len)?;
    }
    let captured = state.capture_of(stream)?.is_some();
    state.issue(stream, node)?;
    let stream = state.streams.get(stream)?;
    Ok((!captured).then_some((stream.context, stream.tail)))
}

fn issue_and_wait(node: Node) -> Answer {
    state::ready()?.unsafe_call()?;
    match issue(0, node)? {
        Some((context, tail)) => executor::settle(context, tail),
        None => Ok(()),
    }
}

/// The device memory that a copy or memset touches.
fn touched(node: &Node) -> Vec<(u64, usize)> {
    match *node {
        Node::Upload { target, len, .. } | Node::Fill { target, len, .. } => vec![(target, len)],
        Node::Download { source, len, .. } => vec![(source, len)],
        Node::Copy {
            target,
            source,
            len,
        } => vec![(target, len), (source, len)],
        Node::Launch(_) | Node::Stamp(_) | Node::Child(_) => Vec::new(),
    }
}
