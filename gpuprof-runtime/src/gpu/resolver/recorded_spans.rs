//! Puts spans on the time line, once their times are read.

use std::sync::Arc;
use std::thread::ThreadId;

use rustc_hash::FxHashMap;

use crate::gpu::driver::handles::Stream;
use crate::gpu::events::span::SpanStart;
use crate::gpu::events::thread_stream::ThreadStream;
use crate::recorder::{Event, Recorder, Writer};

/// The resolver's part of the recorder.
#[derive(Debug, Default)]
pub(super) struct SpanRecorder {
    writer: Writer,
    /// Numbers of streams, by context, handle and, where the handle stands for another stream on
    /// each thread, thread.
    streams: FxHashMap<(usize, Stream, Option<ThreadId>), u32>,
}

impl SpanRecorder {
    /// Records a span that started at `start_ns` on the clock of this number, and took `ns`.
    pub(super) fn record(
        &mut self,
        recorder: &Arc<Recorder>,
        start: &SpanStart,
        shared: &ThreadStream,
        (clock, start_ns, ns): (u32, i64, u64),
    ) {
        let is_per_thread = shared.stream == Stream::PER_THREAD;
        let context = Arc::as_ptr(&shared.context) as usize;
        let key = (
            context,
            shared.stream,
            is_per_thread.then_some(shared.thread),
        );
        let add = || recorder.add_stream(shared.context.device);
        let stream = *self.streams.entry(key).or_insert_with(add);
        let event = Event::Gpu {
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
