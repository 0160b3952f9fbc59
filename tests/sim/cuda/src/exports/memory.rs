//! Memory Management and Stream Ordered Memory Allocator of the driver API reference.

use super::driver_functions;
use crate::abi::{Handle, HostPointer, Out};
use crate::deferred::Task;
use crate::device::MEMORY_BYTES;
use crate::memory::Kind;
use crate::objects::Operation;
use crate::result_codes::{Answer, Code};
use crate::{executor, state, stream_queue};

/// `CUmemLocation`, passed by value.
#[repr(C)]
struct Location {
    kind: i32,
    id: i32,
}

/// `CUmemPool_attribute` values.
const RELEASE_THRESHOLD: i32 = 4;
const RESERVED_CURRENT: i32 = 5;
const RESERVED_HIGH: i32 = 6;
const USED_CURRENT: i32 = 7;
const USED_HIGH: i32 = 8;

driver_functions! {
    fn cuMemAlloc_v2(out: Out<u64>, size: usize) {
        out.write(allocate(size, Kind::Device)?)
    }

    /// INVALID_VALUE unless one of the three attach flags is set.
    fn cuMemAllocManaged(out: Out<u64>, size: usize, flags: u32) {
        if !matches!(flags, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        out.write(allocate(size, Kind::Managed)?)
    }

    /// Has no effect: device and host share managed memory.
    fn cuMemPrefetchAsync_v2(
        address: u64,
        len: usize,
        _location: Location,
        _flags: u32,
        stream: Handle,
    ) {
        let mut state = state::lock_initialized()?;
        state.resolve_stream(stream)?;
        state.memory.check(address, len)
    }

    /// A hint without effect.
    fn cuMemAdvise_v2(address: u64, len: usize, _advice: i32, _location: Location) {
        state::lock_initialized()?.memory.check(address, len)
    }

    fn cuMemHostAlloc(out: Out<u64>, size: usize, flags: u32) {
        if flags & !7 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        out.write(allocate(size, Kind::Pinned)?)
    }

    /// A size of 0 returns a null address. Memory that is allocated in a capture belongs to the
    /// graph and exists as long as its context.
    fn cuMemAllocAsync(out: Out<u64>, size: usize, stream: Handle) {
        let mut state = state::lock_initialized()?;
        let current = state.current_context()?;
        let stream = state.resolve_stream(stream)?;
        state.use_for_capture(stream)?;
        if size == 0 {
            return out.write(0);
        }
        let device = state.context(current)?.device;
        let address = state.memory.allocate(size, Kind::Pooled, current, device)?;
        if state.streams.get(stream)?.capture.is_none() {
            state.add_memory_activity(current, Some(stream), true, address, size);
        }
        out.write(address)
    }

    /// Operations queued before may still use the memory. In a capture nothing is freed, because a
    /// launch of the graph uses the memory again.
    fn cuMemFreeAsync(address: u64, stream: Handle) {
        let mut state = state::lock_initialized()?;
        let current = state.current_context()?;
        let stream = state.resolve_stream(stream)?;
        if address == 0 || state.use_for_capture(stream)?.is_some() {
            return Ok(());
        }
        let len = state.memory.release(address, false)?;
        state.add_memory_activity(current, Some(stream), false, address, len);
        state.deferred.push(current, Task::Free { address, len });
        Ok(())
    }

    fn cuMemFree_v2(address: u64) {
        let mut state = state::lock_initialized()?;
        let current = state.current_context()?;
        state.check_unsafe_call()?;
        if address == 0 {
            return Ok(());
        }
        let len = state.memory.release(address, false)?;
        state.add_memory_activity(current, None, false, address, len);
        state.deferred.push(current, Task::Free { address, len });
        Ok(())
    }

    /// Computes all deferred operations, because copies to this memory must run before it is freed.
    fn cuMemFreeHost(address: u64) {
        {
            let mut state = state::lock_initialized()?;
            let current = state.current_context()?;
            state.check_unsafe_call()?;
            let len = state.memory.release(address, true)?;
            state.add_memory_activity(current, None, false, address, len);
            state.deferred.push(current, Task::Free { address, len });
        }
        executor::drain();
        Ok(())
    }

    /// The default pool, which is the only one: its handle is the device's ordinal and 1.
    fn cuDeviceGetDefaultMemPool(out: Out<Handle>, device: i32) {
        let device = state::lock_initialized()?.device(device)?;
        out.write(u64::from(device + 1))
    }

    /// Bytes that are in use, now or at most; nothing is reserved beside them.
    fn cuMemPoolGetAttribute(pool: Handle, attribute: i32, value: Out<u64>) {
        let mut state = state::lock_initialized()?;
        let pool = *state.memory.pool(device_of_pool(pool)?);
        value.write(match attribute {
            RELEASE_THRESHOLD => 0,
            RESERVED_CURRENT | USED_CURRENT => pool.used,
            RESERVED_HIGH | USED_HIGH => pool.most_used,
            _ => return Err(Code::NOT_SUPPORTED),
        })
    }

    /// Sets the largest number of bytes back to the present one, which takes a value of 0.
    fn cuMemPoolSetAttribute(pool: Handle, attribute: i32, value: HostPointer) {
        let mut state = state::lock_initialized()?;
        let pool = state.memory.pool(device_of_pool(pool)?);
        let is_zero = value.read(8)?.iter().all(|&byte| byte == 0);
        match (attribute, is_zero) {
            (RELEASE_THRESHOLD, _) => {}
            (RESERVED_HIGH | USED_HIGH, true) => pool.most_used = pool.used,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let state = state::lock_initialized()?;
        let current = state.current_context()?;
        free.write(state.memory.free_bytes(state.context(current)?.device) as usize)?;
        total.write(MEMORY_BYTES as usize)
    }

    fn cuMemcpyHtoDAsync_v2(target: u64, source: HostPointer, len: usize, stream: Handle) {
        submit(stream, Operation::Upload { target, source, len }).map(drop)
    }

    fn cuMemcpyHtoD_v2(target: u64, source: HostPointer, len: usize) {
        submit_and_wait(Operation::Upload { target, source, len })
    }

    /// A copy to pageable memory returns when it is complete (API synchronization behavior,
    /// Memcpy); one to page-locked memory, or in a capture, returns at once.
    fn cuMemcpyDtoHAsync_v2(target: HostPointer, source: u64, len: usize, stream: Handle) {
        match submit(stream, Operation::Download { target, source, len })? {
            Some((context, tail)) if !state::lock().memory.is_pinned(target.address()) => {
                executor::synchronize(context, tail)
            }
            _ => Ok(()),
        }
    }

    fn cuMemcpyDtoH_v2(target: HostPointer, source: u64, len: usize) {
        submit_and_wait(Operation::Download { target, source, len })
    }

    fn cuMemcpyDtoDAsync_v2(target: u64, source: u64, len: usize, stream: Handle) {
        submit(stream, Operation::Copy { target, source, len }).map(drop)
    }

    /// Does not wait for the device (API synchronization behavior, Memcpy).
    fn cuMemcpyDtoD_v2(target: u64, source: u64, len: usize) {
        state::lock_initialized()?.check_unsafe_call()?;
        submit(0, Operation::Copy { target, source, len }).map(drop)
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
            let state = state::lock_initialized()?;
            state.context(target_context)?;
            state.context(source_context)?;
        }
        submit(stream, Operation::Copy { target, source, len }).map(drop)
    }

    fn cuMemsetD8Async(target: u64, value: u8, len: usize, stream: Handle) {
        submit(stream, Operation::Memset { target, value, len }).map(drop)
    }

    /// Does not wait for the device (API synchronization behavior, Memset).
    fn cuMemsetD8_v2(target: u64, value: u8, len: usize) {
        state::lock_initialized()?.check_unsafe_call()?;
        submit(0, Operation::Memset { target, value, len }).map(drop)
    }
}

/// INVALID_VALUE for no bytes.
fn device_of_pool(pool: Handle) -> Answer<u32> {
    let ordinal = pool.checked_sub(1).ok_or(Code::INVALID_VALUE)?;
    u32::try_from(ordinal).map_err(|_| Code::INVALID_VALUE)
}

fn allocate(size: usize, kind: Kind) -> Answer<u64> {
    let mut state = state::lock_initialized()?;
    let current = state.current_context()?;
    state.check_unsafe_call()?;
    if size == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let device = state.context(current)?.device;
    let address = state.memory.allocate(size, kind, current, device)?;
    state.add_memory_activity(current, None, true, address, size);
    Ok(address)
}

/// Submits `operation` to the stream and returns the stream's context and tail, or `None` if it was
/// captured.
fn submit(stream: Handle, operation: Operation) -> Answer<Option<(Handle, u64)>> {
    let mut state = stream_queue::lock_with_room(stream)?;
    state.current_context()?;
    let stream = state.resolve_stream(stream)?;
    for (address, len) in accessed(&operation) {
        state.memory.check(address, len)?;
    }
    let captured = state.use_for_capture(stream)?.is_some();
    state.submit(stream, operation)?;
    let stream = state.streams.get(stream)?;
    Ok((!captured).then_some((stream.context, stream.tail)))
}

fn submit_and_wait(operation: Operation) -> Answer {
    state::lock_initialized()?.check_unsafe_call()?;
    match submit(0, operation)? {
        Some((context, tail)) => executor::synchronize(context, tail),
        None => Ok(()),
    }
}

/// The device memory that a copy or memset accesses.
fn accessed(operation: &Operation) -> Vec<(u64, usize)> {
    match *operation {
        Operation::Upload { target, len, .. } | Operation::Memset { target, len, .. } => {
            vec![(target, len)]
        }
        Operation::Download { source, len, .. } => vec![(source, len)],
        Operation::Copy {
            target,
            source,
            len,
        } => vec![(target, len), (source, len)],
        Operation::Launch(_) | Operation::EventRecord(_) | Operation::ChildGraph { .. } => {
            Vec::new()
        }
    }
}
