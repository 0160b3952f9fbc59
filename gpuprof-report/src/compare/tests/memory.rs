//! Memory of both sides: a fact of the runs, and a note of the functions.

use crate::compare::{ComparisonOptions, compare, to_text};
use crate::profile::{Function, FunctionMemory, Memory, MemoryKind, MemoryUse, Profile, SpanStats};

fn run(peak_bytes: u64, allocated_bytes: u64) -> Profile {
    let mut of_device = MemoryUse {
        kind: MemoryKind::Device,
        peak_bytes,
        ..MemoryUse::default()
    };
    of_device.totals.allocated_bytes = allocated_bytes;
    let mut memory = FunctionMemory {
        kind: MemoryKind::Device,
        ..FunctionMemory::default()
    };
    memory.inclusive.allocated_bytes = allocated_bytes;
    let step = Function {
        name: "step".into(),
        calls: 3,
        cpu: SpanStats {
            total_ns: 3_000,
            self_ns: 3_000,
            mean_ns: 1_000,
            ..SpanStats::default()
        },
        memory: vec![memory],
        ..Function::default()
    };
    Profile {
        functions: vec![step],
        memory: Some(Memory {
            uses: vec![of_device],
            ..Memory::default()
        }),
        ..Profile::default()
    }
}

fn text(old: &[Profile], new: &[Profile]) -> String {
    to_text(&compare(old, new, &ComparisonOptions::default()), 10, false)
}

#[test]
fn more_memory_is_a_fact_of_the_runs_and_a_note_of_the_function() {
    let text = text(
        &[run(1_000_000, 5_000), run(1_000_000, 5_100)],
        &[run(1_500_000, 7_000), run(1_500_000, 7_000)],
    );
    assert!(
        text.contains("peak device memory: 1.00 MB → 1.50 MB"),
        "{text}"
    );
    assert!(
        text.contains("device memory allocated per run 5.10 kB → 7.00 kB"),
        "{text}"
    );
}

#[test]
fn runs_that_overlap_in_memory_have_no_note() {
    let text = text(
        &[run(1_000_000, 5_000), run(1_000_000, 7_500)],
        &[run(1_000_000, 7_000), run(1_000_000, 7_000)],
    );
    assert!(text.contains("peak device memory: 1.00 MB\n"), "{text}");
    assert!(!text.contains("allocated per run"), "{text}");
}

#[test]
fn a_comparison_without_memory_does_not_mention_it() {
    let without = |mut profile: Profile| {
        profile.memory = None;
        profile.functions[0].memory.clear();
        profile
    };
    let text = text(&[without(run(1, 1))], &[without(run(1, 1))]);
    assert!(!text.contains("memory"), "{text}");
}
