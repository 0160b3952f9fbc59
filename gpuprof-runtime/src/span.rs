//! A span: one call of an annotated function, from the guard's making to its drop.
//!
//! NVTX push, start event, clock; the body; clock, end event, NVTX pop.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock;
use crate::collector::{self, EMIT_NVTX, MEASURE, TIME_GPU, collector};
use crate::gpu::{GpuThread, Held, Open, Place, Streams};
use crate::nvtx::{OpenRange, Payload};
use crate::site::Site;
use crate::stats::node::{Call, Fate, Work};
use crate::stats::paths::ROOT;
use crate::thread::{NodeAt, Thread};

thread_local! {
    static THREAD: Here = Here::new();
}

/// This thread's state, which tells the collector when the thread begins and ends.
struct Here(Thread);

impl Here {
    fn new() -> Self {
        let thread = Thread::new();
        collector().add(&thread);
        Self(thread)
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        collector().fold(&self.0);
    }
}

/// Runs `f` on this thread's state; `None` when the thread is already taking its thread-locals down.
#[inline]
pub(crate) fn on_thread<R>(f: impl FnOnce(&Thread) -> R) -> Option<R> {
    THREAD.try_with(|here| f(&here.0)).ok()
}

/// Marks a span that does not measure.
const CLOSED: u32 = u32::MAX;

/// The guard that `#[gpu_profile]` puts at the top of a function.
#[derive(Debug)]
#[must_use]
pub struct Span {
    /// Place of the node on this thread, or [`CLOSED`]; the next two mean nothing then.
    place: u32,
    outer: Outer,
    started: u64,
    /// Number of what was opened on this thread's GPU side; 0 for nothing.
    gpu: u64,
    work: Work,
    range: OpenRange,
    /// A span ends on the thread that began it.
    _not_send: PhantomData<*mut ()>,
}

/// What a thread was doing when something was opened on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    path: u32,
    children: u64,
    depth: u32,
}

impl Outer {
    const NONE: Self = Self {
        path: ROOT,
        children: 0,
        depth: 0,
    };

    /// Goes one level down, into `path`.
    #[inline]
    pub(crate) fn enter(thread: &Thread, path: u32) -> Self {
        let depth = thread.depth.get() + 1;
        thread.depth.set(depth);
        Self {
            path: thread.current.replace(path),
            children: thread.children.replace(0),
            depth,
        }
    }

    /// Goes back up after `took_ns`, and returns how much of that the spans inside took.
    #[inline]
    pub(crate) fn leave(self, thread: &Thread, took_ns: u64) -> u64 {
        let depth = thread.depth.get();
        if depth != self.depth {
            Thread::count(&thread.shared.misnested, 1);
            // Something further out has already ended and gone further up than this would.
            if depth < self.depth {
                return 0;
            }
        }
        thread.depth.set(self.depth - 1);
        thread.current.set(self.path);
        thread
            .children
            .replace(self.children + took_ns)
            .min(took_ns)
    }
}

impl Span {
    /// A span that does nothing.
    #[inline]
    pub fn off() -> Self {
        Self {
            place: CLOSED,
            outer: Outer::NONE,
            started: 0,
            gpu: 0,
            work: Work::NONE,
            range: OpenRange::None,
            _not_send: PhantomData,
        }
    }

