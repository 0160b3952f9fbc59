//! Records as libcupti of CUDA 12.0, 12.9 and 13.5 lays them out, made by hand: sizes and offsets are those that a C compiler
//! gives for the headers of each.

use std::sync::Arc;

use super::{Parsed, parse};
use crate::cupti::collect::record::{Copy, CopyKind, Kernel, Ran, Record};

/// Sizes of one version's records.
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

/// Bytes of a record, in which everything not written is noise.
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
        parse(&self.0, name)
    }
}

fn name(address: usize) -> Arc<str> {
    format!("kernel at {address}").into()
}

const RAN: Ran = Ran {
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
        .u64(16, RAN.start)
        .u64(24, RAN.end)
        .u32(40, RAN.device)
        .u32(44, RAN.context)
        .u32(48, RAN.stream)
        .u32(76, 1_024)
        .u32(80, 2_048)
        .u32(92, RAN.correlation)
        .u64(104, 64)
        .u64(144, RAN.graph_node);
    for (at, value) in [(52, 100), (56, 2), (60, 3), (64, 256), (68, 4), (72, 5)] {
        bytes = bytes.u32(at, value);
    }
    bytes
}

/// A memcpy, or with other places for two fields one between devices, or a memset.
fn copy(size: usize, kind: u32, correlation: usize, graph_node: usize) -> Bytes {
    Bytes::new(size, kind)
        .u64(8, 4_096)
        .u64(16, RAN.start)
        .u64(24, RAN.end)
        .u32(32, RAN.device)
        .u32(36, RAN.context)
        .u32(40, RAN.stream)
        .u32(correlation, RAN.correlation)
        .u64(graph_node, RAN.graph_node)
}

fn sides(bytes: Bytes, [kind, from, to, flags]: [u8; 4]) -> Bytes {
    bytes.u8(4, kind).u8(5, from).u8(6, to).u8(7, flags)
}

fn parsed_copy(bytes: &Bytes) -> Copy {
    match bytes.parsed() {
        Parsed::Record(Record::Copy(copy)) => copy,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kernel_is_read_whatever_version_wrote_it() {
    for layout in LAYOUTS {
        let bytes = kernel(layout.kernel);
        let expected = Kernel {
            ran: RAN,
            symbol: "kernel at 64".into(),
            grid: [100, 2, 3],
            block: [256, 4, 5],
            registers: 40,
            static_shared_bytes: 1_024,
            dynamic_shared_bytes: 2_048,
        };
        assert_eq!(bytes.parsed(), Parsed::Record(Record::Kernel(expected)));
    }
}

#[test]
fn copies_and_memsets_are_read_whatever_version_wrote_them() {
    for layout in LAYOUTS {
        // From pinned memory to the device, asynchronous.
        let pinned = sides(copy(layout.memcpy, 1, 44, 64), [1, 2, 3, 1]);
        let expected = Copy {
            ran: RAN,
            kind: CopyKind::HtoD,
            bytes: 4_096,
            pageable: false,
            is_async: true,
        };
        assert_eq!(parsed_copy(&pinned), expected);
        // From the device to pageable memory, blocking.
        let pageable = sides(copy(layout.memcpy, 1, 44, 64), [2, 3, 1, 0]);
        let expected = Copy {
            kind: CopyKind::DtoH,
            pageable: true,
            is_async: false,
            ..expected
        };
        assert_eq!(parsed_copy(&pageable), expected);
        let memset = copy(layout.memset, 2, 44, 64).u16(48, 1).u16(50, 3);
        let expected = Copy {
            kind: CopyKind::Memset,
            pageable: false,
            is_async: true,
            ..expected
        };
        assert_eq!(parsed_copy(&memset), expected);
    }
}

#[test]
fn a_copy_between_devices_has_its_ids_elsewhere() {
    let bytes = sides(copy(MEMCPY_PTOP, 22, 60, 72), [10, 3, 3, 1]);
    let copy = parsed_copy(&bytes);
    assert_eq!((copy.kind, copy.ran), (CopyKind::PtoP, RAN));
}

#[test]
fn stamps_of_zero_and_reversed_ones_are_no_times() {
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
    // That something took no time at all is possible.
    let bytes = kernel(208).u64(16, 5).u64(24, 5);
    assert!(matches!(bytes.parsed(), Parsed::Record(_)));
}

#[test]
fn unknown_kinds_and_cut_records_are_passed_over() {
    assert_eq!(Bytes::new(64, 60).parsed(), Parsed::Skipped);
    let whole = kernel(152);
    assert!(matches!(whole.parsed(), Parsed::Record(_)));
    for length in 0..152 {
        assert_eq!(parse(&whole.0[..length], name), Parsed::Skipped, "{length}");
    }
}
