//! What the GPU has passed of what has come to the resolver from the threads of one stream.

use crate::gpu::driver::handles::Event;
use crate::gpu::driver::table::{Driver, Failed, NOT_READY};
use crate::gpu::events::span::Step;
use crate::gpu::resolver::complete;
use crate::gpu::resolver::source::{EndElsewhere, Source};

/// The next thing that happened on the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    /// The place of the thread among those that use the stream.
    pub(super) source: usize,
    pub(super) step: Step,
    /// Time since the `Next` before it, ns. `None`: not read yet.
    pub(super) since_ns: Option<u64>,
    /// It is the end of a span, on another thread than it began on.
    pub(super) is_elsewhere: bool,
}

/// How many steps of the only thread of a stream the GPU has passed. Newest first: one query tells
/// of all before it. Each query holds up whoever records in the context, so there are as few as can
/// be: what was new at the look before tells of nearly all.
pub(super) fn in_order(source: &Source, driver: &Driver) -> usize {
    let steps = &source.steps;
    // The latest end among so many steps, and whether the GPU has passed it. What fails is
    // resolved, as a failure.
    let passed = |count: usize| {
        let mut before = steps.iter().take(count).rev();
        let end = before.find_map(|step| match step {
            Step::End(end) => Some(end.event),
            _ => None,
        });
        let query = |event| complete::has_passed(driver, &source.shared, source.is_held(), event);
        end.is_none_or(|event| query(event).unwrap_or(true))
    };
    if !source.has_pending() {
        return 0;
    }
    let all = steps.len();
    if passed(all) {
        return all;
    }
    let older = source.older.min(all);
    let is_end = |step: &Step| matches!(step, Step::End(_));
    if older < all && steps.iter().take(older).any(is_end) && passed(older) {
        return older;
    }
    let first = steps.iter().position(is_end).map_or(all, |at| at + 1);
    if first >= all || !passed(first) {
        return 0;
    }
    // Between the first end and all steps.
    let (mut low, mut high) = (first, all);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match passed(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// What the GPU has passed, of what had come from the threads of a stream before this look, in the
/// order of the stream: each with its time from some event, ns, where it could be read.
pub(super) fn by_time(
    sources: &[Source],
    elsewhere: &[EndElsewhere],
    driver: &Driver,
) -> Vec<(Option<i64>, Next)> {
    let mut base = None;
    let mut time = |source: &Source, held: bool, event: Event| {
        let from = base.unwrap_or(event);
        let offset = complete::offset_ns(driver, &source.shared, held, from, event);
        if offset.is_ok() {
            base = Some(from);
        }
        offset
    };
    let mut passed = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let mut latest_ns = None;
        for &step in source.steps.iter().take(source.older) {
            let offset = match step {
                Step::Start(start) => Some(time(source, source.is_held(), start.pair.start)),
                Step::End(end) => Some(time(source, source.is_held(), end.event)),
                Step::Cancel(_) => None,
            };
            match offset {
                Some(Ok(ns)) => latest_ns = latest_ns.max(Some(ns)),
                Some(Err(Failed(NOT_READY))) => break,
                // What cannot be read is resolved, as a failure.
                Some(Err(_)) | None => {}
            }
            let next = Next {
                source: at,
                step,
                since_ns: None,
                is_elsewhere: false,
            };
            passed.push((latest_ns, next));
        }
    }
    for ended in elsewhere.iter().filter(|ended| ended.is_older) {
        let Some(source) = sources.get(ended.source) else {
            continue;
        };
        let offset = time(source, true, ended.end.event);
        if offset != Err(Failed(NOT_READY)) {
            let next = Next {
                source: ended.source,
                step: Step::End(ended.end),
                since_ns: None,
                is_elsewhere: true,
            };
            passed.push((Some(offset.unwrap_or(i64::MAX)), next));
        }
    }
    // Stable: what a thread recorded stays in order.
    passed.sort_by_key(|(ns, _)| *ns);
    passed
}
