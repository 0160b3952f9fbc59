//! A span: one call of an annotated function, from the guard's making to its drop.
//!
//! NVTX push, start event, clock; the body; clock, end event, NVTX pop.

pub(crate) mod future;
pub(crate) mod graph_launch;
pub(crate) mod overhead;
pub(crate) mod scope;
pub(crate) mod thread_state;

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use self::thread_state::{NodeError, Position, ThreadState};
use crate::clock;
use crate::collector::{self, collector};
use crate::cupti::call_stack::{self, EndedCall};
use crate::gpu::{GpuThread, Held, Open, Place, Streams, Timing};
use crate::nvtx::{OpenRange, Payload};
use crate::site::{EMIT_NVTX, MEASURE, Site, TIME_GPU, correlates};
use crate::stats::call::{Call, GpuOutcome, StatedWork};
use crate::stats::path_counters::PathCounters;

/// The guard that `#[gpu_profile]` puts at the top of a function.
#[derive(Debug)]
#[must_use]
pub struct Span {
    /// `None`: it does nothing, which takes one store to say and one load to see.
    active: Option<ActiveSpan>,
    /// A span ends on the thread that began it.
    _not_send: PhantomData<*mut ()>,
}

/// What a span does.
#[derive(Debug)]
struct ActiveSpan {
    /// `None`: it does not measure.
    call: Option<CallTimer>,
    range: OpenRange,
}

/// A call under way.
#[derive(Debug)]
struct CallTimer {
    node: &'static PathCounters,
    outer: ParentFrame,
    started: u64,
    /// Number of what was opened on this thread's GPU side; 0 for nothing. With [`CORRELATED`] also where the call stands
    /// among those that CUPTI knows: in one word, as spans without either look at nothing else.
    gpu: u64,
    /// `None`: none is stated.
    work: Option<StatedWork>,
}

/// Mark of a call that CUPTI was told of.
const CORRELATED: u64 = 1 << 63;
/// Bits of `CallTimer::gpu` that the number on the GPU side takes: enough for half a year of a call a microsecond.
const NUMBER_BITS: u32 = 44;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
/// Deepest call that the bits between have room for; those inside are not told to CUPTI.
const DEEPEST: u32 = (1 << (63 - NUMBER_BITS)) - 1;

/// What a thread was doing when something was opened on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentFrame {
    position: Position,
    nested: u64,
}

impl ParentFrame {
    /// Goes one level down, into `path`.
    #[inline]
    pub(crate) fn enter(thread: &ThreadState, path: u32) -> Self {
        let position = thread.position.get();
        thread.position.set(position.below(path));
        Self {
            position,
            nested: thread.nested.replace(0),
        }
    }

    /// Goes back up after `took_ns`, and returns how much of that the spans inside took.
    #[inline]
    pub(crate) fn leave(self, thread: &ThreadState, took_ns: u64) -> u64 {
        let (depth, outer) = (thread.position.get().depth(), self.position.depth());
        if depth != outer.wrapping_add(1) {
            thread.count(|shared| &shared.misnested, 1);
            // Something further out has already ended and gone further up than this would.
            if depth <= outer {
                return 0;
            }
        }
        thread.position.set(self.position);
        thread.nested.replace(self.nested + took_ns).min(took_ns)
    }
}

impl Span {
    /// A span that does nothing.
    #[inline]
    pub fn off() -> Self {
        Self {
            active: None,
            _not_send: PhantomData,
        }
    }

    /// Begins a call of `site`, in a span that is [`off`](Self::off). Each closure runs only if what it gives is used.
    #[inline]
    pub fn enter<'a>(
        &mut self,
        site: &'static Site,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> StatedWork,
        payload: impl FnOnce() -> Payload,
    ) {
        let duties = site.duties();
        // The user's expressions first: they may open spans of their own, or panic.
        let streams = match duties & TIME_GPU {
            0 => Streams::Untimed,
            _ => streams(),
        };
        let work = match duties & MEASURE {
            0 => StatedWork::NONE,
            _ => work(),
        };
        let work = (!work.is_none()).then_some(&work);
        let active = self.active.insert(ActiveSpan {
            call: None,
            range: OpenRange::None,
        });
        if duties & EMIT_NVTX != 0 {
            active.range = site.push_range(payload);
        }
        if duties & MEASURE != 0 {
            thread_state::with_thread(|thread| {
                let on_gpu = match &streams {
                    Streams::Untimed => false,
                    Streams::Inherit => thread.has_gpu.get(),
                    Streams::One(_) | Streams::Many(_) => true,
                };
                if correlates(duties) {
                    return active.open_correlated(thread, site, on_gpu.then_some(&streams), work);
                }
                match on_gpu {
                    true => active.open_on_gpu(thread, site, &streams, work),
                    false => active.open(thread, site, work),
                }
            });
        }
    }
}

