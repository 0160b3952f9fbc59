//! Writes the events of one thread.

use std::sync::Arc;

use super::Recorder;
use super::chunk::{CallArguments, Chunk};
use super::event::CallEvent;
use crate::clock;

/// The chunk that a thread, the resolver or a reader writes to; given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct ChunkWriter {
    lent: Option<LentChunk>,
    /// It writes the calls of the thread that it is on.
    is_of_thread: bool,
    /// The thread's number, once it is known.
    thread: Option<u32>,
}

#[derive(Debug)]
struct LentChunk {
    recorder: Arc<Recorder>,
    chunk: Arc<Chunk>,
}

impl Drop for LentChunk {
    fn drop(&mut self) {
        self.recorder.store.lock().take_back(&self.chunk);
    }
}

impl ChunkWriter {
    /// One that writes the calls of one thread, and is used on no other.
    pub(crate) const fn of_thread() -> Self {
        Self {
            lent: None,
            is_of_thread: true,
            thread: None,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, recorder: &Arc<Recorder>, event: &CallEvent) {
        let lent = self.lent.as_ref();
        let is_written = lent.is_some_and(|lent| lent.chunk.push(event));
        if !is_written {
            self.push_into_next(recorder, event);
        }
    }

    /// The same of an event with arguments.
    pub(crate) fn push_with(
        &mut self,
        recorder: &Arc<Recorder>,
        event: &CallEvent,
        arguments: CallArguments,
    ) {
        self.push(recorder, event);
        if let Some(lent) = &self.lent
            && !lent.chunk.set_arguments(arguments)
        {
            self.lent = None;
        }
    }

    #[cold]
    fn push_into_next(&mut self, recorder: &Arc<Recorder>, event: &CallEvent) {
        // Gives the last one back.
        self.lent = None;
        let chunk = recorder.store.lock().lend(clock::now());
        if self.is_of_thread {
            let number = || recorder.thread_number();
            chunk.begin_thread(*self.thread.get_or_insert_with(number));
        }
        chunk.push(event);
        self.lent = Some(LentChunk {
            recorder: Arc::clone(recorder),
            chunk,
        });
    }
}
