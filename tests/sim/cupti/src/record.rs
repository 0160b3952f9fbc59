//! Records in CUPTI's binary layout (`cupti_activity.h`, checked by compiling against CUDA 12.0,
//! 12.9 and 13.5: the fields written here have the same offsets in all of them).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use simbase::activity::{Activity, ActivityKind, MemoryKind, MemoryLocation};

use crate::control::InvalidStamps;
use crate::kinds;
use crate::record_sizes::Version;

/// The time stamps of kernels, copies and memsets.
const START: usize = 16;
const END: usize = 24;

/// A record on its way to a buffer.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) kind: u32,
    pub(crate) bytes: Vec<u8>,
    /// When its activity or call is over, in ns of the driver's clock.
    pub(crate) ends_at: u64,
}

/// The call that caused an activity.
#[derive(Clone, Copy)]
pub(crate) struct Cause {
    pub(crate) correlation: u32,
    pub(crate) asynchronous: bool,
}

/// A driver or runtime call.
pub(crate) struct ApiCall {
    pub(crate) kind: u32,
    pub(crate) cbid: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) result: i32,
    pub(crate) correlation: u32,
}

impl Record {
    fn new(version: Version, kind: u32, ends_at: u64) -> Record {
        let mut bytes = vec![0; version.size(kind).unwrap_or(0)];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        Record {
            kind,
            bytes,
            ends_at,
        }
    }

    pub(crate) fn api(version: Version, api: &ApiCall) -> Record {
        let mut record = Record::new(version, api.kind, api.end);
        // CUPTI's thread ids are these, truncated to 32 bits.
        // SAFETY: it has no preconditions.
        let thread = unsafe { libc::pthread_self() } as u32;
        record.write_u32s(4, &[api.cbid]);
        record.write_u64s(8, &[api.start, api.end]);
        record.write_u32s(24, &[std::process::id(), thread, api.correlation]);
        record.write_u32s(36, &[api.result as u32]);
        record
    }

    /// An external id that is pushed during a call.
    pub(crate) fn external(version: Version, kind: u32, id: u64, correlation: u32) -> Record {
        let mut record = Record::new(version, kinds::EXTERNAL_CORRELATION, 0);
        record.write_u32s(4, &[kind]);
        record.write_u64s(8, &[id]);
        record.write_u32s(16, &[correlation]);
        record
    }

    /// `activity` as a record of `kind`.
    pub(crate) fn activity(
        version: Version,
        kind: u32,
        activity: &Activity,
        cause: Cause,
    ) -> Record {
        let mut record = Record::new(version, kind, activity.end);
        match activity.kind {
            ActivityKind::Kernel { .. } => record.write_kernel(activity, cause),
            ActivityKind::Copy { bytes, from, to } => {
                record.write_copy(activity, cause, bytes, [from, to])
            }
            ActivityKind::Memset { bytes, value, to } => {
                record.write_size_and_times(activity, bytes);
                record.write_u32s(4, &[value]);
                record.write_u32s(44, &[cause.correlation]);
                record.write_u16s(48, &[u16::from(cause.asynchronous), to.kind as u16]);
                record.write_node(activity, 64);
            }
            ActivityKind::Memory { .. } => record.write_memory(activity, cause),
            ActivityKind::Wait { kind, event } => {
                record.write_u32s(4, &[kind as u32]);
                record.write_u64s(8, &[activity.start, activity.end]);
                let ids = [cause.correlation, activity.context, activity.stream, event];
                record.write_u32s(24, &ids);
            }
        }
        record
    }

    /// Makes the time stamps of a kernel invalid.
    pub(crate) fn corrupt(&mut self, stamps: InvalidStamps) {
        let (start, end) = (self.u64(START), self.u64(END));
        let (start, end) = match stamps {
            InvalidStamps::Zero => (0, 0),
            InvalidStamps::Reversed => (end.max(start + 1), start),
        };
        self.write_u64s(START, &[start, end]);
    }

    /// A forced flush returns unfinished work without time stamps.
    pub(crate) fn clear_stamps(&mut self) {
        self.write_u64s(START, &[0, 0]);
    }