impl ActiveSpan {
    // Not inlined, this and what follows: it would stand in every annotated function.
    #[inline(never)]
    fn open(&mut self, thread: &ThreadState, site: &'static Site, work: Option<&StatedWork>) {
        if let Some(call) = self.enter_node(thread, site, work) {
            call.started = clock::now();
        }
    }

    #[inline(never)]
    fn open_on_gpu(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        streams: &Streams<'_>,
        work: Option<&StatedWork>,
    ) {
        let Some(call) = self.enter_node(thread, site, work) else {
            return;
        };
        let before = clock::now();
        let opened = measure_overhead(thread, before, |gpu| {
            let timing = &collector().gpu;
            let streams = timing.hold(gpu, streams, false);
            let open = begin_gpu_timing(timing, gpu, streams, site, call.node.path, false)?;
            Some(gpu.push(open))
        });
        let (opened, after) = opened.unwrap_or((None, before));
        call.gpu = opened.unwrap_or(0);
        call.started = after;
    }

    /// Either of these two, and tells CUPTI that this thread is in the call.
    #[inline(never)]
    fn open_correlated(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        streams: Option<&Streams<'_>>,
        work: Option<&StatedWork>,
    ) {
        match streams {
            Some(streams) => self.open_on_gpu(thread, site, streams, work),
            None => self.open(thread, site, work),
        }
        let Some(call) = &mut self.call else { return };
        let depth = call_stack::begin(site).and_then(|call| call_stack::enter(call, DEEPEST));
        if let Some(depth) = depth {
            call.gpu = CORRELATED | u64::from(depth) << NUMBER_BITS | call.gpu & NUMBER;
        }
        let after = clock::now();
        let took = after.saturating_sub(call.started);
        thread.count(|shared| &shared.own_ticks, took);
        call.started = after;
    }

    #[inline(never)]
    fn close(&self) {
        if let Some(call) = &self.call {
            thread_state::with_thread(|thread| call.close(thread));
        }
        self.range.close();
    }

    /// Enters the node of this call.
    #[inline]
    fn enter_node(
        &mut self,
        thread: &ThreadState,
        site: &'static Site,
        work: Option<&StatedWork>,
    ) -> Option<&mut CallTimer> {
        match thread.node(thread.position.get().path(), site) {
            Ok(node) => Some(self.call.insert(CallTimer {
                node,
                outer: ParentFrame::enter(thread, node.path),
                started: 0,
                gpu: 0,
                work: work.copied(),
            })),
            Err(why) => {
                count_dropped(thread, why);
                None
            }
        }
    }
}

impl CallTimer {
    #[inline]
    fn close(&self, thread: &ThreadState) {
        let ended = clock::now();
        let cpu_ns = clock::ns_between(self.started, ended);
        let nested_ns = self.outer.leave(thread, cpu_ns);
        let recorded = if self.gpu == 0 && self.work.is_none() {
            self.node.record_time(cpu_ns, nested_ns, thread.writer())
        } else {
            self.record_with_gpu(thread, ended, cpu_ns, nested_ns)
        };
        if !recorded {
            count_dropped(thread, NodeError::ThreadEnded);
        }
    }

    #[inline(never)]
    fn record_with_gpu(
        &self,
        thread: &ThreadState,
        ended: u64,
        cpu_ns: u64,
        nested_ns: u64,
    ) -> bool {
        let call = Call {
            cpu_ns,
            nested_ns,
            wall_ns: None,
            outcome: GpuOutcome::NoStream,
            work: self.work.as_ref().unwrap_or(&StatedWork::NONE),
        };
        let outcome = match self.gpu & NUMBER {
            0 => self
                .node
                .record(&call, thread.writer())
                .then_some(GpuOutcome::NoStream),
            number => record_with_events(thread, self.node, call, ended, |gpu| gpu.take(number)),
        };
        if self.gpu & CORRELATED != 0 {
            self.leave_call(thread, outcome, cpu_ns);
        }
        outcome.is_some()
    }

