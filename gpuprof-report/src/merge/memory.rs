//! Memory of several profiles.

use super::totals::{add, add_option};
use crate::profile::{FunctionMemory, Memory, MemoryUse, PoolMemory};

/// Adds the memory of a profile, whose devices have new ordinals. A peak is that of the process
/// with the most: those of several processes may have been at different times.
pub(super) fn add_memory(
    sum: &mut Option<Memory>,
    more: &Option<Memory>,
    ordinal: impl Fn(u32) -> u32,
) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_with(|| Memory {
        source: more.source,
        ..Memory::default()
    });
    for of in &more.uses {
        let device = of.device.map(&ordinal);
        let known = sum.uses.iter_mut();
        let known = known.filter(|known| (known.kind, known.device) == (of.kind, device));
        match known.last() {
            Some(known) => add_use(known, of),
            None => sum.uses.push(MemoryUse {
                device,
                ..of.clone()
            }),
        }
    }
    sum.uses.sort_by_key(|of| (of.kind, of.device));
    add_function_memory(&mut sum.outside, &more.outside);
    add(&mut sum.unknown_frees, more.unknown_frees);
    add(&mut sum.unknown_freed_bytes, more.unknown_freed_bytes);
    add(&mut sum.missed_frees, more.missed_frees);
    add(&mut sum.untracked_allocations, more.untracked_allocations);
    add(&mut sum.untracked_bytes, more.untracked_bytes);
    add(&mut sum.late_records, more.late_records);
    add(&mut sum.records_without_call, more.records_without_call);
}

fn add_use(sum: &mut MemoryUse, more: &MemoryUse) {
    sum.totals.add(&more.totals);
    add(&mut sum.live_allocations, more.live_allocations);
    add(&mut sum.live_bytes, more.live_bytes);
    if more.peak_bytes > sum.peak_bytes {
        sum.peak_bytes = more.peak_bytes;
        sum.peak_function.clone_from(&more.peak_function);
    }
    add_option(&mut sum.reserved_bytes, more.reserved_bytes);
    sum.peak_reserved_bytes = sum.peak_reserved_bytes.max(more.peak_reserved_bytes);
}

/// Adds the memory of a function, by kind.
pub(super) fn add_function_memory(sum: &mut Vec<FunctionMemory>, more: &[FunctionMemory]) {
    for of in more {
        let Some(known) = sum.iter_mut().find(|known| known.kind == of.kind) else {
            // A profile of another program may repeat a kind, but there are few of them.
            sum.push(*of);
            continue;
        };
        known.inclusive.add(&of.inclusive);
        known.exclusive.add(&of.exclusive);
        add(&mut known.live_allocations, of.live_allocations);
        add(&mut known.live_bytes, of.live_bytes);
        add(&mut known.peak_growth_bytes, of.peak_growth_bytes);
    }
    sum.sort_by_key(|of| of.kind);
}

/// Adds what a function changed in the pools.
pub(super) fn add_pool_memory(sum: &mut Option<PoolMemory>, more: &Option<PoolMemory>) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_default();
    add(&mut sum.calls, more.calls);
    add(&mut sum.grown_bytes, more.grown_bytes);
    add(&mut sum.shrunk_bytes, more.shrunk_bytes);
    add(&mut sum.peak_growth_bytes, more.peak_growth_bytes);
}
