//! From a caller's stream handle to the stream, and the creation and destruction of streams (API
//! reference, Stream Management). A stream's queue of operations is in `stream_queue`.

use crate::abi::Handle;
use crate::objects::Stream;
use crate::result_codes::{Answer, Code};
use crate::state::State;
use crate::thread;

/// `CU_STREAM_LEGACY`; a null handle means the same.
const LEGACY: Handle = 1;
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: Handle = 2;

impl State {
    /// Resolves a caller's handle to a stream. Null, 0x1 and 0x2 refer to the current context; for
    /// any other handle, the stored error of the stream's own context is returned.
    pub(crate) fn resolve_stream(&mut self, handle: Handle) -> Answer<Handle> {
        match handle {
            0 | LEGACY => {
                let context = self.current_context()?;
                Ok(self.context(context)?.legacy)
            }
            PER_THREAD => self.get_or_create_per_thread_stream(),
            _ => {
                let context = self.streams.get(handle)?.context;
                self.check_sticky_error(context)?;
                Ok(handle)
            }
        }
    }

    /// [`State::resolve_stream`] for work that the API takes only in the current context:
    /// INVALID_CONTEXT without one, INVALID_HANDLE for another context's stream (API reference,
    /// cuLaunchKernel).
    pub(crate) fn resolve_stream_of_current_context(&mut self, handle: Handle) -> Answer<Handle> {
        let current = self.current_context()?;
        let stream = self.resolve_stream(handle)?;
        if self.streams.get(stream)?.context == current {
            Ok(stream)
        } else {
            Err(Code::INVALID_HANDLE)
        }
    }

    /// Whether the resolved stream is its context's legacy stream.
    pub(crate) fn is_legacy(&self, stream: Handle) -> bool {
        self.contexts
            .values()
            .any(|context| context.legacy == stream)
    }

    /// A new stream in the current context.
    pub(crate) fn create_stream(&mut self, flags: u32, priority: i32) -> Answer<Handle> {
        let context = self.current_context()?;
        let id = self.new_id();
        Ok(self
            .streams
            .insert(Stream::new(context, id, flags, priority)))
    }

    fn get_or_create_per_thread_stream(&mut self) -> Answer<Handle> {
        let context = self.current_context()?;
        let thread = thread::number();
        if let Some(stream) = self.context(context)?.per_thread.get(&thread) {
            return Ok(*stream);
        }
        let stream = self.create_stream(0, 0)?;
        if let Some(context) = self.contexts.get_mut(&context) {
            context.per_thread.insert(thread, stream);
        }
        Ok(stream)
    }

    /// Destroys a stream. Its queued work still runs, and its context waits for that.
    pub(crate) fn remove_stream(&mut self, handle: Handle) -> Answer<Stream> {
        let stream = self.streams.remove(handle)?;
        if let Some(context) = self.contexts.get_mut(&stream.context) {
            context.destroyed_streams_end = context.destroyed_streams_end.max(stream.tail);
        }
        Ok(stream)
    }
}
