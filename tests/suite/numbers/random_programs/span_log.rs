//! The calls of a program, written down by the program itself: when the work of each could begin
//! and had ended on its streams, by the simulated driver, and in which window.

use gpuprof::Schedule;

/// What gpuprof does in a step, as `Schedule::position` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    Wait,
    Warmup,
    #[default]
    Active,
}

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

/// When something happened: the number of the window, and the phase of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    window: u32,
    phase: Phase,
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
    began: Moment,
    ended: Option<Moment>,
    /// How many calls had ended before it did.
    ended_before: Option<usize>,
}

/// All calls of a program, in the order in which they began.
#[derive(Clone, Debug)]
pub(super) struct SpanLog {
    pub(super) spans: Vec<Span>,
    schedule: Option<Schedule>,
    steps: u64,
    ended: usize,
    now: Moment,
    /// Calls that ended in an earlier window were reset.
    first_window: u32,
}

impl SpanLog {
    pub(super) fn new(schedule: Option<Schedule>) -> Self {
        let mut log = Self {
            spans: Vec::new(),
            schedule,
            steps: 0,
            ended: 0,
            now: Moment {
                window: 0,
                phase: Phase::Active,
            },
            first_window: 0,
        };
        log.now.phase = log.position().1;
        log
    }

    /// A call begins; its streams have no end yet. Returns its number.
    pub(super) fn begin(
        &mut self,
        name: &'static str,
        parent: Option<usize>,
        streams: Vec<OnStream>,
        is_async: bool,
    ) -> usize {
        let began = self.now;
        self.spans.push(Span {
            name,
            parent,
            streams,
            is_async,
            began,
            ended: None,
            ended_before: None,
        });
        self.spans.len() - 1
    }

    /// A call ends; `end` gives the time on each stream, `None` for one that it cannot reach.
    pub(super) fn end(&mut self, span: usize, end: impl Fn(StreamId) -> Option<u64>) {
        let now = self.now;
        let span = &mut self.spans[span];
        span.ended = Some(now);
        span.ended_before = Some(self.ended);
        self.ended += 1;
        span.streams
            .iter_mut()
            .for_each(|on| on.end = end(on.stream));
    }

    /// All that has ended is forgotten.
    pub(super) fn reset(&mut self) {
        self.now.window += 1;
        self.first_window = self.now.window;
    }

    /// The next step of the schedule begins.
    pub(super) fn step(&mut self) {
        let before = self.position();
        self.steps += 1;
        let after = self.position();
        // A pause belongs to the window before it.
        self.now.window += u32::from(before != after && after.1 != Phase::Wait);
        self.now.phase = after.1;
    }

    /// The cycle and the phase of this step.
    fn position(&self) -> (u64, Phase) {
        let Some(schedule) = self.schedule else {
            return (0, Phase::Active);
        };
        let (wait, warmup) = (u64::from(schedule.wait), u64::from(schedule.warmup));
        let length = wait + warmup + u64::from(schedule.active);
        let phase = match self.steps % length {
            step if step < wait => Phase::Wait,
            step if step < wait + warmup => Phase::Warmup,
            _ => Phase::Active,
        };
        (self.steps / length, phase)
    }

    /// Whether a call is part of the profile: it has ended in a window that counts, or began before
    /// one that is discarded.
    pub(super) fn counts(&self, span: &Span) -> bool {
        span.ended.is_some_and(|ended| {
            let is_discarded = ended.phase == Phase::Warmup && ended == span.began;
            span.is_measured() && !is_discarded && ended.window >= self.first_window
        })
    }

    /// Whether a call has a share of its streams' time, in whatever window it began and ended.
    pub(super) fn has_share(&self, span: &Span) -> bool {
        let is_complete = span.streams.iter().all(|on| on.end.is_some());
        span.is_measured() && span.has_ended() && is_complete && !span.streams.is_empty()
    }

    /// Whether the profile may have the GPU time of a call.
    pub(super) fn may_be_timed(&self, span: &Span) -> bool {
        let is_in_one_window = span
            .ended
            .is_some_and(|ended| ended.window == span.began.window);
        self.has_share(span) && self.counts(span) && is_in_one_window
    }

    /// Whether the profile must have it: a cycle that is followed by a pause is closed at some time
    /// in it, and GPU times that come later than a cycle after their own are not counted.
    pub(super) fn must_be_timed(&self, span: &Span) -> bool {
        let is_of_now = span.ended == Some(span.began) && span.began.window == self.now.window;
        self.may_be_timed(span) && is_of_now
    }

    /// The calls that a profile counts by name: `(ended, in progress)`.
    pub(super) fn calls(&self, name: &str) -> (u64, u64) {
        let named = || self.spans.iter().filter(|span| span.name == name);
        let ended = named().filter(|span| self.counts(span)).count();
        let open = named()
            .filter(|span| span.is_measured() && span.ended.is_none())
            .count();
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
        self.now.window == 0 && self.schedule.is_none()
    }
}

impl Span {
    /// Whether what a thread records on a stream is in the time of this call: it began in no pause,
    /// and no stream of its own is another one on this thread.
    pub(super) fn is_around(&self, stream: StreamId, thread: usize) -> bool {
        let is_elsewhere = |on: &OnStream| match on.stream {
            StreamId::PerThread(other) => other != thread,
            StreamId::Stream(_) => false,
        };
        let is_on_it = self.streams.iter().any(|on| on.stream == stream);
        self.is_measured() && is_on_it && !self.streams.iter().any(is_elsewhere)
    }

    /// Whether it did not begin in a pause of the schedule.
    pub(super) fn is_measured(&self) -> bool {
        self.began.phase != Phase::Wait
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }
}