    /// Tells CUPTI that this thread is in the call no more.
    fn leave_call(&self, thread: &ThreadState, outcome: Option<GpuOutcome>, cpu_ns: u64) {
        let before = clock::now();
        let depth = (self.gpu & !CORRELATED) >> NUMBER_BITS;
        if let Some(call) = call_stack::leave(depth as u32)
            && let Some(outcome) = outcome
        {
            collector().work.end_call(EndedCall::new(
                call,
                outcome,
                cpu_ns,
                thread.writer().epoch(),
            ));
        }
        let took = clock::now().saturating_sub(before);
        thread.count(|shared| &shared.own_ticks, took);
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(active) = &self.active {
            active.close();
        }
    }
}

/// Counts a call that cannot be recorded.
#[cold]
pub(crate) fn count_dropped(thread: &ThreadState, why: NodeError) {
    match why {
        NodeError::LimitReached => thread.count(|shared| &shared.dropped, 1),
        NodeError::ThreadEnded => {
            collector().calls_after_thread_exit.fetch_add(1, Relaxed);
        }
    }
}

/// Runs `f` on the thread's GPU state and counts the time since `before` as gpuprof's own; returns it with the clock at its
/// end. `None`: that state is in use further up, which only a broken nesting can do, or is gone.
#[inline]
pub(crate) fn measure_overhead<R>(
    thread: &ThreadState,
    before: u64,
    f: impl FnOnce(&mut GpuThread) -> R,
) -> Option<(R, u64)> {
    thread_state::with_gpu(|gpu| {
        let result = f(gpu);
        let after = clock::now();
        let took = after.saturating_sub(before);
        let set_up = gpu.take_set_up();
        let stalled = clock::is_long(took);
        thread.count(
            |shared| match set_up {
                true => &shared.setup_ticks,
                false if stalled => &shared.stalled_ticks,
                false => &shared.own_ticks,
            },
            took,
        );
        (result, after)
    })
}

/// Records the start event; `None` when the call has no stream.
#[inline]
pub(crate) fn begin_gpu_timing(
    timing: &'static Timing,
    gpu: &mut GpuThread,
    streams: Held,
    site: &Site,
    path: u32,
    is_async: bool,
) -> Option<Box<Open>> {
    let place = Place {
        site: site.id()?,
        path,
        sample: site.meta.sample,
        graph: site.meta.graph,
    };
    let open = timing.begin(gpu, streams, place, is_async);
    if open.is_some() {
        collector::note_stream();
    }
    open
}

/// Records the end event of what `take` hands over, and books the call, which ended when the clock read `ended`.
///
/// Returns what became of it on the GPU side; `None`: it could not be recorded.
#[inline]
pub(crate) fn record_with_events(
    thread: &ThreadState,
    node: &PathCounters,
    mut call: Call<'_>,
    ended: u64,
    take: impl FnOnce(&mut GpuThread) -> Option<Box<Open>>,
) -> Option<GpuOutcome> {
    let recorded = measure_overhead(thread, ended, |gpu| {
        let writer = thread.writer();
        let timing = &collector().gpu;
        let ended = match take(gpu) {
            Some(open) => timing.end(gpu, open, call.work, writer.epoch()),
            None => Err(GpuOutcome::NoStream),
        };
        call.outcome = ended
            .as_ref()
            .map_or_else(|outcome| *outcome, |_| GpuOutcome::Submitted);
        if call.outcome == GpuOutcome::InGraph {
            // It has done nothing yet; each replay does its work.
            call.work = &StatedWork::NONE;
        }
        // Booked before the sample is on its way: nobody then sees a GPU time without its call.
        let recorded = node.record(&call, writer);
        if let Ok(open) = ended {
            timing.hand_in(gpu, open, call.work);
        }
        recorded.then_some(call.outcome)
    });
    match recorded {
        Some((outcome, _)) => outcome,
        None => node
            .record(&call, thread.writer())
            .then_some(GpuOutcome::NoStream),
    }
}
