//! The innermost open span of a thread as a value that another thread can take for its own.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{EXIT_GUARD, ThreadState, with_thread};
use crate::collector::collector;
use crate::os::fork;
use crate::span::call_in_progress::{CallInProgress, CallStart, NamedPosition};
use crate::span::position::ParentPosition;
use crate::stats::path_counters::PathCounters;
use crate::stats::path_ids::{PathKey, ROOT};

/// A span that was open on the thread that called [`current`].
///
/// On another thread, [`run`](Self::run) nests calls in it.
#[derive(Clone, Debug)]
pub struct CurrentSpan(Option<CallInProgress>);

/// The innermost open span of the calling thread, for calls that belong to it and run on other
/// threads.
///
/// A span is nested in the one that is open on its own thread. So what a span hands to other
/// threads is at the root of the call tree, unless the span is carried along:
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// # fn check(_row: &[f32]) {}
/// # fn check_all(rows: &[Vec<f32>]) {
/// let span = gpuprof::current();
/// std::thread::scope(|scope| {
///     for row in rows {
///         let span = span.clone();
///         scope.spawn(move || span.run(|| check(row)));
///     }
/// });
/// # }
/// # check_all(&[vec![1.0]]);
/// ```
///
/// Outside every span, and if gpuprof is off, the result carries nothing.
#[must_use = "it has no effect until it runs something"]
pub fn current() -> CurrentSpan {
    if fork::is_child() {
        CurrentSpan(None)
    } else {
        CurrentSpan(with_thread(ThreadState::call_in_progress))
    }
}

impl CurrentSpan {
    /// Runs `f`, whose calls are nested in the span in the call tree.
    ///
    /// They keep their own times: the time of other threads is no part of the span's own. The
    /// stream is not carried: pass it along, or use [`with_stream`](crate::with_stream). Once the
    /// span has ended, the calls are at the root. A thread with an open span of its own runs the
    /// calls nested in that one, because their time is part of its time.
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        let _carried = self.0.as_ref().and_then(CarriedSpan::begin);
        f()
    }
}

/// A span of another thread, taken for this thread's until it is dropped.
struct CarriedSpan {
    parent: ParentPosition,
    around: Option<NamedPosition>,
    /// It ends on the thread that began it.
    _not_send: PhantomData<*mut ()>,
}

impl CarriedSpan {
    /// `None`: the call is over, or this thread is in a span of its own.
    fn begin(call: &CallInProgress) -> Option<Self> {
        let begin = |thread: &ThreadState| {
            if !call.is_open() || fork::is_child() || !thread.is_outside_own_spans() {
                return None;
            }
            let parent = thread.enter(call.path);
            let around = thread.set_named(Some(NamedPosition {
                depth: thread.position.get().depth(),
                is_carried: true,
                call: call.clone(),
            }));
            Some(Self {
                parent,
                around,
                _not_send: PhantomData,
            })
        };
        with_thread(begin)
    }
}

impl Drop for CarriedSpan {
    fn drop(&mut self) {
        with_thread(|thread| {
            thread.leave(self.parent, 0);
            thread.set_named(self.around.take());
        });
    }
}

impl ThreadState {
    /// The innermost call in progress. `None`: there is none.
    fn call_in_progress(&self) -> Option<CallInProgress> {
        let position = self.position.get();
        let path = position.path();
        if path == ROOT {
            return None;
        }
        if self.named_depth.get() == position.depth() {
            return self.with_named(|named| Some(named?.call.clone()));
        }
        let of_path = *collector().paths.lock().list().get(path as usize)?;
        let key = PathKey::new(of_path.parent, of_path.site, of_path.label);
        let node = self.nodes.get(key).or_else(|| self.existing_node(key))?;
        if !node.is_async() {
            let mark = CallStart::Began(node, node.running_since()?);
            return Some(CallInProgress { path, mark });
        }
        let mark = CallStart::Future(Arc::new(AtomicBool::new(true)));
        let call = CallInProgress { path, mark };
        // The poll finds it when it ends.
        self.set_named(Some(NamedPosition {
            depth: position.depth(),
            is_carried: false,
            call: call.clone(),
        }));
        Some(call)
    }

    fn existing_node(&self, key: PathKey) -> Option<&'static PathCounters> {
        self.counters.get()?.existing_node(key)
    }

    /// Whether no span is open that began on this thread.
    fn is_outside_own_spans(&self) -> bool {
        let depth = self.position.get().depth();
        let is_carried = || self.with_named(|named| named.is_some_and(|named| named.is_carried));
        depth == 0 || (self.named_depth.get() == depth && is_carried())
    }

    /// A poll begins of a future whose call has this value, if anybody asked for it. Returns what
    /// [`end_named_poll`](Self::end_named_poll) takes.
    #[inline]
    pub(in crate::span) fn begin_named_poll(
        &self,
        call: Option<CallInProgress>,
    ) -> Option<NamedPosition> {
        if call.is_none() && self.named_depth.get() == 0 {
            return None;
        }
        let depth = self.position.get().depth();
        self.set_named(call.map(|call| NamedPosition {
            depth,
            is_carried: false,
            call,
        }))
    }

    /// The poll ends. Returns the value of its call, if anybody has asked for it.
    #[inline]
    pub(in crate::span) fn end_named_poll(
        &self,
        around: Option<NamedPosition>,
    ) -> Option<CallInProgress> {
        if around.is_none() && self.named_depth.get() == 0 {
            return None;
        }
        self.set_named(around).map(|of_poll| of_poll.call)
    }

    #[cold]
    fn set_named(&self, named: Option<NamedPosition>) -> Option<NamedPosition> {
        let depth = named.as_ref().map_or(0, |named| named.depth);
        let replaced = EXIT_GUARD.try_with(|guard| guard.named.replace(named));
        // While the thread ends, nothing is kept.
        self.named_depth.set(replaced.as_ref().map_or(0, |_| depth));
        replaced.ok().flatten()
    }

    fn with_named<R: Default>(&self, f: impl FnOnce(Option<&NamedPosition>) -> R) -> R {
        let with = EXIT_GUARD.try_with(|guard| f(guard.named.borrow().as_ref()));
        with.unwrap_or_default()
    }
}
