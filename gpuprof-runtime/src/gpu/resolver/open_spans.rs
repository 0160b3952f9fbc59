//! The spans that are open on one stream, in the order of the stream, and the division of its time
//! among them.
//!
//! A span that starts inside another one of its thread or task is its child. The time of a stream
//! belongs to the innermost spans, those without an open child; where there are several, because
//! threads or tasks share the stream, each has an equal part, whatever window it began in. A span's
//! exclusive time is its duration without that of its children, and without the parts of others in
//! the time that it shared. Its window only decides where its times are booked: one that crosses
//! into another window is booked in none.

mod closed;

use rustc_hash::FxHashMap;

pub(super) use self::closed::Closed;
use crate::gpu::events::span::{SpanKey, SpanStart};
use crate::stats::gpu_totals::{SummedTime, SummedTimes};
use crate::stats::path_ids::ROOT;

/// The open spans of one stream.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    spans: FxHashMap<SpanKey, UnresolvedSpan>,
    /// Spans without an open child.
    innermost: u32,
    /// Spans whose parent has not been opened yet.
    orphans: u32,
    now: SharedTime,
}

/// What an innermost span that was open all the time would have shared so far.
#[derive(Clone, Copy, Debug, Default)]
struct SharedTime {
    ns: u64,
    /// The parts of others in it, ns.
    lost_ns: f64,
    /// Times of unknown length.
    unknown: u64,
}

#[derive(Debug)]
struct UnresolvedSpan {
    start: SpanStart,
    /// The span around it, while that is open.
    parent: Option<SpanKey>,
    children: u32,
    /// When it became innermost, or another child began or ended.
    since: SharedTime,
    /// The part of its duration in spans around it that it has outlasted.
    left_ns: u64,
    /// The booked spans that are nested in it and in no booked one inside it.
    booked: SummedTimes,
    so_far: Closed,
}

/// The time of a span that was nested in another one.
struct Nested {
    ns: u64,
    /// The part of it that belongs to others.
    lost_ns: f64,
    had_work: bool,
    /// Its event pair, if it has one, and those of spans nested in it.
    pairs: u64,
    /// Of these, the time of the shortest.
    shortest_ns: u64,
    /// [`Closed::is_beside_others`].
    is_beside_others: bool,
}

impl OpenSpans {
    /// A span that is open.
    pub(super) fn get(&self, key: SpanKey) -> Option<&SpanStart> {
        self.spans.get(&key).map(|span| &span.start)
    }

    /// Whether time that passes now is shared.
    pub(super) fn is_shared(&self) -> bool {
        self.innermost > 1
    }

    /// The spans that are open have been so for `ns` more. `None`: for an unknown time.
    pub(super) fn pass(&mut self, ns: Option<u64>) {
        match ns {
            Some(ns) if self.innermost > 1 => {
                let part = 1.0 / f64::from(self.innermost);
                self.now.ns += ns;
                self.now.lost_ns += ns as f64 * (1.0 - part);
            }
            Some(_) => {}
            None => self.now.unknown += 1,
        }
    }

    /// Opens a span now. A parent that is not open is none.
    pub(super) fn open(&mut self, start: SpanStart) {
        let now = self.now;
        let is_outermost = self.is_outermost(&start);
        let parent = start
            .parent
            .filter(|parent| self.spans.contains_key(parent));
        let around = parent.and_then(|parent| self.spans.get_mut(&parent));
        let mut parent_path = ROOT;
        if let Some(around) = around {
            self.innermost -= u32::from(around.is_innermost());
            around.set_children(around.children + 1, now);
            parent_path = path_around(&start, &around.start);
        }
        self.innermost += 1;
        self.orphans += u32::from(parent.is_none() && start.parent.is_some());
        let so_far = Closed {
            is_outermost,
            parent_path,
            ..Closed::NOTHING
        };
        let span = UnresolvedSpan {
            start,
            parent,
            children: 0,
            since: now,
            left_ns: 0,
            booked: SummedTimes::default(),
            so_far,
        };
        self.spans.insert(start.key, span);
        if self.orphans > 0 {
            self.adopt_orphans(&start);
        }
    }

