//! Records, parsed by the offsets from compiling against CUPTI's headers.

use std::ffi::{CStr, c_char};

/// One activity record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    Kernel(Kernel),
    Copy(Copy),
    Peer(Peer),
    Set(Set),
    Memory(Memory),
    Wait(Wait),
    Call(Call),
    External(External),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) device: u32,
    pub(crate) context: u32,
    pub(crate) stream: u32,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) registers: u16,
    pub(crate) static_shared: u32,
    pub(crate) dynamic_shared: u32,
    pub(crate) local: u32,
    pub(crate) correlation: u32,
    pub(crate) node: u64,
    pub(crate) graph: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Copy {
    /// Direction, source memory, destination memory, flags.
    pub(crate) kinds: [u8; 4],
    pub(crate) bytes: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) stream: u32,
    pub(crate) correlation: u32,
    pub(crate) node: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Peer {
    /// As of a copy.
    pub(crate) kinds: [u8; 4],
    pub(crate) bytes: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Source and destination.
    pub(crate) devices: [u32; 2],
    pub(crate) correlation: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Set {
    pub(crate) value: u32,
    pub(crate) bytes: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) stream: u32,
    pub(crate) correlation: u32,
    pub(crate) flags: u16,
    pub(crate) memory: u16,
    pub(crate) node: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    /// 1 allocation, 2 free.
    pub(crate) operation: u32,
    pub(crate) kind: u32,
    pub(crate) correlation: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) at: u64,
    pub(crate) stream: u32,
    pub(crate) asynchronous: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    pub(crate) on: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) correlation: u32,
    pub(crate) stream: u32,
    pub(crate) event: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) kind: u32,
    pub(crate) cbid: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) correlation: u32,
    pub(crate) result: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct External {
    pub(crate) kind: u32,
    pub(crate) id: u64,
    pub(crate) correlation: u32,
}

impl Record {
    /// The record at `at`, from `cuptiActivityGetNextRecord`.
    pub(super) fn parse(at: *const u8) -> Record {
        let n16 = |offset: usize| u16::from_ne_bytes(read(at, offset));
        let n32 = |offset: usize| u32::from_ne_bytes(read(at, offset));
        let n64 = |offset: usize| u64::from_ne_bytes(read(at, offset));
        match n32(0) {
            10 => Record::Kernel(Kernel {
                name: text(n64(104)),
                start: n64(16),
                end: n64(24),
                device: n32(40),
                context: n32(44),
                stream: n32(48),
                grid: [n32(52), n32(56), n32(60)],
                block: [n32(64), n32(68), n32(72)],
                registers: n16(6),
                static_shared: n32(76),
                dynamic_shared: n32(80),
                local: n32(84),
                correlation: n32(92),
                node: n64(144),
                graph: n32(156),
            }),
            1 => Record::Copy(Copy {
                kinds: read(at, 4),
                bytes: n64(8),
                start: n64(16),
                end: n64(24),
                stream: n32(40),
                correlation: n32(44),
                node: n64(64),
            }),
            22 => Record::Peer(Peer {
                kinds: read(at, 4),
                bytes: n64(8),
                start: n64(16),
                end: n64(24),
                devices: [n32(44), n32(52)],
                correlation: n32(60),
            }),
            2 => Record::Set(Set {
                value: n32(4),
                bytes: n64(8),
                start: n64(16),
                end: n64(24),
                stream: n32(40),
                correlation: n32(44),
                flags: n16(48),
                memory: n16(50),
                node: n64(64),
            }),
            49 => Record::Memory(Memory {
                operation: n32(4),
                kind: n32(8),
                correlation: n32(12),
                address: n64(16),
                bytes: n64(24),
                at: n64(32),
                stream: n32(60),
                asynchronous: n32(72),
            }),
            38 => Record::Wait(Wait {
                on: n32(4),
                start: n64(8),
                end: n64(16),
                correlation: n32(24),
                stream: n32(32),
                event: n32(36),
            }),
            kind @ (4 | 5) => Record::Call(Call {
                kind,
                cbid: n32(4),
                start: n64(8),
                end: n64(16),
                process: n32(24),
                thread: n32(28),
                correlation: n32(32),
                result: n32(36),
            }),
            39 => Record::External(External {
                kind: n32(4),
                id: n64(8),
                correlation: n32(16),
            }),
            kind => panic!("a record of kind {kind}"),
        }
    }

    /// The correlation id.
    pub(crate) fn correlation(&self) -> u32 {
        match self {
            Record::Kernel(of) => of.correlation,
            Record::Copy(of) => of.correlation,
            Record::Peer(of) => of.correlation,
            Record::Set(of) => of.correlation,
            Record::Memory(of) => of.correlation,
            Record::Wait(of) => of.correlation,
            Record::Call(of) => of.correlation,
            Record::External(of) => of.correlation,
        }
    }

    /// K kernel, C copy, S memset, M memory, W wait, A API call, E external id.
    pub(crate) fn letter(&self) -> char {
        match self {
            Record::Kernel(_) => 'K',
            Record::Copy(_) | Record::Peer(_) => 'C',
            Record::Set(_) => 'S',
            Record::Memory(_) => 'M',
            Record::Wait(_) => 'W',
            Record::Call(_) => 'A',
            Record::External(_) => 'E',
        }
    }
}

/// The records of a buffer by their letters.
pub(crate) fn letters(buffer: &[Record]) -> String {
    buffer.iter().map(Record::letter).collect()
}

/// The kernels of these buffers, in order.
pub(crate) fn kernels(buffers: &[Vec<Record>]) -> Vec<Kernel> {
    let kernel = |record: &Record| match record {
        Record::Kernel(kernel) => Some(kernel.clone()),
        _ => None,
    };
    buffers.iter().flatten().filter_map(kernel).collect()
}

/// The API calls of these buffers, in order.
pub(crate) fn calls(buffers: &[Vec<Record>]) -> Vec<Call> {
    let call = |record: &Record| match record {
        Record::Call(call) => Some(call.clone()),
        _ => None,
    };
    buffers.iter().flatten().filter_map(call).collect()
}

fn read<const N: usize>(at: *const u8, offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: every offset that is read lies inside the record.
        let place = unsafe { at.add(offset + index) };
        // SAFETY: as above.
        *byte = unsafe { place.read() };
    }
    bytes
}

fn text(address: u64) -> String {
    let text = address as *const c_char;
    // SAFETY: a kernel's name is a text that is never freed.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}
