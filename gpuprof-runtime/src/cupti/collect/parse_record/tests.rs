//! Hand-made records in the layouts of CUDA 12.0, 12.9 and 13.5. Sizes and offsets are those that a
//! C compiler reports for the headers of each.

use super::{Parsed, parse};
use crate::cupti::collect::kernel_symbol::KernelSymbol;
use crate::cupti::collect::record::{
    ActivityRecord, ActivitySpan, CopyRecord, KernelRecord, LaunchShape, MemoryOperation,
    MemoryRecord, MemorySpace,
};
use gpuprof_report::profile::{CopyKind, MemoryKind};

/// Record sizes in bytes.
struct Layout {
    kernel: usize,
    memcpy: usize,
    memset: usize,
}

/// CUDA 12.0, 12.9 and 13.5.
const LAYOUTS: [Layout; 3] = [
    Layout {
        kernel: 208,
        memcpy: 88,
        memset: 88,
    },
    Layout {
        kernel: 208,
        memcpy: 96,
        memset: 88,
    },
    Layout {
        kernel: 248,
        memcpy: 112,
        memset: 104,
    },
];
const MEMCPY_PTOP: usize = 96;

/// Bytes of a record. Every byte that is not written is noise.
struct Bytes(Vec<u8>);

impl Bytes {
    fn new(size: usize, kind: u32) -> Self {
        Self(vec![0xa5; size]).put(0, kind.to_ne_bytes())
    }

    fn put<const N: usize>(mut self, offset: usize, bytes: [u8; N]) -> Self {
        self.0[offset..offset + N].copy_from_slice(&bytes);
        self
    }

    fn u8(self, offset: usize, value: u8) -> Self {
        self.put(offset, [value])
    }

    fn u16(self, offset: usize, value: u16) -> Self {
        self.put(offset, value.to_ne_bytes())
    }

    fn u32(self, offset: usize, value: u32) -> Self {
        self.put(offset, value.to_ne_bytes())
    }

    fn u64(self, offset: usize, value: u64) -> Self {
        self.put(offset, value.to_ne_bytes())
    }

    fn parsed(&self) -> Parsed {
        parse(&self.0, symbol)
    }
}

fn symbol(address: usize) -> KernelSymbol {
    format!("kernel at {address}").as_str().into()
}

const SPAN: ActivitySpan = ActivitySpan {
    start: 1_700_000_000_000_000_100,
    end: 1_700_000_000_000_002_600,
    device: 1,
    context: 2,
    stream: 7,
    correlation: 4_000_000_001,
    graph_node: 3 << 32 | 5,
};

fn kernel(size: usize) -> Bytes {
    let mut bytes = Bytes::new(size, 10)
        .u16(6, 40)
        .u64(16, SPAN.start)
        .u64(24, SPAN.end)
        .u32(40, SPAN.device)
        .u32(44, SPAN.context)
        .u32(48, SPAN.stream)
        .u32(76, 1_024)
        .u32(80, 2_048)
        .u32(84, 96)
        .u32(92, SPAN.correlation)
        .u64(104, 64)
        .u64(144, SPAN.graph_node);
    for (at, value) in [(52, 100), (56, 2), (60, 3), (64, 256), (68, 4), (72, 5)] {
        bytes = bytes.u32(at, value);
    }
    bytes
}

/// A memcpy or memset, or with other offsets for two fields a copy between devices.
fn copy(size: usize, kind: u32, correlation: usize, graph_node: usize) -> Bytes {
    Bytes::new(size, kind)
        .u64(8, 4_096)
        .u64(16, SPAN.start)
        .u64(24, SPAN.end)
        .u32(32, SPAN.device)
        .u32(36, SPAN.context)
        .u32(40, SPAN.stream)
        .u32(correlation, SPAN.correlation)
        .u64(graph_node, SPAN.graph_node)
}

fn sides(bytes: Bytes, [kind, from, to, flags]: [u8; 4]) -> Bytes {
    bytes.u8(4, kind).u8(5, from).u8(6, to).u8(7, flags)
}

fn parsed_copy(bytes: &Bytes) -> CopyRecord {
    match bytes.parsed() {
        Parsed::Activity(ActivityRecord::Copy(copy)) => copy,
        other => panic!("{other:?}"),
    }
}

#[test]
fn kernels_of_every_version_are_decoded() {
    for layout in LAYOUTS {
        let bytes = kernel(layout.kernel);
        let expected = KernelRecord {
            span: SPAN,
            symbol: "kernel at 64".into(),
            shape: LaunchShape {
                grid: [100, 2, 3],
                block: [256, 4, 5],
                dynamic_shared_bytes: 2_048,
                static_shared_bytes: 1_024,
                registers: 40,
                local_bytes_per_thread: 96,
            },
        };
        assert_eq!(
            bytes.parsed(),
            Parsed::Activity(ActivityRecord::Kernel(expected))
        );
    }
}

