//! What the GPU has passed of what has come to the resolver from the threads of one stream.

use crate::driver::handles::Event;
use crate::driver::table::{Driver, FailedCall, NOT_READY};
use crate::gpu::events::span::SpanStep;
use crate::gpu::resolver::event_times;
use crate::gpu::resolver::span_receiver::{EndElsewhere, SpanReceiver};

/// After all others.
const LAST: Option<i64> = Some(i64::MAX);

/// The next thing that happened on the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    /// The place of the thread among those that use the stream.
    pub(super) source: usize,
    pub(super) step: SpanStep,
    /// Time since the `Next` before it, ns. `None`: not read yet.
    pub(super) since_ns: Option<u64>,
    /// It is the end of a span, on another thread than it began on.
    pub(super) is_elsewhere: bool,
    /// Its context is held.
    pub(super) is_held: bool,
}

impl Next {
    pub(super) fn new(source: usize, step: SpanStep, is_held: bool) -> Self {
        Self {
            source,
            step,
            since_ns: None,
            is_elsewhere: false,
            is_held,
        }
    }
}

/// How many steps of the only thread of a stream the GPU has passed. Newest first: one query tells
/// of all before it. Each query delays threads that record in the context, so there are as few as
/// possible: what was new at the previous poll tells of nearly all.
pub(super) fn in_order(source: &SpanReceiver, driver: &Driver) -> usize {
    let steps = &source.steps;
    // The latest end among so many steps, and whether the GPU has passed it. What fails is
    // resolved, as a failure.
    let passed = |count: usize| {
        let mut before = steps.iter().take(count).rev();
        let end = before.find_map(|step| match step {
            SpanStep::End(end) => Some(end.event),
            _ => None,
        });
        let query =
            |event| event_times::has_passed(driver, &source.shared, source.is_held(), event);
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
    let is_end = |step: &SpanStep| matches!(step, SpanStep::End(_));
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
        if passed(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// When a step happened, by `time`.
fn time_of(
    source: &SpanReceiver,
    step: SpanStep,
    time: &mut impl FnMut(&SpanReceiver, bool, Event) -> Result<Option<i64>, FailedCall>,
) -> Result<Option<i64>, FailedCall> {
    match step {
        SpanStep::Start(start) => time(source, source.is_held(), start.pair.start),
        SpanStep::End(end) => time(source, source.is_held(), end.event),
        SpanStep::Cancel(_) => Ok(None),
    }
}

/// What the GPU has passed, of what has come from the threads of a stream, in the order of the
/// stream: each with its time from some event, ns, where it could be read. The last one had come
/// before this look.
pub(super) fn by_time(
    sources: &[SpanReceiver],
    elsewhere: &[EndElsewhere],
    driver: &Driver,
) -> Vec<(Option<i64>, Next)> {
    let mut base = None;
    // `Ok(None)`: it cannot be read, and is resolved as a failure. `Err`: it is still to come.
    let mut time = |source: &SpanReceiver, held: bool, event: Event| {
        let from = base.unwrap_or(event);
        match event_times::offset_ns(driver, &source.shared, held, from, event) {
            Ok(ns) => {
                base = Some(from);
                Ok(Some(ns))
            }
            Err(failed @ FailedCall(NOT_READY)) => Err(failed),
            Err(_) => Ok(None),
        }
    };
    let mut passed: Vec<(Option<i64>, bool, Next)> = Vec::new();
    let mut latest: Vec<(usize, Option<i64>)> = vec![(0, None); sources.len()];
    let mut waiting: Vec<&EndElsewhere> = elsewhere.iter().collect();
    // Until one pass over all finds nothing more: as the GPU goes on meanwhile, what was not ready
    // may lie before what was found ready after it.
    loop {
        let before = passed.len();
        for (at, (source, (taken, latest_ns))) in sources.iter().zip(&mut latest).enumerate() {
            while *taken < source.older
                && let Some(&step) = source.steps.get(*taken)
                && let Ok(ns) = time_of(source, step, &mut time)
            {
                *latest_ns = (*latest_ns).max(ns);
                passed.push((*latest_ns, true, Next::new(at, step, source.is_held())));
                *taken += 1;
            }
        }
        waiting.retain(|ended| {
            let mut all = sources.iter().enumerate();
            let id = ended.end.key.thread_stream;
            let Some((at, source)) = all.find(|(_, source)| source.shared.id == id) else {
                return true;
            };
            let Ok(ns) = time(source, ended.is_held(), ended.end.event) else {
                return true;
            };
            let next = Next {
                is_elsewhere: true,
                ..Next::new(at, SpanStep::End(ended.end), ended.is_held())
            };
            passed.push((ns.or(LAST), ended.is_older, next));
            false
        });
        if passed.len() == before {
            break;
        }
    }
    // What may lie after something that has not come yet is left for the next look, and not read:
    // each read holds up the stream's threads.
    let older = passed.iter().filter(|(_, is_older, _)| *is_older);
    let Some(end) = older.map(|(ns, ..)| *ns).max() else {
        return Vec::new();
    };
    for (at, (source, (taken, latest_ns))) in sources.iter().zip(&mut latest).enumerate() {
        while *taken >= source.older
            && let Some(&step) = source.steps.get(*taken)
            && let Ok(ns) = time_of(source, step, &mut time)
            && ns <= end
        {
            *latest_ns = (*latest_ns).max(ns);
            passed.push((*latest_ns, false, Next::new(at, step, source.is_held())));
            *taken += 1;
        }
    }
    // Stable: what a thread recorded stays in order.
    passed.sort_by_key(|(ns, ..)| *ns);
    let older = passed.iter().rposition(|(_, is_older, _)| *is_older);
    passed.truncate(older.map_or(0, |last| last + 1));
    let passed = passed.into_iter();
    passed
        .map(|(ns, _, next)| (ns.filter(|_| ns != LAST), next))
        .collect()
}
