//! The lines about memory: its peak above the report, and what the figures are of below the table.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::number::{self, total};
use super::words::{self, DIM, PLAIN, Paragraph};
use crate::profile::{Memory, MemoryKind, MemoryUse, Profile};
use crate::sanitize;
use crate::sorting::sort_by_key;

/// The lines below the table.
#[cfg(feature = "html")]
pub(super) fn remarks(profile: &Profile) -> Vec<Paragraph> {
    let Some(memory) = &profile.memory else {
        return Vec::new();
    };
    let functions = profile.functions.iter();
    let of_functions = functions.flat_map(|function| &function.memory);
    let has_rows = of_functions.chain(&memory.outside).next().is_some();
    let explained = has_rows.then(explained);
    explained.into_iter().chain(losses(memory)).collect()
}

/// What the figures are of, and what they cannot have.
pub(super) fn explained() -> Paragraph {
    Paragraph::new(
        DIM,
        "Memory: nested functions are included in Allocated, Freed and Net, and not in Self, Live \
         and Peak growth. Live is what the process has not freed, by the function that allocated \
         it; memory in statics is always live. Not recorded: memory that a pool of a framework \
         hands out without a CUDA call, cuMemCreate, and what was allocated before recording \
         began.",
    )
}

/// What is missing or inexact.
pub(super) fn losses(memory: &Memory) -> Option<Paragraph> {
    let size = |bytes| number::size(bytes).text();
    let frees = match memory.unknown_frees {
        1 => "free of",
        _ => "frees of",
    };
    let losses = [
        (
            memory.unknown_frees,
            Cow::from(format!(
                "{frees} {} whose allocation was not recorded",
                size(memory.unknown_freed_bytes)
            )),
        ),
        (memory.missed_frees, "frees that were not recorded".into()),
        (
            memory.untracked_allocations,
            Cow::from(format!(
                "live allocations of {} beyond the table, missing from the functions' live \
                 memory",
                size(memory.untracked_bytes)
            )),
        ),
        (
            memory.late_records,
            "records late: the peak may be inexact".into(),
        ),
        (
            memory.records_without_call,
            "records of unknown calls, counted as outside any profiled function".into(),
        ),
    ];
    words::losses("memory:", losses)
}

/// GPUs and kinds of memory whose peak is listed one by one.
const LISTED_USES: usize = 8;

/// The most that was live at once and what is live, for the lines above the report: of many GPUs
/// the largest peaks.
pub(super) fn header(profile: &Profile) -> Option<Paragraph> {
    let memory = profile.memory.as_ref()?;
    let several = memory.uses.iter().filter(|of| of.device.is_some()).count() > 1;
    let mut words = Paragraph::new(DIM, "Memory:");
    let mut uses: Vec<&MemoryUse> = memory.uses.iter().collect();
    if uses.len() > LISTED_USES {
        sort_by_key(&mut uses, |of| Reverse(of.peak_bytes));
    }
    let others = uses.split_off(LISTED_USES.min(uses.len()));
    let last = uses.len().checked_sub(1)?;
    for (index, of) in uses.into_iter().enumerate() {
        if let Some(device) = of.device.filter(|_| several) {
            words.add_one(PLAIN, format!("GPU {device}"));
        }
        if of.kind != MemoryKind::Device {
            words.add(PLAIN, of.kind.as_str());
        }
        let peak = number::size(of.peak_bytes).text();
        words.add_one(PLAIN, format!("peak {peak}"));
        let mut devices = profile.devices.iter();
        let device = devices.find(|device| Some(device.ordinal) == of.device);
        let limit = device.and_then(|device| device.memory_bytes);
        // Managed memory may be larger than the device's.
        if let Some(limit) = limit.filter(|_| of.kind == MemoryKind::Device) {
            let limit = number::size(limit).text();
            words.add_one(PLAIN, format!("of {limit}"));
        }
        if let Some(name) = &of.peak_function {
            let name = sanitize::name(name);
            words.add_one(PLAIN, format!("in {name}"));
        }
        let live = number::size(of.live_bytes).text();
        words.then(",").add_one(PLAIN, format!("live {live}"));
        if index < last || !others.is_empty() {
            words.then(";");
        }
    }
    if let Some(largest) = others.first() {
        let peak = number::size(largest.peak_bytes).text();
        let live = number::size(total(others.iter().map(|of| of.live_bytes))).text();
        let count = number::count(others.len() as u64).text();
        words.add_one(PLAIN, format!("{count} others: peak up to {peak}"));
        words.then(",").add_one(PLAIN, format!("live {live}"));
    }
    Some(words)
}