    fn write_kernel(&mut self, activity: &Activity, cause: Cause) {
        let ActivityKind::Kernel {
            name,
            grid,
            block,
            registers,
            static_shared,
            dynamic_shared,
            local,
            ..
        } = activity.kind
        else {
            return;
        };
        self.write_u16s(6, &[registers as u16]);
        // The third is `completed`.
        self.write_u64s(START, &[activity.start, activity.end, activity.end]);
        self.write_u32s(40, &[activity.device, activity.context, activity.stream]);
        self.write_u32s(52, &grid);
        self.write_u32s(64, &block);
        self.write_u32s(76, &[static_shared, dynamic_shared, local]);
        self.write_u32s(92, &[cause.correlation]);
        self.write_u64s(104, &[static_address(name.text())]);
        self.write_u32s(140, &[static_shared + dynamic_shared]);
        self.write_u64s(144, &[activity.node]);
        self.write_u32s(156, &[graph(activity)]);
    }

    fn write_copy(
        &mut self,
        activity: &Activity,
        cause: Cause,
        bytes: u64,
        locations: [MemoryLocation; 2],
    ) {
        let [from, to] = locations;
        self.write_size_and_times(activity, bytes);
        let kind = copy_kind(locations);
        let flags = u8::from(cause.asynchronous);
        self.bytes[4..8].copy_from_slice(&[kind, from.kind as u8, to.kind as u8, flags]);
        if self.kind == kinds::MEMCPY2 {
            self.write_u32s(44, &[from.device]);
            self.write_u32s(52, &[to.device]);
            self.write_u32s(60, &[cause.correlation]);
            self.write_node(activity, 72);
        } else {
            self.write_u32s(44, &[cause.correlation]);
            self.write_node(activity, 64);
            if self.bytes.len() >= 96 {
                self.write_u64s(88, &[1]);
            }
        }
    }

    fn write_memory(&mut self, activity: &Activity, cause: Cause) {
        let ActivityKind::Memory {
            is_allocation,
            address,
            bytes,
            location,
        } = activity.kind
        else {
            return;
        };
        let operation = if is_allocation { 1 } else { 2 };
        self.write_u32s(4, &[operation, location.kind as u32, cause.correlation]);
        self.write_u64s(16, &[address, bytes, activity.start]);
        self.write_u32s(48, &[std::process::id(), activity.device]);
        self.write_u32s(56, &[activity.context, activity.stream]);
        self.write_u32s(72, &[u32::from(cause.asynchronous)]);
    }

    /// The fields that copies and memsets share.
    fn write_size_and_times(&mut self, activity: &Activity, bytes: u64) {
        self.write_u64s(8, &[bytes, activity.start, activity.end]);
        self.write_u32s(32, &[activity.device, activity.context, activity.stream]);
    }

    fn write_node(&mut self, activity: &Activity, at: usize) {
        self.write_u64s(at, &[activity.node]);
        self.write_u32s(at + 8, &[graph(activity)]);
    }

    fn write_u16s(&mut self, at: usize, values: &[u16]) {
        for (index, value) in values.iter().enumerate() {
            self.bytes[at + 2 * index..][..2].copy_from_slice(&value.to_ne_bytes());
        }
    }

    fn write_u32s(&mut self, at: usize, values: &[u32]) {
        for (index, value) in values.iter().enumerate() {
            self.bytes[at + 4 * index..][..4].copy_from_slice(&value.to_ne_bytes());
        }
    }

    fn write_u64s(&mut self, at: usize, values: &[u64]) {
        for (index, value) in values.iter().enumerate() {
            self.bytes[at + 8 * index..][..8].copy_from_slice(&value.to_ne_bytes());
        }
    }

    fn u64(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_ne_bytes(bytes)
    }
}

/// `CUpti_ActivityMemcpyKind` by the two memories.
fn copy_kind([from, to]: [MemoryLocation; 2]) -> u8 {
    let host = |location: MemoryLocation| {
        matches!(location.kind, MemoryKind::Pageable | MemoryKind::Pinned)
    };
    match (host(from), host(to)) {
        (true, true) => 9,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) if from.device != to.device => 10,
        (false, false) => 8,
    }
}

/// The id of a node's graph.
fn graph(activity: &Activity) -> u32 {
    (activity.node >> 32) as u32
}

/// The address of `name` as a C string that is never freed.
fn static_address(name: &'static str) -> u64 {
    static NAMES: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let leak = || CString::new(name).map_or(0, |name| name.into_raw() as usize);
    *names.entry(name).or_insert_with(leak) as u64
}
