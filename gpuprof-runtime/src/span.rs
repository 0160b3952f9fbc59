//! A span: one call of an annotated function, from the guard's making to its drop.
//!
//! NVTX push, start event, clock; the body; clock, end event, NVTX pop.

use std::marker::PhantomData;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock;
use crate::collector::{self, EMIT_NVTX, MEASURE, TIME_GPU, collector};
use crate::gpu::{Begun, HasStream, Held, Place, Scope, Streams};
use crate::nvtx::{OpenRange, Payload};
use crate::site::{Meta, Site};
use crate::stats::node::{Call, Fate, Work};
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

/// The guard that `#[gpu_profile]` puts at the top of a function.
#[derive(Debug)]
#[must_use]
pub struct Span {
    open: Option<Open>,
    range: OpenRange,
    /// A span ends on the thread that began it.
    _not_send: PhantomData<*mut ()>,
}

#[derive(Debug)]
struct Open {
    node: NodeAt,
    outer: Outer,
    started: u64,
    gpu: Option<Begun>,
    work: Work,
}

/// What a thread was doing when something was opened on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    path: u32,
    children: u64,
    depth: u32,
}

impl Outer {
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

    /// The depth that was entered.
    pub(crate) fn depth(self) -> u32 {
        self.depth
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
            open: None,
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
        let flags = collector::flags();
        // The user's expressions first: they may open spans of their own, or panic.
        let measured = (flags & MEASURE != 0).then(|| {
            let timed = flags & TIME_GPU != 0 && !site.meta.cpu;
            (timed.then(streams), work())
        });
        let range = match flags & EMIT_NVTX {
            0 => OpenRange::None,
            _ => site.push_range(payload),
        };
        let open = measured.and_then(|(streams, work)| open(site, streams.as_ref(), work));
        Self {
            open,
            range,
            _not_send: PhantomData,
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            close(open);
        }
        std::mem::replace(&mut self.range, OpenRange::None).close();
    }
}

#[inline]
fn open(site: &'static Site, streams: Option<&Streams<'_>>, work: Work) -> Option<Open> {
    let id = site.id()?;
    let opened = on_thread(|thread| {
        let Some(node) = thread.node(&collector().paths, thread.current.get(), id, false) else {
            Thread::count(&thread.shared.dropped, 1);
            return None;
        };
        let outer = Outer::enter(thread, node.path);
        let gpu = streams.and_then(|streams| {
            let streams = hold(thread, streams, false)?;
            let (begun, scope) = begin_gpu(thread, streams, site, node, outer.depth, false)?;
            if let (Some(scope), Ok(mut gpu)) = (scope, thread.gpu.try_borrow_mut()) {
                gpu.enter(scope);
            }
            Some(begun)
        });
        Some(Open {
            node,
            outer,
            started: clock::now(),
            gpu,
            work,
        })
    });
    if opened.is_none() {
        collector().homeless.fetch_add(1, Relaxed);
    }
    opened.flatten()
}

#[inline]
fn close(open: Open) {
    let ended = clock::now();
    let booked = on_thread(|thread| {
        let cpu_ns = clock::ns(ended.saturating_sub(open.started));
        let children_ns = open.outer.leave(thread, cpu_ns);
        let call = Call {
            cpu_ns,
            children_ns,
            wall_ns: None,
            fate: Fate::NoStream,
            work: open.work,
        };
        book(thread, open.node, open.gpu, open.outer.depth, call);
    });
    if booked.is_none() {
        collector().homeless.fetch_add(1, Relaxed);
    }
}

/// Takes hold of a call's streams; `None` as for [`begin_gpu`].
pub(crate) fn hold(thread: &Thread, streams: &Streams<'_>, later: bool) -> Option<Held> {
    let mut gpu = thread.gpu.try_borrow_mut().ok()?;
    Some(collector().gpu.hold(&mut gpu, streams, later))
}

/// Records the start event. `None`: the thread's GPU state is in use further up, which only a broken nesting can do.
pub(crate) fn begin_gpu(
    thread: &Thread,
    streams: Held,
    site: &Site,
    node: NodeAt,
    depth: u32,
    is_async: bool,
) -> Option<(Begun, Option<Scope>)> {
    let mut gpu = thread.gpu.try_borrow_mut().ok()?;
    let before = clock::now();
    let place = Place {
        site: site.id()?,
        path: node.path,
        depth,
        sample: site.meta.sample,
    };
    let begun = collector().gpu.begin(&mut gpu, streams, place, is_async);
    crate::exit::register_after_cuda();
    Thread::count(
        &thread.shared.own_ticks,
        clock::now().saturating_sub(before),
    );
    Some(begun)
}

