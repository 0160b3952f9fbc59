//! How the time of each stream divides among the calls that were timed on it, computed from the
//! times that a program wrote down.

use std::collections::BTreeMap;

use super::span_log::{SpanLog, StreamId};

/// A call on one stream, ns.
#[derive(Clone, Copy, Debug)]
struct Interval {
    span: usize,
    start: u64,
    end: u64,
}

/// The part of a stream between two neighbouring events.
struct Segment {
    stream: StreamId,
    ns: u64,
    /// The open calls that no other open call is nested in, in whatever window each of them began.
    innermost: Vec<usize>,
}

/// The GPU times of a program's calls.
pub(super) struct Division {
    segments: Vec<Segment>,
    /// From the first start to the last end of each timed call, by its number, ns.
    elapsed: BTreeMap<usize, u64>,
    /// The time during which at least one timed call was open.
    busy_ns: u64,
}

impl Division {
    /// Divides each segment among the innermost open calls. One that crossed into another window
    /// has its part, and no time.
    pub(super) fn new(log: &SpanLog) -> Self {
        let mut streams: BTreeMap<StreamId, Vec<Interval>> = BTreeMap::new();
        let mut elapsed = BTreeMap::new();
        let mut open = Vec::new();
        for (number, span) in log.spans.iter().enumerate() {
            if !span.has_share() {
                continue;
            }
            for on in &span.streams {
                let (start, end) = (on.start, on.end.unwrap_or(on.start));
                let intervals = streams.entry(on.stream).or_default();
                intervals.push(Interval {
                    span: number,
                    start,
                    end,
                });
            }
            if !log.is_timed(span) {
                continue;
            }
            let start = span.streams.iter().map(|on| on.start).min();
            let end = span.streams.iter().filter_map(|on| on.end).max();
            let (start, end) = (start.unwrap_or(0), end.unwrap_or(0));
            elapsed.insert(number, end.saturating_sub(start));
            open.push((start, end));
        }
        let segments = streams
            .iter()
            .flat_map(|(stream, intervals)| segments(log, *stream, intervals))
            .collect();
        Self {
            segments,
            elapsed,
            busy_ns: union_ns(open),
        }
    }

    /// The time during which at least one timed call was open, on whatever stream, ns.
    pub(super) fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// The parts that timed calls have of the time of their streams, summed over streams, ns.
    pub(super) fn covered_ns(&self) -> f64 {
        let is_timed = |span: &&usize| self.elapsed.contains_key(span);
        let parts = self.segments.iter().map(|segment| {
            let timed = segment.innermost.iter().filter(is_timed).count();
            segment.ns as f64 * timed as f64 / segment.innermost.len() as f64
        });
        parts.sum()
    }

    /// The exclusive time of each timed call, ns: its part of its stream, of several the largest.
    pub(super) fn exclusive(&self) -> BTreeMap<usize, f64> {
        let mut parts: BTreeMap<(usize, StreamId), f64> = BTreeMap::new();
        for segment in &self.segments {
            let is_timed = |span: &&usize| self.elapsed.contains_key(span);
            for span in segment.innermost.iter().filter(is_timed) {
                let part = segment.ns as f64 / segment.innermost.len() as f64;
                *parts.entry((*span, segment.stream)).or_default() += part;
            }
        }
        let mut times: BTreeMap<usize, f64> = BTreeMap::new();
        for ((span, _), part) in parts {
            let time = times.entry(span).or_default();
            *time = part.max(*time);
        }
        times
    }

    /// From the first start to the last end of each timed call, by its number, ns.
    pub(super) fn elapsed(&self) -> &BTreeMap<usize, u64> {
        &self.elapsed
    }
}

/// The time that intervals cover.
fn union_ns(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let (mut covered, mut until) = (0, 0);
    for (start, end) in intervals {
        covered += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    covered
}

fn segments(log: &SpanLog, stream: StreamId, intervals: &[Interval]) -> Vec<Segment> {
    let mut events: Vec<u64> = intervals
        .iter()
        .flat_map(|one| [one.start, one.end])
        .collect();
    events.sort_unstable();
    events.dedup();
    let between = events.windows(2).map(|pair| (pair[0], pair[1]));
    let segments = between.map(|(from, to)| {
        let is_open = |one: &&Interval| one.start <= from && one.end >= to;
        let open: Vec<usize> = intervals
            .iter()
            .filter(is_open)
            .map(|one| one.span)
            .collect();
        let has_nested = |span| {
            let mut others = open.iter();
            others.any(|other| log.is_nested(stream, *other, span))
        };
        Segment {
            stream,
            ns: to - from,
            innermost: open
                .iter()
                .copied()
                .filter(|span| !has_nested(*span))
                .collect(),
        }
    });
    segments
        .filter(|segment| !segment.innermost.is_empty())
        .collect()
}
