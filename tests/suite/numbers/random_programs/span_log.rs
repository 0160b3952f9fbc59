//! The calls of a program, written down by the program itself: when the work of each could begin
//! and had ended on its streams, by the simulated driver, and in which window.

/// One stream of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StreamId {
    Stream(usize),
    /// The per-thread default stream of this thread.
    PerThread(usize),
}

/// A call on one of its streams: its start event and, if it has ended, its end event, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnStream {
    pub(super) stream: StreamId,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    /// The innermost call on this stream around the begin, on the stack of its thread. Around what
    /// a future executes are the future, and then what is around its poll.
    pub(super) nested_in: Option<usize>,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The function's name.
    pub(super) name: &'static str,
    /// The innermost call around its begin.
    pub(super) parent: Option<usize>,
    pub(super) streams: Vec<OnStream>,
    pub(super) is_async: bool,
    /// The number of the window in which it began.
    began: u32,
    ended: Option<u32>,
    /// How many calls had ended before it did.
    ended_before: Option<usize>,
}

/// All calls of a program, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanLog {
    pub(super) spans: Vec<Span>,
    ended: usize,
    /// The number of the current window.
    window: u32,
}

impl SpanLog {
    /// A call begins; its streams have no end yet. Returns its number.
    pub(super) fn begin(
        &mut self,
        name: &'static str,
        parent: Option<usize>,
        streams: Vec<OnStream>,
        is_async: bool,
    ) -> usize {
        self.spans.push(Span {
            name,
            parent,
            streams,
            is_async,
            began: self.window,
            ended: None,
            ended_before: None,
        });
        self.spans.len() - 1
    }

    /// A call ends; `end` gives the time on each stream, `None` for one that it cannot reach.
    pub(super) fn end(&mut self, span: usize, end: impl Fn(StreamId) -> Option<u64>) {
        let window = self.window;
        let span = &mut self.spans[span];
        span.ended = Some(window);
        span.ended_before = Some(self.ended);
        self.ended += 1;
        span.streams
            .iter_mut()
            .for_each(|on| on.end = end(on.stream));
    }

    /// All that has ended is forgotten.
    pub(super) fn reset(&mut self) {
        self.window += 1;
    }

    /// Whether a call is part of the profile: it has ended in its window.
    pub(super) fn counts(&self, span: &Span) -> bool {
        span.ended == Some(self.window)
    }

    /// Whether the profile has the GPU time of a call.
    pub(super) fn is_timed(&self, span: &Span) -> bool {
        span.has_share() && self.counts(span) && span.began == self.window
    }

    /// The calls that a profile counts by name: `(ended, in progress)`.
    pub(super) fn calls(&self, name: &str) -> (u64, u64) {
        let named = || self.spans.iter().filter(|span| span.name == name);
        let ended = named().filter(|span| self.counts(span)).count();
        let open = named().filter(|span| span.ended.is_none()).count();
        (ended as u64, open as u64)
    }

    /// The calls around a call, the innermost first.
    pub(super) fn ancestors(&self, span: usize) -> impl Iterator<Item = usize> {
        let parent = |span: &usize| self.spans[*span].parent;
        std::iter::successors(self.spans[span].parent, parent)
    }

    /// Whether a call is nested in another one on a stream.
    pub(super) fn is_nested(&self, stream: StreamId, span: usize, around: usize) -> bool {
        let nested_in = |span: &usize| {
            let mut streams = self.spans[*span].streams.iter();
            streams.find(|on| on.stream == stream)?.nested_in
        };
        std::iter::successors(nested_in(&span), nested_in).any(|one| one == around)
    }

    /// The names from the outermost call to this one.
    pub(super) fn path(&self, span: usize) -> Vec<&'static str> {
        let mut path: Vec<_> = self
            .ancestors(span)
            .map(|one| self.spans[one].name)
            .collect();
        path.reverse();
        path.push(self.spans[span].name);
        path
    }

    /// Whether a call outlasts one that it is nested in, as a future may.
    pub(super) fn is_outlasting(&self, span: usize, around: usize) -> bool {
        let end = |span: usize| self.spans[span].ended_before.unwrap_or(usize::MAX);
        end(span) > end(around)
    }

    /// Whether all calls are in the window of the profile, so that call paths are complete.
    pub(super) fn is_one_window(&self) -> bool {
        self.window == 0
    }
}

impl Span {
    /// Whether what a thread records on a stream is in the time of this call: no stream of its own
    /// is another one on this thread.
    pub(super) fn is_around(&self, stream: StreamId, thread: usize) -> bool {
        let is_elsewhere = |on: &OnStream| match on.stream {
            StreamId::PerThread(other) => other != thread,
            StreamId::Stream(_) => false,
        };
        let is_on_it = self.streams.iter().any(|on| on.stream == stream);
        is_on_it && !self.streams.iter().any(is_elsewhere)
    }

    /// Whether it has a share of its streams' time, in whatever window it began and ended.
    pub(super) fn has_share(&self) -> bool {
        let is_complete = self.streams.iter().all(|on| on.end.is_some());
        self.has_ended() && is_complete && !self.streams.is_empty()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }
}
