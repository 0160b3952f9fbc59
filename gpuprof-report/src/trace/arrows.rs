//! Arrows: from a CPU span to its GPU spans, and from a CUDA call to the activities it launched.

use super::rows::item_at;
use super::{Activity, ApiCall, Trace};

/// The arrows of one kind, by index of their ends.
pub(super) struct Arrows {
    /// Start and end, ascending.
    pairs: Vec<(u32, u32)>,
    /// The start for each end.
    starts: Vec<Option<u32>>,
}

impl Arrows {
    /// From CPU spans to GPU spans. Of several polls of one call the first has the arrow.
    pub(super) fn of_spans(trace: &Trace) -> Self {
        let mut calls: Vec<(u64, u64, u32)> = (0..)
            .zip(&trace.cpu_spans)
            .filter(|(_, span)| span.call != 0)
            .map(|(index, span)| (span.call, span.start_ns, index))
            .collect();
        calls.sort_unstable();
        Self::new(trace.gpu_spans.iter().map(|span| {
            let first = calls.partition_point(|&(call, ..)| call < span.call);
            let &(call, start_ns, index) = calls.get(first)?;
            (call == span.call && start_ns <= span.start_ns).then_some(index)
        }))
    }

    /// From CUDA calls to activities. CUPTI's numbers wrap: the last call of the number that began
    /// before the activity launched it.
    pub(super) fn of_launches(trace: &Trace) -> Self {
        let mut calls: Vec<(u32, u64, u32)> = (0..)
            .zip(&trace.api_calls)
            .filter(|(_, call)| call.correlation != 0)
            .map(|(index, call): (u32, &ApiCall)| (call.correlation, call.start_ns, index))
            .collect();
        calls.sort_unstable();
        Self::new(trace.activities.iter().map(|activity: &Activity| {
            let number = (activity.correlation, activity.start_ns);
            let after = calls.partition_point(|&(call, start_ns, _)| (call, start_ns) <= number);
            let &(correlation, _, index) = calls.get(after.checked_sub(1)?)?;
            (correlation == activity.correlation).then_some(index)
        }))
    }

    fn new(starts: impl Iterator<Item = Option<u32>>) -> Self {
        let starts: Vec<Option<u32>> = starts.collect();
        let ends = (0..).zip(&starts);
        let mut pairs: Vec<(u32, u32)> = ends
            .filter_map(|(end, start)| Some(((*start)?, end)))
            .collect();
        pairs.sort_unstable();
        Self { pairs, starts }
    }

    /// Where the arrow to this end begins; `None` if there is none.
    pub(super) fn start_of(&self, end: u32) -> Option<u32> {
        item_at(&self.starts, end).copied().flatten()
    }

    /// The ends of the arrows that begin here.
    pub(super) fn ends_of(&self, start: u32) -> impl Iterator<Item = u32> {
        let first = self.pairs.partition_point(|&(other, _)| other < start);
        let pairs = self.pairs.get(first..).unwrap_or_default().iter();
        pairs
            .take_while(move |&&(other, _)| other == start)
            .map(|&(_, end)| end)
    }
}

/// The number of an arrow: GPU spans and activities have one each.
pub(super) fn span_arrow(gpu_span: u32) -> u64 {
    2 * u64::from(gpu_span) + 1
}

/// As [`span_arrow`], for an activity.
pub(super) fn launch_arrow(activity: u32) -> u64 {
    2 * u64::from(activity) + 2
}