    /// Begins a call of `site`. Each closure runs only if what it gives is used.
    #[inline]
    pub fn enter<'a>(
        site: &'static Site,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> Work,
        payload: impl FnOnce() -> Payload,
    ) -> Self {
        Self::enter_under(collector::flags(), site, streams, work, payload)
    }

    /// [`enter`](Self::enter) under given flags.
    #[inline]
    pub(crate) fn enter_under<'a>(
        flags: u8,
        site: &'static Site,
        streams: impl FnOnce() -> Streams<'a>,
        work: impl FnOnce() -> Work,
        payload: impl FnOnce() -> Payload,
    ) -> Self {
        let measured = flags & MEASURE != 0;
        let timed = measured && flags & TIME_GPU != 0 && !site.meta.cpu;
        let mut span = Self::off();
        // The user's expressions first: they may open spans of their own, or panic.
        let streams = timed.then(streams);
        if measured {
            span.work = work();
        }
        if flags & EMIT_NVTX != 0 {
            span.range = site.push_range(payload);
        }
        if measured {
            span.open(site, streams.as_ref());
        }
        span
    }

    // Not inlined: it would stand in every annotated function, and the span would be copied about.
    #[inline(never)]
    fn open(&mut self, site: &'static Site, streams: Option<&Streams<'_>>) {
        let Some(id) = site.id() else { return };
        let opened = on_thread(|thread| {
            let Some(node) = thread.node(&collector().paths, thread.current.get(), id, false)
            else {
                Thread::count(&thread.shared.dropped, 1);
                return;
            };
            self.place = node.place;
            self.outer = Outer::enter(thread, node.path);
            if let Some(streams) = streams {
                self.begin_gpu(thread, streams, site, node);
            }
            self.started = clock::now();
        });
        if opened.is_none() {
            collector().homeless.fetch_add(1, Relaxed);
        }
    }

    fn begin_gpu(&mut self, thread: &Thread, streams: &Streams<'_>, site: &Site, node: NodeAt) {
        let opened = own_work(thread, |gpu| {
            let streams = collector().gpu.hold(gpu, streams, false);
            let open = begin_gpu(gpu, streams, site, node, false)?;
            Some(gpu.push(open))
        });
        self.gpu = opened.flatten().unwrap_or(0);
    }

    #[inline(never)]
    fn close(&mut self) {
        let ended = clock::now();
        let booked = on_thread(|thread| {
            let cpu_ns = clock::ns(ended.saturating_sub(self.started));
            let children_ns = self.outer.leave(thread, cpu_ns);
            let call = Call {
                cpu_ns,
                children_ns,
                wall_ns: None,
                fate: Fate::NoStream,
                work: self.work,
            };
            match self.gpu {
                0 => book_call(thread, self.place, &call),
                number => book(thread, self.place, call, |gpu| gpu.take(number)),
            }
        });
        if booked.is_none() {
            collector().homeless.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if self.place != CLOSED {
            self.close();
        }
        std::mem::replace(&mut self.range, OpenRange::None).close();
    }
}

/// An event record that takes longer than this has not worked but waited: recording takes some microseconds, and blocks when
/// the stream's queue is full, as the next launch would have.
const STALL_NS: u64 = 50_000;

/// Runs `f` on the thread's GPU state and counts the time it takes as gpuprof's own. `None`: that state is in use further
/// up, which only a broken nesting can do.
pub(crate) fn own_work<R>(thread: &Thread, f: impl FnOnce(&mut GpuThread) -> R) -> Option<R> {
    let mut gpu = thread.gpu.try_borrow_mut().ok()?;
    let before = clock::now();
    let result = f(&mut gpu);
    let took = clock::now().saturating_sub(before);
    let counter = match gpu.take_set_up() {
        true => &thread.shared.setup_ticks,
        false if clock::ns(took) > STALL_NS => &thread.shared.stalled_ticks,
        false => &thread.shared.own_ticks,
    };
    Thread::count(counter, took);
    Some(result)
}

/// Records the start event; `None` when the call has no stream.
pub(crate) fn begin_gpu(
    gpu: &mut GpuThread,
    streams: Held,
    site: &Site,
    node: NodeAt,
    is_async: bool,
) -> Option<Open> {
    let place = Place {
        site: site.id()?,
        path: node.path,
        sample: site.meta.sample,
    };
    let open = collector().gpu.begin(gpu, streams, place, is_async);
    // Only with a stream in hand: before that CUDA may be down, and our handler would run after the driver's.
    if open.is_some() {
        crate::exit::register_after_cuda();
    }
    open
}

/// Books a call that has nothing to do with a GPU.
#[inline]
pub(crate) fn book_call(thread: &Thread, place: u32, call: &Call) {
    let epoch = crate::stats::epoch();
    thread.with_node(place, |node| node.book(call, epoch));
}

/// Records the end event of what `take` hands over, and books the call.
pub(crate) fn book(
    thread: &Thread,
    place: u32,
    mut call: Call,
    take: impl FnOnce(&mut GpuThread) -> Option<Open>,
) {
    let booked = own_work(thread, |gpu| {
        let epoch = crate::stats::epoch();
        let ended = take(gpu).map(|open| collector().gpu.end(gpu, open, call.work, epoch));
        let (fate, sample) = ended.unwrap_or((Fate::NoStream, None));
        call.fate = fate;
        // Booked before the sample is on its way: nobody then sees a GPU time without its call.
        thread.with_node(place, |node| node.book(&call, epoch));
        if let Some(sample) = sample {
            collector().gpu.submit(gpu, sample);
        }
    });
    if booked.is_none() {
        book_call(thread, place, &call);
    }
}