/// Records the end event and books the call.
#[inline]
pub(crate) fn book(thread: &Thread, node: NodeAt, gpu: Option<Begun>, depth: u32, mut call: Call) {
    let epoch = crate::stats::epoch();
    let mut sample = None;
    let mut borrowed = None;
    if let Some(begun) = gpu
        && let Ok(mut gpu) = thread.gpu.try_borrow_mut()
    {
        let before = clock::now();
        gpu.leave(depth);
        (call.fate, sample) = collector().gpu.end(&mut gpu, begun, call.work, epoch);
        Thread::count(
            &thread.shared.own_ticks,
            clock::now().saturating_sub(before),
        );
        borrowed = Some(gpu);
    }
    // Booked before the sample is on its way: nobody then sees a GPU time without its call.
    thread.with_node(node.place, |node| node.book(&call, epoch));
    if let (Some(sample), Some(mut gpu)) = (sample, borrowed) {
        collector().gpu.submit(&mut gpu, sample);
    }
}

/// Makes `stream` the default of spans inside `f` whose own arguments carry none.
///
/// For code below which no argument has a stream. Nesting works; the innermost wins.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use cudarc::driver::CudaStream;
/// # fn forward() {}
/// # fn example(stream: &Arc<CudaStream>) {
/// gpuprof_runtime::with_stream(stream, || forward());
/// # }
/// ```
pub fn with_stream<S: HasStream + ?Sized, R>(stream: &S, f: impl FnOnce() -> R) -> R {
    let _scope = (collector::flags() & TIME_GPU != 0).then(|| DefaultStream::set(stream));
    f()
}

/// Takes the default stream back when `f` returns or panics.
struct DefaultStream {
    outer: Option<Outer>,
}

impl DefaultStream {
    fn set<S: HasStream + ?Sized>(stream: &S) -> Self {
        let stream = stream.stream();
        let outer = on_thread(|thread| {
            let path = thread.current.get();
            // The time spent inside stays the current span's own.
            let children = thread.children.get();
            let outer = Outer::enter(thread, path);
            thread.children.set(children);
            if let Ok(mut gpu) = thread.gpu.try_borrow_mut()
                && let Some(scope) =
                    Scope::default_stream(&collector().gpu, &mut gpu, &stream, outer.depth)
            {
                gpu.enter(scope);
            }
            outer
        });
        Self { outer }
    }
}

impl Drop for DefaultStream {
    fn drop(&mut self) {
        let Some(outer) = self.outer else { return };
        on_thread(|thread| {
            let inside = thread.children.get();
            outer.leave(thread, 0);
            thread.children.set(inside);
            if let Ok(mut gpu) = thread.gpu.try_borrow_mut() {
                gpu.leave(outer.depth);
            }
        });
    }
}

/// Picoseconds that one CPU-side span takes, as [`calibrate`] found them.
static CPU_COST_PS: AtomicU64 = AtomicU64::new(0);

/// A site for [`calibrate`] alone: its number is none of the collector's, so that no profile shows it.
static SELF: Site = Site::new(Meta {
    path: || "gpuprof",
    name: Some("gpuprof"),
    module: "gpuprof",
    file: file!(),
    line: line!(),
    cpu: true,
    is_async: false,
    sample: 0,
    color: None,
    category: None,
});

/// Measures once what a span costs here: real spans, on this thread, of a site that no report shows. NVTX stays out of it,
/// or a tool would show them.
pub(crate) fn calibrate() {
    const ROUNDS: u64 = 2_048;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        SELF.set_id(u32::MAX - 1);
        let one = || {
            drop(Span {
                open: open(&SELF, None, Work::NONE),
                range: OpenRange::None,
                _not_send: PhantomData,
            })
        };
        // The first ones go the slow way.
        (0..ROUNDS / 8).for_each(|_| one());
        let before = clock::now();
        (0..ROUNDS).for_each(|_| one());
        let took = clock::ns(clock::now().saturating_sub(before));
        CPU_COST_PS.store(took.saturating_mul(1_000) / ROUNDS, Relaxed);
    });
}

/// What so many spans cost on the CPU side, ns.
pub(crate) fn cpu_cost_ns(calls: u64) -> u64 {
    (u128::from(CPU_COST_PS.load(Relaxed)) * u128::from(calls) / 1_000)
        .try_into()
        .unwrap_or(u64::MAX)
}
