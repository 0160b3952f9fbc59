//! Decodes one record from the bytes that CUPTI wrote.
//!
//! The offsets are the same in every version since CUDA 12.0 (checked by compiling against the
//! headers of 12.0, 12.9, 13.0, 13.4 and 13.5). Only the sizes of records differ; CUPTI itself
//! finds the next one.

use super::bindings::kind;
use super::kernel_symbol::KernelSymbol;
use super::record::{
    ActivityRecord, ActivitySpan, CopyRecord, KernelRecord, LaunchShape, MemoryOperation,
    MemoryRecord, MemorySpace,
};
use gpuprof_report::profile::{CopyKind, MemoryKind};

#[derive(Debug, PartialEq)]
pub(crate) enum Parsed {
    Activity(ActivityRecord),
    Memory(MemoryRecord),
    /// A field has a value that no version of CUPTI so far defines.
    Undefined,
    /// The kind of record is not read, or the record is truncated.
    Skipped,
    /// A time stamp is 0: the activity was unfinished, or CUPTI could not stamp it.
    Unstamped,
    /// The end is before the start.
    Reversed,
}

/// Decodes the record at the start of `bytes`; what follows it is ignored. `symbol_at` reads the C
/// string at an address.
pub(crate) fn parse(bytes: &[u8], symbol_at: impl FnOnce(usize) -> KernelSymbol) -> Parsed {
    let Some(kind) = u32_at(bytes, 0) else {
        return Parsed::Skipped;
    };
    let activity = match kind {
        kind::CONCURRENT_KERNEL => kernel(bytes, symbol_at),
        kind::MEMCPY => copy(bytes, 44, 64),
        kind::MEMCPY2 => copy(bytes, 60, 72),
        kind::MEMSET => memset(bytes),
        kind::MEMORY2 => return memory(bytes).unwrap_or(Parsed::Skipped),
        _ => return Parsed::Skipped,
    };
    let stamps = u64_at(bytes, 16).zip(u64_at(bytes, 24));
    match (activity, stamps) {
        (Some(_), Some((0, _) | (_, 0))) => Parsed::Unstamped,
        (Some(_), Some((start, end))) if end < start => Parsed::Reversed,
        (Some(activity), Some(_)) => Parsed::Activity(activity),
        _ => Parsed::Skipped,
    }
}

/// `CUpti_ActivityKernel9` and later.
fn kernel(bytes: &[u8], symbol_at: impl FnOnce(usize) -> KernelSymbol) -> Option<ActivityRecord> {
    let span = ActivitySpan {
        start: u64_at(bytes, 16)?,
        end: u64_at(bytes, 24)?,
        device: u32_at(bytes, 40)?,
        context: u32_at(bytes, 44)?,
        stream: u32_at(bytes, 48)?,
        correlation: u32_at(bytes, 92)?,
        graph_node: u64_at(bytes, 144)?,
    };
    let dimensions = |offset| {
        Some([
            u32_at(bytes, offset)?,
            u32_at(bytes, offset + 4)?,
            u32_at(bytes, offset + 8)?,
        ])
    };
    Some(ActivityRecord::Kernel(KernelRecord {
        span,
        symbol: symbol_at(usize::try_from(u64_at(bytes, 104)?).ok()?),
        shape: LaunchShape {
            grid: dimensions(52)?,
            block: dimensions(64)?,
            dynamic_shared_bytes: u32_at(bytes, 80)?,
            static_shared_bytes: u32_at(bytes, 76)?,
            registers: u32::from(u16_at(bytes, 6)?),
            local_bytes_per_thread: u32_at(bytes, 84)?,
        },
    }))
}

/// `CUpti_ActivityMemcpy5` and later, and `CUpti_ActivityMemcpyPtoP4`, in which two fields have
/// other offsets.
fn copy(bytes: &[u8], correlation: usize, graph_node: usize) -> Option<ActivityRecord> {
    Some(ActivityRecord::Copy(CopyRecord {
        span: copy_span(bytes, correlation, graph_node)?,
        kind: copy_kind(*bytes.get(4)?),
        bytes: u64_at(bytes, 8)?,
        is_pageable: [bytes.get(5)?, bytes.get(6)?].contains(&&PAGEABLE),
        is_async: bytes.get(7)? & ASYNC != 0,
    }))
}

/// `CUpti_ActivityMemset4` and later.
fn memset(bytes: &[u8]) -> Option<ActivityRecord> {
    Some(ActivityRecord::Copy(CopyRecord {
        span: copy_span(bytes, 44, 64)?,
        kind: CopyKind::Memset,
        bytes: u64_at(bytes, 8)?,
        is_pageable: u16_at(bytes, 50)? == u16::from(PAGEABLE),
        is_async: u16_at(bytes, 48)? & u16::from(ASYNC) != 0,
    }))
}

/// `CUpti_ActivityMemory3` and later; `None` if it is truncated.
fn memory(bytes: &[u8]) -> Option<Parsed> {
    let (operation, kind) = (u32_at(bytes, 4)?, u32_at(bytes, 8)?);
    let device = u32_at(bytes, 52)?;
    let record = |operation, kind| {
        let has_device = kind != MemoryKind::Pinned;
        Some(MemoryRecord {
            operation,
            space: MemorySpace {
                kind,
                device: has_device.then_some(device),
            },
            correlation: u32_at(bytes, 12)?,
            address: u64_at(bytes, 16)?,
            bytes: u64_at(bytes, 24)?,
            time: u64_at(bytes, 32)?,
        })
    };
    let operation = match operation {
        1 => MemoryOperation::Allocate,
        2 => MemoryOperation::Free,
        _ => return Some(Parsed::Undefined),
    };
    // `CUpti_ActivityMemoryKind`: pinned; device, array, static; managed, static.
    let kind = match kind {
        2 => MemoryKind::Pinned,
        3 | 4 | 6 => MemoryKind::Device,
        5 | 7 => MemoryKind::Managed,
        // Unknown and pageable memory: of no CUDA call.
        0 | 1 => return Some(Parsed::Skipped),
        _ => return Some(Parsed::Undefined),
    };
    let record = record(operation, kind)?;
    Some(match record.time {
        0 => Parsed::Unstamped,
        _ => Parsed::Memory(record),
    })
}

/// `CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE`.
const PAGEABLE: u8 = 1;
/// `CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC` and `CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC`.
const ASYNC: u8 = 1;

fn copy_span(bytes: &[u8], correlation: usize, graph_node: usize) -> Option<ActivitySpan> {
    Some(ActivitySpan {
        start: u64_at(bytes, 16)?,
        end: u64_at(bytes, 24)?,
        device: u32_at(bytes, 32)?,
        context: u32_at(bytes, 36)?,
        stream: u32_at(bytes, 40)?,
        correlation: u32_at(bytes, correlation)?,
        graph_node: u64_at(bytes, graph_node)?,
    })
}

/// `CUpti_ActivityMemcpyKind`.
fn copy_kind(kind: u8) -> CopyKind {
    match kind {
        1 => CopyKind::HtoD,
        2 => CopyKind::DtoH,
        3 => CopyKind::HtoA,
        4 => CopyKind::AtoH,
        5 => CopyKind::AtoA,
        6 => CopyKind::AtoD,
        7 => CopyKind::DtoA,
        8 => CopyKind::DtoD,
        9 => CopyKind::HtoH,
        10 => CopyKind::PtoP,
        _ => CopyKind::Unknown,
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes_at(bytes, offset).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes_at(bytes, offset).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes_at(bytes, offset).map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests;
