//! Streams and the time model: one tail per stream (API reference, Stream Management).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::{Answer, Handle};
use crate::codes::Code;
use crate::state::State;
use crate::stream_queue::Unfinished;

/// `CU_STREAM_LEGACY`, also what a null handle means.
const LEGACY: Handle = 1;
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: Handle = 2;
/// `CU_STREAM_NON_BLOCKING`, the only flag of a stream.
pub(crate) const NON_BLOCKING: u32 = 1;

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// A number of the calling thread, from 1.
pub(crate) fn thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    if THREAD.get() == 0 {
        THREAD.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

/// One stream.
pub(crate) struct Stream {
    pub(crate) context: Handle,
    pub(crate) id: u64,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// When everything queued so far has ended, in ns of the simulator's clock.
    pub(crate) tail: u64,
    pub(crate) unfinished: Unfinished,
    /// The capture it is part of.
    pub(crate) capture: Option<u64>,
}

impl Stream {
    /// An idle stream.
    pub(crate) fn new(context: Handle, id: u64, flags: u32, priority: i32) -> Stream {
        Stream {
            context,
            id,
            flags,
            priority,
            tail: 0,
            unfinished: Unfinished::default(),
            capture: None,
        }
    }

    /// Whether it keeps the legacy stream's order.
    pub(crate) fn blocking(&self) -> bool {
        self.flags & NON_BLOCKING == 0
    }
}

impl State {
    /// The stream that a caller's handle means on this thread. Null, 0x1 and 0x2 need a current
    /// context; any other handle brings its own, whose stored error is answered.
    pub(crate) fn stream(&mut self, handle: Handle) -> Answer<Handle> {
        match handle {
            0 | LEGACY => {
                let context = self.current()?;
                Ok(self.living(context)?.legacy)
            }
            PER_THREAD => self.per_thread_stream(),
            _ => {
                let context = self.streams.get(handle)?.context;
                self.healthy(context)?;
                Ok(handle)
            }
        }
    }

    /// Like [`State::stream`], for work that the API takes only in the current context:
    /// INVALID_CONTEXT without one, INVALID_HANDLE for a stream of another (API reference,
    /// cuLaunchKernel).
    pub(crate) fn stream_of_current(&mut self, handle: Handle) -> Answer<Handle> {
        let current = self.current()?;
        let stream = self.stream(handle)?;
        if self.streams.get(stream)?.context == current {
            Ok(stream)
        } else {
            Err(Code::INVALID_HANDLE)
        }
    }

    /// Whether a resolved stream is its context's legacy one.
    pub(crate) fn is_legacy(&self, stream: Handle) -> bool {
        self.contexts
            .values()
            .any(|context| context.legacy == stream)
    }

    /// A new stream in the current context.
    pub(crate) fn create_stream(&mut self, flags: u32, priority: i32) -> Answer<Handle> {
        let context = self.current()?;
        let id = self.new_id();
        Ok(self
            .streams
            .insert(Stream::new(context, id, flags, priority)))
    }

    fn per_thread_stream(&mut self) -> Answer<Handle> {
        let context = self.current()?;
        if let Some(stream) = self.living(context)?.per_thread.get(&thread()) {
            return Ok(*stream);
        }
        let stream = self.create_stream(0, 0)?;
        if let Some(context) = self.contexts.get_mut(&context) {
            context.per_thread.insert(thread(), stream);
        }
        Ok(stream)
    }

    /// Takes a stream away. What it has queued still runs, and its context waits for that.
    pub(crate) fn remove_stream(&mut self, handle: Handle) -> Answer<Stream> {
        let stream = self.streams.remove(handle)?;
        if let Some(context) = self.contexts.get_mut(&stream.context) {
            context.orphaned = context.orphaned.max(stream.tail);
        }
        Ok(stream)
    }

    /// When everything queued in `context` has ended, in ns of the simulator's clock.
    pub(crate) fn context_tail(&self, context: Handle) -> u64 {
        self.streams
            .values()
            .filter(|stream| stream.context == context)
            .map(|stream| stream.tail)
            .chain(self.living(context).map(|context| context.orphaned))
            .max()
            .unwrap_or(0)
    }
}
