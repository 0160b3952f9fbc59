//! Which row of the time line each event is drawn on. Within a row slices only nest: an event that
//! overlaps another without nesting goes to a further row of the same track.

use std::cmp::Reverse;
use std::io;

use super::Trace;

/// What has rows of its own. `None` stands for what the trace does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Track {
    /// Functions and CUDA calls of a thread (index).
    Thread(Option<u32>),
    /// Kernels, copies and memsets of a stream (index).
    Activities(Option<u32>),
    /// GPU spans of a stream (index).
    Spans(Option<u32>),
    /// Missing events of a thread (index); `None` for those of the GPU.
    Missing(Option<u32>),
}

/// An event, as index in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventIndex {
    CpuSpan(u32),
    ApiCall(u32),
    Activity(u32),
    GpuSpan(u32),
    Gap(u32),
}

/// An event on its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) track: Track,
    /// 0 for the track's first row.
    pub(crate) row: usize,
    pub(crate) event: EventIndex,
    pub(crate) start_ns: u64,
    /// Not before the start.
    pub(crate) end_ns: u64,
    /// The innermost CPU span (index) that it is nested in.
    pub(crate) enclosing: Option<u32>,
}

/// Takes the slices of a trace.
pub(crate) trait SliceSink {
    /// A slice begins: within a row in the order of time, and after the end of those before it.
    fn begin(&mut self, slice: &Slice) -> io::Result<()>;

    /// A slice ends, after those that are nested in it.
    fn end(&mut self, slice: &Slice) -> io::Result<()>;
}

/// Puts every event of the trace on a row, one track after another: threads first, then streams.
pub(crate) fn place_slices(trace: &Trace, sink: &mut dyn SliceSink) -> io::Result<()> {
    let events = sorted(trace);
    let mut tracks = events.chunk_by(|(left, _), (right, _)| left == right);
    tracks.try_for_each(|track| place_track(trace, track, sink))
}

/// The events by track and start, outer before inner.
fn sorted(trace: &Trace) -> Vec<(Track, EventIndex)> {
    let threads = trace.threads.len();
    let thread = |thread: Option<u32>| Track::Thread(listed(thread, threads));
    let stream = |stream: u32| listed(Some(stream), trace.streams.len());
    let cpu_spans = (0..).zip(&trace.cpu_spans);
    let api_calls = (0..).zip(&trace.api_calls);
    let activities = (0..).zip(&trace.activities);
    let gpu_spans = (0..).zip(&trace.gpu_spans);
    let gaps = (0..).zip(&trace.gaps);
    let mut events: Vec<(Track, EventIndex)> = cpu_spans
        .map(|(index, span)| (thread(Some(span.thread)), EventIndex::CpuSpan(index)))
        .chain(api_calls.map(|(index, call)| (thread(call.thread), EventIndex::ApiCall(index))))
        .chain(activities.map(|(index, activity)| {
            let track = Track::Activities(stream(activity.stream));
            (track, EventIndex::Activity(index))
        }))
        .chain(gpu_spans.map(|(index, span)| {
            let track = Track::Spans(stream(span.stream));
            (track, EventIndex::GpuSpan(index))
        }))
        .chain(gaps.map(|(index, gap)| {
            let track = Track::Missing(listed(gap.thread, threads));
            (track, EventIndex::Gap(index))
        }))
        .collect();
    events.sort_unstable_by_key(|&(track, event)| {
        let (start_ns, end_ns) = times(trace, event);
        (track, start_ns, Reverse(end_ns), event)
    });
    events
}

/// `index` if the list has it.
fn listed(index: Option<u32>, len: usize) -> Option<u32> {
    index.filter(|&index| usize::try_from(index).is_ok_and(|index| index < len))
}

/// Start and end of an event, ns; one that ends before it starts ends at its start.
fn times(trace: &Trace, event: EventIndex) -> (u64, u64) {
    let times = match event {
        EventIndex::CpuSpan(index) => {
            item_at(&trace.cpu_spans, index).map(|span| (span.start_ns, span.end_ns))
        }
        EventIndex::ApiCall(index) => {
            item_at(&trace.api_calls, index).map(|call| (call.start_ns, call.end_ns))
        }
        EventIndex::Activity(index) => {
            item_at(&trace.activities, index).map(|activity| (activity.start_ns, activity.end_ns))
        }
        EventIndex::GpuSpan(index) => {
            item_at(&trace.gpu_spans, index).map(|span| (span.start_ns, span.end_ns))
        }
        EventIndex::Gap(index) => item_at(&trace.gaps, index).map(|gap| (gap.start_ns, gap.end_ns)),
    };
    let (start_ns, end_ns) = times.unwrap_or_default();
    (start_ns, end_ns.max(start_ns))
}

