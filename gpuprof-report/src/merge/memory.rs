//! Memory of several profiles.

use crate::figures::Sum;
use crate::profile::{FunctionMemory, Memory, MemoryUse};

/// Adds the memory of a profile, whose devices have new ordinals. A peak is that of the process
/// with the most: those of several processes may have been at different times.
pub(super) fn add_memory(
    sum: &mut Option<Memory>,
    more: &Option<Memory>,
    ordinal: impl Fn(u32) -> u32,
) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_default();
    sum.add(more);
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
}

fn add_use(sum: &mut MemoryUse, more: &MemoryUse) {
    sum.add(more);
    if more.peak_bytes > sum.peak_bytes {
        sum.peak_bytes = more.peak_bytes;
        sum.peak_function.clone_from(&more.peak_function);
    }
}

/// Adds the memory of a function, by kind.
pub(super) fn add_function_memory(sum: &mut Vec<FunctionMemory>, more: &[FunctionMemory]) {
    for of in more {
        let Some(known) = sum.iter_mut().find(|known| known.kind == of.kind) else {
            // A profile of another program may repeat a kind, but there are few of them.
            sum.push(*of);
            continue;
        };
        known.add(of);
    }
    sum.sort_by_key(|of| of.kind);
}
