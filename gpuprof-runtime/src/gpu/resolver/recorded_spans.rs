//! Puts spans on the time line, once their times are read.

use std::sync::Arc;
use std::thread::ThreadId;

use rustc_hash::FxHashMap;

use crate::driver::handles::Stream;
use crate::gpu::events::pool::Life;
use crate::gpu::events::span::SpanStart;
use crate::gpu::events::thread_stream::ThreadStream;
use crate::recorder::{CallEvent, ChunkWriter, Recorder};

/// Streams whose numbers are remembered.
const MAX_STREAMS: usize = 1 << 16;

/// The resolver's part of the recorder.
#[derive(Debug, Default)]
pub(super) struct SpanRecorder {
    writer: ChunkWriter,
    /// Numbers of streams, by the life of the context, handle and, where the handle stands for
    /// another stream on each thread, thread.
    streams: FxHashMap<(Life, Stream, Option<ThreadId>), u32>,
}

impl SpanRecorder {
    /// Records a span that started at `start_ns` on the clock of this number, and took `ns`.
    pub(super) fn record(
        &mut self,
        recorder: &Arc<Recorder>,
        start: &SpanStart,
        shared: &ThreadStream,
        clock: u32,
        start_ns: i64,
        ns: u64,
    ) {
        let is_per_thread = shared.stream == Stream::PER_THREAD;
        let life = shared.context.life();
        let key = (life, shared.stream, is_per_thread.then_some(shared.thread));
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&key) {
            self.streams.clear();
        }
        let add = || recorder.add_stream(shared.context.device);
        let stream = *self.streams.entry(key).or_insert_with(add);
        let event = CallEvent::Gpu {
            path: start.path,
            stream,
            clock,
            start_ns,
            ns,
            call: start.first.unwrap_or(start.key).call_number(),
        };
        self.writer.push(recorder, &event);
    }
}