    /// Makes a span that is opened now the parent of those that name it. Of two that started at the
    /// same time on different threads, the child may have been opened first.
    #[cold]
    fn adopt_orphans(&mut self, parent: &SpanStart) {
        let mut adopted = 0;
        for span in self.spans.values_mut() {
            if span.parent.is_none() && span.start.parent == Some(parent.key) {
                adopted += 1;
                span.parent = Some(parent.key);
                let is_same = span.start.site == parent.site && span.start.epoch == parent.epoch;
                span.so_far.is_outermost &= !is_same;
                span.so_far.parent_path = path_around(&span.start, parent);
            }
        }
        self.orphans -= adopted;
        if adopted > 0
            && let Some(span) = self.spans.get_mut(&parent.key)
        {
            span.set_children(adopted, self.now);
            self.innermost -= 1;
        }
    }

    fn is_outermost(&self, start: &SpanStart) -> bool {
        let mut around = start.parent;
        while let Some(span) = around.and_then(|key| self.spans.get(&key)) {
            if span.start.epoch != start.epoch {
                return true;
            }
            if span.start.site == start.site {
                return false;
            }
            around = span.parent;
        }
        true
    }

    /// The open children of a span that is about to be closed: it ends before them. Almost always
    /// none.
    pub(super) fn children(&self, key: SpanKey) -> Vec<SpanStart> {
        match self.spans.get(&key) {
            Some(span) if span.children > 0 => {
                let children = self
                    .spans
                    .values()
                    .filter(|child| child.parent == Some(key));
                children.map(|child| child.start).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Ends the nesting of an open child, which has lasted for `ns`, in its parent, and makes it a
    /// child of the span around that.
    pub(super) fn leave_parent(&mut self, child: SpanKey, ns: u64) {
        let Some(span) = self.spans.get_mut(&child) else {
            return;
        };
        let more_ns = ns.saturating_sub(span.left_ns);
        span.left_ns = span.left_ns.max(ns);
        span.so_far.is_beside_others = true;
        let (parent, start) = (span.parent, span.start);
        // It counts as nested in the span around, also with the part that lies in the parent.
        let nested = Nested {
            ns: more_ns,
            lost_ns: more_ns as f64,
            had_work: true,
            pairs: 0,
            shortest_ns: u64::MAX,
            is_beside_others: true,
        };
        let around = self.end_child(parent, &start, &nested);
        let mut parent_path = ROOT;
        if let Some(around) = around.and_then(|key| self.spans.get_mut(&key)) {
            around.set_children(around.children + 1, self.now);
            parent_path = path_around(&start, &around.start);
        }
        if let Some(span) = self.spans.get_mut(&child) {
            // Whose child it was once is of no matter any more.
            (span.parent, span.start.parent) = (around, around);
            span.so_far.parent_path = parent_path;
        }
    }

    /// Closes a span of `ns` now. `None` for `ns`: its time is not known. It then counts as part of
    /// its parent, and what is nested in it as nested in its parent. `overhead_ns`: what an event
    /// takes on the stream. `looks_empty`: by its time, it may have had no work for the GPU.
    pub(super) fn close(
        &mut self,
        key: SpanKey,
        ns: Option<u64>,
        overhead_ns: u64,
        looks_empty: bool,
    ) -> Option<(SpanStart, Closed, SummedTimes)> {
        let mut span = self.spans.remove(&key)?;
        self.innermost -= u32::from(span.is_innermost());
        self.orphans -= u32::from(span.parent.is_none() && span.start.parent.is_some());
        span.set_children(span.children, self.now);
        let mut closed = span.so_far;
        closed.may_be_host = looks_empty && !closed.has_nested_work;
        let nested_ns = closed.nested_ns.saturating_sub(closed.nested_again_ns);
        if let Some(ns) = ns {
            closed.overhead_ns = overhead_ns.min(ns);
            closed.ns = closed.without_nested_pairs(ns, nested_ns);
        }
        let lost_ns = match ns {
            Some(_) => closed.lost_ns + closed.nested_lost_ns,
            None => {
                // The time that it shared is its parent's.
                if let Some(parent) = span.parent.and_then(|key| self.spans.get_mut(&key)) {
                    let weight = f64::from(span.start.weight_in_parent);
                    parent.so_far.lost_ns += closed.lost_ns * weight;
                    parent.so_far.is_undivided |= closed.is_undivided;
                }
                closed.nested_lost_ns
            }
        };
        let ns_is_unknown = ns.is_none();
        let own_pair = u64::from(!ns_is_unknown);
        let nested = Nested {
            ns: if ns_is_unknown {
                nested_ns
            } else {
                closed.without_overhead().saturating_sub(span.left_ns)
            },
            lost_ns,
            had_work: !closed.may_be_host,
            pairs: closed.nested_pairs + own_pair,
            shortest_ns: closed.shortest_nested_ns.min(ns.unwrap_or(u64::MAX)),
            is_beside_others: closed.is_beside_others,
        };
        self.end_child(span.parent, &span.start, &nested);
        if ns_is_unknown && let Some(parent) = span.parent {
            let nested = std::mem::take(&mut span.booked);
            let epoch = span.start.epoch;
            nested
                .iter()
                .for_each(|(key, time)| self.note_booked(parent, epoch, *key, time));
        }
        Some((span.start, closed, span.booked))
    }

    /// A span that was nested in this one is booked in the window of `epoch`, with this time of a
    /// site on a device.
    pub(super) fn note_booked(
        &mut self,
        around: SpanKey,
        epoch: u32,
        key: (u32, u32),
        time: &SummedTime,
    ) {
        // The time of another window is not in the window that the span around it will count in.
        let around = self.spans.get_mut(&around);
        if let Some(around) = around.filter(|around| around.start.epoch == epoch) {
            around.booked.entry(key).or_default().add(time);
        }
    }

    /// Takes a child's time from its parent. Returns the span around the parent.
    fn end_child(
        &mut self,
        parent: Option<SpanKey>,
        child: &SpanStart,
        nested: &Nested,
    ) -> Option<SpanKey> {
        let parent = self.spans.get_mut(&parent?)?;
        let (weight, is_on_one) = (child.weight_in_parent, child.streams == 1);
        let so_far = &mut parent.so_far;
        let more_ns = nested.ns.saturating_mul(u64::from(weight));
        so_far.nested_ns = so_far.nested_ns.saturating_add(more_ns);
        so_far.nested_lost_ns += f64::from(weight)
            * if is_on_one {
                nested.lost_ns
            } else {
                nested.ns as f64
            };
        so_far.nested_pairs += nested.pairs;
        so_far.shortest_nested_ns = so_far.shortest_nested_ns.min(nested.shortest_ns);
        so_far.is_sampled |= weight > 1;
        so_far.has_nested_work |= nested.had_work;
        so_far.is_beside_others |= nested.is_beside_others || !is_on_one;
        parent.set_children(parent.children - 1, self.now);
        self.innermost += u32::from(parent.is_innermost());
        parent.parent
    }
}

/// The path that a span is nested in for its window, where `around` is the span around it.
fn path_around(span: &SpanStart, around: &SpanStart) -> u32 {
    // Only some of the time of a call on several streams would be nested, and what is around in an
    // earlier window crosses into this one.
    if span.streams == 1 && span.epoch == around.epoch {
        around.path
    } else {
        ROOT
    }
}

impl UnresolvedSpan {
    fn is_innermost(&self) -> bool {
        self.children == 0
    }

    /// It has so many open children from now on.
    fn set_children(&mut self, children: u32, now: SharedTime) {
        let since = std::mem::replace(&mut self.since, now);
        match self.children {
            0 => {
                self.so_far.lost_ns += now.lost_ns - since.lost_ns;
                self.so_far.is_undivided |= now.unknown > since.unknown;
                self.so_far.is_beside_others |= now.ns > since.ns || now.unknown > since.unknown;
            }
            open => {
                let again_ns = (now.ns - since.ns) * u64::from(open - 1);
                self.so_far.nested_again_ns += again_ns;
            }
        }
        self.children = children;
    }
}

#[cfg(test)]
mod tests;
