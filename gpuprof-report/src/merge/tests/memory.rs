//! Memory of ranks: totals add up, and a peak is that of the rank with the most.

use crate::merge::Merger;
use crate::profile::{
    Device, Function, FunctionMemory, Memory, MemoryKind, MemoryTotals, MemoryUse, Profile,
};

fn totals(allocations: u64, frees: u64) -> MemoryTotals {
    MemoryTotals {
        allocations,
        allocated_bytes: allocations * 100,
        frees,
        freed_bytes: frees * 100,
    }
}

fn memory(allocations: u64, frees: u64) -> FunctionMemory {
    FunctionMemory {
        kind: MemoryKind::Device,
        inclusive: totals(allocations, frees),
        exclusive: totals(allocations, 0),
        live_allocations: allocations - frees,
        live_bytes: (allocations - frees) * 100,
        peak_growth_bytes: 7,
    }
}

/// A rank with its own GPU, which it calls 0.
fn rank(uuid: &str, allocations: u64, peak_bytes: u64, pinned: bool) -> Profile {
    let of_device = MemoryUse {
        kind: MemoryKind::Device,
        device: Some(0),
        totals: totals(allocations, 1),
        live_bytes: 11,
        peak_bytes,
        peak_function: Some(format!("on {uuid}")),
        ..MemoryUse::default()
    };
    let of_host = MemoryUse {
        kind: MemoryKind::Pinned,
        live_bytes: 5,
        peak_bytes,
        ..MemoryUse::default()
    };
    Profile {
        devices: vec![Device {
            uuid: uuid.into(),
            ..Device::default()
        }],
        functions: vec![Function {
            name: "step".into(),
            calls: 1,
            memory: vec![memory(allocations, 1)],
            ..Function::default()
        }],
        memory: Some(Memory {
            uses: if pinned {
                vec![of_device, of_host]
            } else {
                vec![of_device]
            },
            outside: vec![memory(2, 2)],
            unknown_frees: 1,
            ..Memory::default()
        }),
        ..Profile::default()
    }
}

fn merged(ranks: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    ranks.iter().for_each(|rank| merger.add(rank));
    merger.finish()
}

#[test]
fn totals_add_up_and_each_gpu_has_its_peak() {
    let ranks = [
        rank("GPU-a", 3, 500, true),
        rank("GPU-b", 4, 900, true),
        rank("GPU-b", 5, 700, false),
    ];
    let merged = merged(&ranks);
    let all = merged.memory.unwrap();
    let uses: Vec<_> = (all.uses.iter())
        .map(|of| (of.kind, of.device, of.totals.allocations, of.peak_bytes))
        .collect();
    let expected = [
        (MemoryKind::Device, Some(0), 3, 500),
        (MemoryKind::Device, Some(1), 9, 900),
        (MemoryKind::Pinned, None, 0, 900),
    ];
    assert_eq!(uses, expected);
    assert_eq!(all.uses[1].peak_function.as_deref(), Some("on GPU-b"));
    assert_eq!((all.uses[1].live_bytes, all.unknown_frees), (22, 3));
    let [step] = merged.functions[0].memory[..] else {
        panic!("one kind");
    };
    assert_eq!(step.inclusive, totals(12, 3));
    assert_eq!((step.live_bytes, step.peak_growth_bytes), (900, 21));
    assert_eq!(all.outside[0].inclusive, totals(6, 6));
}

#[test]
fn profiles_without_memory_leave_that_of_the_others() {
    let other = Profile::default();
    let merged = merged(&[other.clone(), rank("GPU-a", 3, 500, false), other]);
    assert_eq!(merged.memory.unwrap().uses[0].peak_bytes, 500);
}