/// The element of a list that an event refers to.
pub(crate) fn item_at<T>(list: &[T], index: u32) -> Option<&T> {
    list.get(usize::try_from(index).ok()?)
}

/// Puts each event on the first row on which it nests in what is open, or nothing is.
fn place_track(
    trace: &Trace,
    events: &[(Track, EventIndex)],
    sink: &mut dyn SliceSink,
) -> io::Result<()> {
    let mut rows: Vec<Vec<Slice>> = Vec::new();
    for &(track, event) in events {
        let (start_ns, end_ns) = times(trace, event);
        let mut row = 0;
        loop {
            let Some(open) = rows.get_mut(row) else {
                rows.push(Vec::new());
                continue;
            };
            close(open, start_ns, sink)?;
            if open.last().is_none_or(|outer| outer.end_ns >= end_ns) {
                let slice = Slice {
                    track,
                    row,
                    event,
                    start_ns,
                    end_ns,
                    enclosing: open.last().and_then(innermost_span),
                };
                sink.begin(&slice)?;
                open.push(slice);
                break;
            }
            row += 1;
        }
    }
    rows.iter_mut()
        .try_for_each(|open| close(open, u64::MAX, sink))
}

/// The CPU span that an event inside `outer` is nested in.
fn innermost_span(outer: &Slice) -> Option<u32> {
    match outer.event {
        EventIndex::CpuSpan(index) => Some(index),
        _ => outer.enclosing,
    }
}

/// Ends the open slices of a row that end until `now_ns`.
fn close(open: &mut Vec<Slice>, now_ns: u64, sink: &mut dyn SliceSink) -> io::Result<()> {
    while let Some(slice) = open.pop_if(|slice| slice.end_ns <= now_ns) {
        sink.end(&slice)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io;

    use super::super::hand_made::{api_call, cpu_span, gpu_span, kernel, one_kernel};
    use super::{EventIndex, Slice, SliceSink, Track, place_slices};

    /// Holds what each row must keep.
    #[derive(Default)]
    struct Judge {
        open: HashMap<(Track, usize), Vec<Slice>>,
        now_ns: HashMap<(Track, usize), u64>,
        begun: Vec<EventIndex>,
    }

    impl Judge {
        fn pass(&mut self, slice: &Slice, time_ns: u64) {
            let now_ns = self.now_ns.entry((slice.track, slice.row)).or_default();
            assert!(time_ns >= *now_ns, "{slice:?} goes back in time");
            *now_ns = time_ns;
        }
    }

    impl SliceSink for Judge {
        fn begin(&mut self, slice: &Slice) -> io::Result<()> {
            self.pass(slice, slice.start_ns);
            let open = self.open.entry((slice.track, slice.row)).or_default();
            assert!(open.last().is_none_or(|outer| outer.end_ns >= slice.end_ns));
            let spans = open.iter().rev().filter_map(|outer| match outer.event {
                EventIndex::CpuSpan(index) => Some(index),
                _ => None,
            });
            assert_eq!(slice.enclosing, spans.into_iter().next());
            open.push(*slice);
            self.begun.push(slice.event);
            Ok(())
        }

        fn end(&mut self, slice: &Slice) -> io::Result<()> {
            self.pass(slice, slice.end_ns);
            let open = self.open.get_mut(&(slice.track, slice.row)).unwrap();
            assert_eq!(open.pop(), Some(*slice));
            Ok(())
        }
    }

    #[test]
    fn random_events_nest_on_their_rows_and_each_is_drawn_once() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut trace = one_kernel();
            for _ in 0..60 {
                let start = random.u64(0..40);
                let end = start + random.u64(0..20);
                match random.u32(0..4) {
                    0 => trace
                        .cpu_spans
                        .push(cpu_span(random.u32(0..2), 0, start, end, 1)),
                    1 => trace.api_calls.push(api_call(Some(0), 1, start, end, 7)),
                    2 => trace
                        .activities
                        .push(kernel(random.u32(0..3), 2, start, end, 7)),
                    _ => trace.gpu_spans.push(gpu_span(1, 0, start, end, 1)),
                }
            }
            let mut judge = Judge::default();
            place_slices(&trace, &mut judge).unwrap();
            assert!(judge.open.values().all(Vec::is_empty));
            let count = judge.begun.len();
            judge.begun.sort_unstable();
            judge.begun.dedup();
            assert_eq!((judge.begun.len(), count), (64, 64));
        }
    }
}