#[test]
fn copies_and_memsets_of_every_version_are_decoded() {
    for layout in LAYOUTS {
        // From pinned memory to the device, asynchronous.
        let pinned = sides(copy(layout.memcpy, 1, 44, 64), [1, 2, 3, 1]);
        let expected = CopyRecord {
            span: SPAN,
            kind: CopyKind::HtoD,
            bytes: 4_096,
            is_pageable: false,
            is_async: true,
        };
        assert_eq!(parsed_copy(&pinned), expected);
        // From the device to pageable memory, blocking.
        let pageable = sides(copy(layout.memcpy, 1, 44, 64), [2, 3, 1, 0]);
        let expected = CopyRecord {
            kind: CopyKind::DtoH,
            is_pageable: true,
            is_async: false,
            ..expected
        };
        assert_eq!(parsed_copy(&pageable), expected);
        let memset = copy(layout.memset, 2, 44, 64).u16(48, 1).u16(50, 3);
        let expected = CopyRecord {
            kind: CopyKind::Memset,
            is_pageable: false,
            is_async: true,
            ..expected
        };
        assert_eq!(parsed_copy(&memset), expected);
    }
}

#[test]
fn a_copy_between_devices_has_other_offsets() {
    let bytes = sides(copy(MEMCPY_PTOP, 22, 60, 72), [10, 3, 3, 1]);
    let copy = parsed_copy(&bytes);
    assert_eq!((copy.kind, copy.span), (CopyKind::PtoP, SPAN));
}

#[test]
fn zero_and_reversed_time_stamps_are_rejected() {
    for (start, end, expected) in [
        (0, 0, Parsed::Unstamped),
        (0, 5, Parsed::Unstamped),
        (5, 0, Parsed::Unstamped),
        (5, 4, Parsed::Reversed),
    ] {
        let records = [
            kernel(208).u64(16, start).u64(24, end),
            copy(88, 1, 44, 64).u64(16, start).u64(24, end),
        ];
        for bytes in records {
            assert_eq!(bytes.parsed(), expected, "{start} to {end}");
        }
    }
    // A duration of 0 is possible.
    let bytes = kernel(208).u64(16, 5).u64(24, 5);
    assert!(matches!(bytes.parsed(), Parsed::Activity(_)));
}

#[test]
fn unknown_kinds_and_truncated_records_are_skipped() {
    assert_eq!(Bytes::new(64, 60).parsed(), Parsed::Skipped);
    let whole = kernel(152);
    assert!(matches!(whole.parsed(), Parsed::Activity(_)));
    for length in 0..152 {
        assert_eq!(
            parse(&whole.0[..length], symbol),
            Parsed::Skipped,
            "{length}"
        );
    }
}

/// `CUpti_ActivityMemory3` and `CUpti_ActivityMemory4`.
const MEMORY_SIZES: [usize; 2] = [120, 128];

fn memory(size: usize, operation: u32, kind: u32) -> Bytes {
    Bytes::new(size, 49)
        .u32(4, operation)
        .u32(8, kind)
        .u32(12, SPAN.correlation)
        .u64(16, 0x7f00_0000_1000)
        .u64(24, 4_096)
        .u64(32, SPAN.start)
        .u32(52, 1)
}

#[test]
fn allocations_and_frees_of_every_version_are_decoded() {
    use MemoryKind::{Device, Managed, Pinned};

    let kinds = [
        (2, Pinned),
        (3, Device),
        (4, Device),
        (5, Managed),
        (6, Device),
        (7, Managed),
    ];
    let operations = [(1, MemoryOperation::Allocate), (2, MemoryOperation::Free)];
    for size in MEMORY_SIZES {
        for (number, kind) in kinds {
            for (code, operation) in operations {
                let expected = MemoryRecord {
                    operation,
                    space: MemorySpace {
                        kind,
                        device: (kind != Pinned).then_some(1),
                    },
                    address: 0x7f00_0000_1000,
                    bytes: 4_096,
                    time: SPAN.start,
                    correlation: SPAN.correlation,
                };
                let parsed = memory(size, code, number).parsed();
                assert_eq!(parsed, Parsed::Memory(expected), "{number} {code}");
            }
        }
    }
}

#[test]
fn memory_that_cupti_does_not_define_is_none() {
    let parsed = |operation, kind| memory(128, operation, kind).parsed();
    for (operation, kind) in [(0, 3), (3, 3), (1, 8), (u32::MAX, u32::MAX)] {
        assert_eq!(
            parsed(operation, kind),
            Parsed::Undefined,
            "{operation} {kind}"
        );
    }
    for unknown_or_pageable in [0, 1] {
        assert_eq!(parsed(1, unknown_or_pageable), Parsed::Skipped);
    }
    assert_eq!(memory(128, 1, 3).u64(32, 0).parsed(), Parsed::Unstamped);
    let truncated = Bytes(memory(128, 1, 3).0[..55].to_vec());
    assert_eq!(truncated.parsed(), Parsed::Skipped);
}
